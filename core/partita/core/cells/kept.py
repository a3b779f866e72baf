"""What the cells of many assets show, kept as cells move and windows open: judged anew only where something changed.

`Kept` holds two bytes a cell. The assets that moved and those that read them are judged from what the store holds of them now;
from there a change is carried down over the kept facts without reading, and only cells that begin to lack (missing, stale or
upstream stale), or no longer do, go on to the cells that read them (law 4: neither the graph nor the partitions that a change
does not reach are looked at). Tested equal to statuses worked out anew, on random graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from partita.assets import AssetKey, PartitionSpace
from partita.core.catalog import Catalog
from partita.core.catalog.edges import Bools
from partita.core.cells.carry import Carrier
from partita.core.cells.facts import LACKS, Rows
from partita.core.cells.held import Codes
from partita.core.cells.status import Statuses, counts_of


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the cells of one asset show: `codes[ordinal]` is an index into STATES."""

    space: PartitionSpace
    codes: Codes

    def counts(self) -> dict[str, int]:
        """How many cells show each state; only states that occur."""
        return counts_of(self.codes)


class Kept:
    """Of some assets and all that lies above them what their cells show. Not safe between threads."""

    def __init__(self) -> None:
        self._rows = Rows.empty()
        self._shown: dict[AssetKey, Shown] = {}

    def __repr__(self) -> str:
        return f"<Kept {len(self.known)} assets, {len(self._rows.codes)} cells>"

    @property
    def known(self) -> Collection[AssetKey]:
        """The assets that are kept."""
        return self._rows.spaces.keys()

    def shown(self, key: AssetKey) -> Shown:
        """What an asset showed at the last `follow`; later ones leave this value as it is. Raises KeyError for one not kept."""
        found = self._shown.get(key)
        if found is None:
            rows = self._rows
            found = self._shown[key] = Shown(rows.spaces[key], rows.codes_of(key).copy())
        return found

    def lacking(self, key: AssetKey) -> Bools:
        """The cells of an asset that are missing, stale or upstream stale."""
        return self._rows.marked(self._rows.order[key], LACKS)

    def follow(self, statuses: Statuses, moved: Iterable[AssetKey], wanted: Iterable[AssetKey]) -> list[AssetKey]:
        """Take in that cells of the `moved` assets changed, that partitions came or went, and keep the `wanted` ones too.

        `statuses` reads the cells as they are now, of the same graph as before. Gives the assets of which cells were judged, in
        topological order. When reading fails, nothing has been taken in.
        """
        catalog = statuses.catalog
        rows, fresh = self._rows.at(statuses, wanted)
        # What reads an asset of other partitions maps them anew: it is judged in whole, as that asset is.
        whole = fresh | (_readers(catalog, fresh) & rows.spaces.keys())
        direct = rows.spaces.keys() & set(moved)
        direct = (direct | (_readers(catalog, direct) & rows.spaces.keys())) - whole
        statuses.prefetch([*whole, *direct], ancestors=False)
        change = Carrier(rows)
        change.judge_whole(statuses, sorted(whole, key=rows.order.__getitem__))
        change.judge_direct(statuses.direct(key) for key in direct)
        # All that reads has been read: nothing fails from here on.
        change.carry(fresh)
        self._rows = rows
        judged = [catalog.graph.order[at] for at in sorted(change.judged)]
        for key in judged:
            self._shown.pop(key, None)
        return judged


def _readers(catalog: Catalog, keys: Iterable[AssetKey]) -> set[AssetKey]:
    return {consumer.key for key in keys for consumer, _ in catalog.consumers.get(key, ())}
