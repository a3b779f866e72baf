"""The status of cells, per asset as arrays over the ordinals of its space.

Two facts per cell stay apart: the last success (missing, stale and why, fresh) and the last attempt (failed, skipped), and
beside them whether an open task owns it. Staleness compares digests and fingerprints, never times (DESIGN section 5).
Owns these rules; reads only through `CellsReader`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSet, PartitionSpace, input_factor
from partita.core.catalog import Catalog, CatalogAsset, CatalogInput, Link, set_of
from partita.core.catalog.edges import Bools, EdgeMap, Hashes, everything, in_order, nothing
from partita.core.cells.held import Codes, Constant, Held, Recorded
from partita.core.cells.lazy import Lazy
from partita.core.cells.values import OUTCOME_SHIFT, CellsReader, OpenCell, Outcome
from partita.core.store.values import AssetId, TaskState

STATES = (
    "fresh",
    "stale",
    "upstream_stale",
    "missing",
    "skipped",
    "failed",
    "scheduled",
    "queued",
    "running",
    "deferred",
    "up_for_retry",
    "awaiting_input",
)
"""The states that a cell shows, most urgent last; `AssetStatus.shown` holds indexes into it."""
_SHOWN = {state: index for index, state in enumerate(STATES)}
# A task that waits for its upstreams is planned work like one that waits for a slot.
_OPEN_SHOWN = {TaskState.NONE: "scheduled"}

_OUTCOMES = np.arange(256, dtype=np.uint8) >> np.uint8(OUTCOME_SHIFT)
_FAILED = np.isin(_OUTCOMES, (Outcome.FAILED, Outcome.LOST))
_SKIPPED = np.equal(_OUTCOMES, Outcome.SKIPPED)
_FACTORS_KEPT = 1 << 16
# The parts of a status that nothing above the direct upstreams changes.
_OF_THE_CELL = ("stale_code", "stale_data", "stale_dependencies", "stale", "failed", "skipped")


class AssetStatus:
    """The status of every cell of one asset at one instant; each part is worked out when it is asked for.

    `stale_*` hold for published cells only. `upstream_stale` marks published cells with an upstream that is missing or
    stale, directly or through others; it is empty (all false) unless the graph above was asked for. All arrays are for reading.
    """

    def __init__(self, statuses: Statuses, asset: CatalogAsset, held: Held) -> None:
        self.asset = asset
        self.space = held.space
        self.held = held
        self.upstream_stale = nothing(held.space.size)
        self._statuses = statuses

    @property
    def missing(self) -> Bools:
        """Never published. Cheaper to work out again than to keep."""
        return ~self.held.published

    @Lazy
    def stale_code(self) -> Bools:
        """Made by other code than today's."""
        return self._made_by_another("fingerprint", self.asset.spec.fingerprint)

    @Lazy
    def stale_data(self) -> Bools:
        """The inputs hold other versions than those consumed."""
        return self._statuses.stale_data(self.asset)

    @Lazy
    def stale_dependencies(self) -> Bools:
        """Made from another set of dependencies than today's."""
        return self._made_by_another("dependency", self.asset.dependency_hash)

    @Lazy
    def stale(self) -> Bools:
        """Directly stale: code, data or dependencies."""
        none = nothing(self.space.size)
        stale = self.stale_data
        for more in (self.stale_code, self.stale_dependencies):
            stale = stale if more is none else stale | more
        return stale

    @Lazy
    def lacking(self) -> Bools:
        """Missing, stale or upstream stale: what makes the cells below upstream stale."""
        return self.missing | self.stale | self.upstream_stale

    @Lazy
    def fresh(self) -> Bools:
        """Published, not stale, and nothing above it is missing or stale."""
        return self.held.published & ~self.stale & ~self.upstream_stale

    @Lazy
    def failed(self) -> Bools:
        """The last attempt failed or was lost, whatever the cell held before."""
        return self._ended(_FAILED)

    @Lazy
    def skipped(self) -> Bools:
        """The last attempt chose to produce nothing."""
        return self._ended(_SKIPPED)

    @property
    def open(self) -> Bools:
        """Owned by a task that has not ended."""
        return self.held.open_state > 0 if self.held.any_open else nothing(self.space.size)

    @Lazy
    def shown(self) -> Codes:
        """One state per cell, as an index into STATES: an open task wins, then a failure, then what is held."""
        code = np.full(self.space.size, _SHOWN["missing"], dtype=np.uint8)
        code[self.skipped] = _SHOWN["skipped"]
        code[self.held.published] = _SHOWN["fresh"]
        code[self.upstream_stale] = _SHOWN["upstream_stale"]
        code[self.stale] = _SHOWN["stale"]
        code[self.failed] = _SHOWN["failed"]
        if self.held.any_open:
            code[self.open] = self.held.open_state[self.open]
        return code

    def state_at(self, ordinal: int) -> str:
        """The state that a cell shows."""
        return STATES[int(self.shown[ordinal])]

    def _ended(self, by_flags: Bools) -> Bools:
        """Where the last attempt ended in one of these ways; `by_flags` says it for each value of the flags."""
        if self.held.ordinary:
            return nothing(self.space.size)
        found: Bools = by_flags[self.held.flags]
        return found if found.any() else nothing(self.space.size)

    def below(self, bad: Bools) -> AssetStatus:
        """This direct status with what is known above: `bad` marks the cells with something missing or stale above."""
        full = AssetStatus(self._statuses, self.asset, self.held)
        full.upstream_stale = bad & self.held.published
        known = vars(self)
        vars(full).update((name, known[name]) for name in _OF_THE_CELL if name in known)
        return full

    def _made_by_another(self, recorded: Recorded, text: str) -> Bools:
        none = nothing(self.space.size)
        if not text or self.asset.external:
            return none
        found = self.held.made_by_another(recorded, self._statuses.id_of(text))
        return none if found is None else found


