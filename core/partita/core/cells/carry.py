"""Carrying a change down the graph over kept facts: which cells it touches, wave by wave, and what they show then.

`Carrier` is one change. Statuses are handed to it first, and nothing is written meanwhile; from then on it reads facts only.
Owns no rule of staleness: what is above a cell is judged as `Statuses.below` does it, cell by cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from partita.assets import AssetKey
from partita.core.catalog.edges import Bools, Ints
from partita.core.cells.facts import ABOVE, CARRIED, DIRECT, HOLDS, LACKS, PUBLISHED, Facts, Rows, facts_of
from partita.core.cells.held import Codes
from partita.core.cells.status import STATES, AssetStatus, Statuses, along_own

_FRESH, _UPSTREAM_STALE = (np.uint8(STATES.index(state)) for state in ("fresh", "upstream_stale"))


@dataclass(slots=True)
class Carrier:
    """A change to the cells of `rows`; used once."""

    rows: Rows
    judged: set[int] = field(default_factory=set)
    """The places of the assets of which cells were judged."""
    _whole: dict[AssetKey, tuple[Facts, Codes]] = field(default_factory=dict)
    _direct: dict[AssetKey, tuple[Facts, Codes]] = field(default_factory=dict)
    _waiting: dict[int, list[tuple[Ints, Ints]]] = field(default_factory=dict)
    """By depth in the graph, cells to be judged: places of assets, and the ordinal in each."""

    def judge_whole(self, statuses: Statuses, keys: Iterable[AssetKey]) -> None:
        """All cells of these assets, given in topological order, with what is above them as it is known so far."""
        for key in keys:
            status = statuses.below(key, self._lacking)
            self._whole[key] = facts_of(status), status.shown

    def judge_direct(self, direct: Iterable[AssetStatus]) -> None:
        """What the cells of some assets are by themselves now; what is above them stays as it is known."""
        for status in direct:
            self._direct[status.asset.key] = facts_of(status), status.shown

    def carry(self, fresh: Collection[AssetKey]) -> None:
        """Write down what was judged and all that follows from it. Of `fresh` assets nothing was known before."""
        for key, (facts, codes) in self._whole.items():
            self._write_whole(key, facts, codes, sends=key not in fresh)
        for key, (facts, codes) in self._direct.items():
            self._write_direct(key, facts, codes)
        while self._waiting:
            self._judge(self._waiting.pop(min(self._waiting)))

    def _lacking(self, key: AssetKey) -> Bools:
        facts = self._whole[key][0] if key in self._whole else self.rows.facts_of(key)
        return (facts & LACKS) > 0

    def _write_whole(self, key: AssetKey, facts: Facts, codes: Codes, *, sends: bool) -> None:
        at, row = self.rows.order[key], self.rows.facts_of(key)
        turned = np.flatnonzero((row ^ facts) & LACKS) if sends else ()
        row[:] = facts
        self.rows.codes_of(key)[:] = codes
        self.judged.add(at)
        if len(turned):
            self._send(np.full_like(turned, at), np.asarray(turned))

    def _write_direct(self, key: AssetKey, facts: Facts, codes: Codes) -> None:
        """Cells that differ wait to be judged with what is above; the others keep what they have from there."""
        at, row = self.rows.order[key], self.rows.facts_of(key)
        differs = np.flatnonzero((row ^ facts) & ~CARRIED)
        row[:] = (row & CARRIED) | (facts & ~CARRIED)
        self.rows.codes_of(key)[:] = _with_above(codes, (row & ABOVE) > 0)
        self.judged.add(at)
        if len(differs):
            self._wait(int(self.rows.wires.depth[at]), np.full_like(differs, at), differs)

    def _judge(self, parts: Sequence[tuple[Ints, Ints]]) -> None:
        """Judge cells of one depth with what is above them; what turns sends those that read it to wait further down."""
        rows = self.rows
        at, ordinals = self._each_once(parts)
        cells = rows.offset[at] + ordinals
        facts = rows.facts[cells]
        above = self._above_of(at, ordinals) & ((facts & PUBLISHED) > 0)
        lacks = above | ((facts & DIRECT) > 0)
        rows.facts[cells] = (facts & ~CARRIED) | above * ABOVE | lacks * LACKS
        rows.codes[cells] = _with_above(rows.codes[cells], above)
        self.judged.update(np.unique(at).tolist())
        turns = lacks != ((facts & LACKS) > 0)
        if turns.any():
            self._send(at[turns], ordinals[turns])

    def _each_once(self, parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """The cells that wait, each once; of an asset that reads itself all, because any may follow from any."""
        rows, own = self.rows, self.rows.wires.own
        at = np.concatenate([places for places, _ in parts])
        ordinals = np.concatenate([ordinals for _, ordinals in parts])
        for one in [place for place in np.unique(at).tolist() if place in own] if own else ():
            rest, size = at != one, rows.size(one)
            at = np.concatenate((at[rest], np.full(size, one, dtype=np.int64)))
            ordinals = np.concatenate((ordinals[rest], np.arange(size, dtype=np.int64)))
        _, first = np.unique(rows.offset[at] + ordinals, return_index=True)
        return at[first], ordinals[first]

    def _above_of(self, at: Ints, ordinals: Ints) -> Bools:
        """Which of these cells, in order, need a cell that lacks."""
        rows, wires = self.rows, self.rows.wires
        which, ups = wires.above.of_each(at)
        bad = (rows.facts[rows.offset[ups] + ordinals[which]] & LACKS) > 0
        found: Bools = np.bincount(which[bad], minlength=len(at)) > 0
        special = wires.mapped_above.keys() | wires.own.keys()
        for one in [place for place in np.unique(at).tolist() if place in special] if special else ():
            mine = at == one
            for up, edge in wires.mapped_above.get(one, ()):
                found[mine] |= edge.any(rows.marked(up, LACKS))[ordinals[mine]]
            if one in wires.own:  # then all of its cells are here
                found[mine] = along_own(wires.own[one], found[mine], rows.marked(one, HOLDS))
        return found

    def _send(self, at: Ints, ordinals: Ints) -> None:
        """Let the cells that read these wait to be judged."""
        wires = self.rows.wires
        which, downs = wires.below.of_each(at)
        depths = wires.depth[downs]
        for depth in np.unique(depths).tolist():
            here = depths == depth
            self._wait(depth, downs[here], ordinals[which[here]])
        mapped = wires.mapped_below
        for one in [place for place in np.unique(at).tolist() if place in mapped] if mapped else ():
            marked = np.zeros(self.rows.size(one), dtype=np.bool_)
            marked[ordinals[at == one]] = True
            for down, edge in mapped[one]:
                hit = np.flatnonzero(edge.any(marked))
                if len(hit):
                    self._wait(int(wires.depth[down]), np.full_like(hit, down), hit)

    def _wait(self, depth: int, at: Ints, ordinals: Ints) -> None:
        self._waiting.setdefault(depth, []).append((at, ordinals))


def _with_above(codes: Codes, above: Bools) -> Codes:
    """The states with what is above: only a cell that is fresh by itself shows it."""
    plain = (codes == _FRESH) | (codes == _UPSTREAM_STALE)
    found: Codes = np.where(plain, np.where(above, _UPSTREAM_STALE, _FRESH), codes)
    return found