class Statuses:
    """Statuses of assets on demand, from one reader at one instant; every asset is read at most once."""

    def __init__(self, catalog: Catalog, reader: CellsReader, as_of: datetime) -> None:
        self.catalog = catalog
        self.as_of = as_of
        self.moment = catalog.at(as_of)
        self._reader = reader
        self._held: dict[AssetKey, Held] = {}
        self._direct: dict[AssetKey, AssetStatus] = {}
        self._full: dict[AssetKey, AssetStatus] = {}
        self._stale_data: dict[AssetKey, Bools] = {}
        self._ids: dict[str, int] = {}

    def prefetch(self, keys: Iterable[AssetKey], *, ancestors: bool) -> None:
        """Read these assets and their upstreams (with `ancestors` all of them) in a few statements."""
        wanted = dict.fromkeys(keys)
        if ancestors:
            wanted.update(dict.fromkeys(self.catalog.graph.ancestors(*wanted)))
        else:
            wanted.update(dict.fromkeys(up for key in list(wanted) for up in self._upstreams(key)))
        self._read([key for key in wanted if key not in self._held])

    def held(self, key: AssetKey) -> Held:
        """What is stored of an asset."""
        if key not in self._held:
            self._read([key])
        return self._held[key]

    def direct(self, key: AssetKey) -> AssetStatus:
        """The status by the cell and its direct upstreams; `upstream_stale` is left empty."""
        known = self._direct.get(key)
        if known is None:
            asset = self.catalog.asset(key)
            unread = [one for one in (key, *(one.upstream for one in asset.inputs)) if one not in self._held]
            self._read(list(dict.fromkeys(unread)))
            known = self._direct[key] = AssetStatus(self, asset, self._held[key])
        return known

    def status(self, key: AssetKey) -> AssetStatus:
        """The whole status, with `upstream_stale`."""
        if key not in self._full:
            todo = self._not_known_above(key)
            self._read([one for one in todo if one not in self._held])
            for one in sorted(todo, key=self.catalog.order.__getitem__):
                self._full[one] = self.below(one, lambda up: self._full[up].lacking)
        return self._full[key]

    def stale_data(self, asset: CatalogAsset) -> Bools:
        """The published cells whose inputs hold other versions than those consumed."""
        known = self._stale_data.get(asset.key)
        if known is None:
            held = self.held(asset.key)
            known = nothing(held.space.size)
            if not asset.external:
                known = held.consumed_another(self.expected_digest(asset))
            self._stale_data[asset.key] = known
        return known

    def note_stale_data(self, key: AssetKey, found: Bools) -> None:
        """What `stale_data` will say of an asset: worked out beside others (`stack.py`)."""
        self._stale_data[key] = found

    def expected_digest(self, asset: CatalogAsset) -> Hashes:
        """Per cell the digest of what its inputs hold now, modulo 2^64."""
        total = np.zeros(self.space(asset.key).size, dtype=np.uint64)
        self.add_expected(asset, total, np.empty_like(total))
        return total

    def add_expected(self, asset: CatalogAsset, total: Hashes, spare: Hashes) -> None:
        """Add that digest to `total`; `spare` is as long, and written to."""
        for one, edge in self.links(asset):
            factor = _factor(one.upstream_id, one.name)
            if one.external:
                total += edge.sums(self.catalog.constant_hashes(one.upstream, self.as_of)) * factor
            elif edge.same:
                self.held(one.upstream).add_hashes(total, factor, spare)
            else:
                total += edge.sums(self.held(one.upstream).hash) * factor

    def space(self, key: AssetKey) -> PartitionSpace:
        """The partitions of an asset that exist."""
        return self.moment.space(key)

    def links(self, asset: CatalogAsset) -> tuple[Link, ...]:
        """The inputs of an asset with their compiled mappings."""
        return self.moment.links(asset)

    def edge(self, asset: CatalogAsset, one: CatalogInput) -> EdgeMap:
        """The compiled mapping of an input."""
        return self.moment.edge(asset.key, one)

    def present(self, one: CatalogInput) -> Bools:
        """The upstream cells of an input that can be read."""
        if one.external:
            return everything(self.space(one.upstream).size)
        return self.held(one.upstream).published

    def id_of(self, text: str) -> int:
        """The interned id of a fingerprint of an asset that was read; 0 for one that no cell was made by."""
        return self._ids.get(text, 0)

    def _not_known_above(self, key: AssetKey) -> set[AssetKey]:
        """The asset and its ancestors without a whole status yet; what is known is not walked through again."""
        found, frontier = {key}, [key]
        while frontier:
            for above in self._upstreams(frontier.pop()):
                if above not in self._full and above not in found:
                    found.add(above)
                    frontier.append(above)
        return found

    def _upstreams(self, key: AssetKey) -> list[AssetKey]:
        return [one.upstream for one in self.catalog.asset(key).inputs]

    def _read(self, keys: Collection[AssetKey]) -> None:
        if not keys:
            return
        assets = {self.catalog.assets[key].id: key for key in keys if not self.catalog.assets[key].constant}
        blocks = self._reader.blocks(assets) if assets else {}
        opened = self._reader.open_cells(assets) if assets else {}
        self._intern(keys)
        for key in keys:
            asset_id = self.catalog.assets[key].id
            space = self.space(key)
            if asset_id not in assets:
                self._held[key] = Constant(space)
                continue
            owned = {partition: _open_code(owner) for partition, owner in opened.get(asset_id, {}).items()}
            self._held[key] = Held(space, blocks.get(asset_id, ()), owned)

    def _intern(self, keys: Iterable[AssetKey]) -> None:
        assets = [self.catalog.assets[key] for key in keys]
        texts = {
            text for one in assets for text in (one.spec.fingerprint, one.dependency_hash) if text
        } - self._ids.keys()
        if texts:
            self._ids.update(self._reader.fingerprint_ids(texts))

    def below(self, key: AssetKey, lacking: Callable[[AssetKey], Bools]) -> AssetStatus:
        """The whole status of an asset, given the lacking cells of each of its upstreams."""
        direct = self.direct(key)
        bad: Bools | None = None
        own: list[EdgeMap] = []
        for one, edge in self.links(direct.asset):
            if one.upstream == key:
                own.append(edge)
            elif not one.external:
                above = edge.any(lacking(one.upstream))
                bad = above if bad is None else bad | above
        if own:
            holds = (direct.missing & ~direct.skipped) | direct.stale
            bad = along_own(own, nothing(direct.space.size) if bad is None else bad, holds)
        if bad is None:
            return direct
        return direct.below(bad)


@lru_cache(maxsize=_FACTORS_KEPT)
def _factor(upstream_id: AssetId, name: str) -> np.uint64:
    """`input_factor`, which is asked for every input of every asset by every status."""
    return np.uint64(input_factor(upstream_id, name))


def _open_code(owner: OpenCell) -> int:
    return _SHOWN[_OPEN_SHOWN.get(owner.state, str(owner.state))]


def counts(status: AssetStatus, chosen: PartitionSet | None = None) -> dict[str, int]:
    """How many cells show each state; only states that occur."""
    return _named(_tally(status.shown, chosen))


def counts_of(codes: Codes) -> dict[str, int]:
    """`counts` of indexes into STATES, whatever the shape of the array."""
    return _named(np.bincount(codes.ravel(), minlength=len(STATES)))


def bucket_counts(status: AssetStatus, edges: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """`counts` of each range [lo, hi) of ordinals, for the strip of an asset page."""
    return [_named(np.bincount(status.shown[lo:hi], minlength=len(STATES))) for lo, hi in edges]


def where(status: AssetStatus, state: str) -> PartitionSet:
    """The cells that show a state; raises KeyError for a state that no cell can show."""
    return set_of(status.shown == _SHOWN[state])


def _tally(shown: Codes, chosen: PartitionSet | None) -> npt.NDArray[np.int64]:
    if chosen is None:
        return np.bincount(shown, minlength=len(STATES))
    total = np.zeros(len(STATES), dtype=np.int64)
    for start, stop in chosen.ranges:
        total += np.bincount(shown[start:stop], minlength=len(STATES))
    return total


def _named(tally: npt.NDArray[np.int64]) -> dict[str, int]:
    return {state: int(n) for state, n in zip(STATES, tally, strict=True) if n}


def along_own(edges: Sequence[EdgeMap], bad: Bools, holds: Bools) -> Bools:
    """Carry what is bad along the self-dependencies of an asset, earlier partitions first.

    `holds` marks the cells that keep later ones from being fresh by themselves: stale ones, and missing ones that no attempt
    chose to skip.
    """
    found = bad.copy()
    reached = found | holds
    for ordinal in in_order(edges, ~found):
        if any(reached[start:stop].any() for edge in edges for start, stop in edge.ranges_of(ordinal)):
            found[ordinal] = reached[ordinal] = True
    return found
