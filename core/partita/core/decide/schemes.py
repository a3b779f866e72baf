"""Which cells of an asset stay when its partition scheme changes: those with the same key and the same window. Pure.

Owns the matching (ADR 10). Equal keys are not enough: a daily scheme that goes from UTC to New York keeps its keys, and not one
of its windows. Nothing is thrown away: what does not stay is set aside, and comes back with a scheme that has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from partita.assets import (
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    PartitionSpace,
    TimePartitions,
    space_of,
    split_key,
)
from partita.core.catalog.names import Span, names_of
from partita.core.store.values_identity import CellWindow, FormerCell


@dataclass(frozen=True, slots=True)
class Rematch:
    """`kept` counts published cells. `aside`: the cells that the new scheme does not have, published or not, each with what its
    key means there. `back`: the former cells that it has again."""

    kept: int
    aside: tuple[CellWindow, ...]
    back: tuple[FormerCell, ...]


class Windows:
    """The windows of the keys of a scheme, whether they exist yet or not: a horizon is no part of what a window is."""

    def __init__(self, definition: PartitionsDef | None, keys: Iterable[str], as_of: datetime) -> None:
        known = list(keys)
        self._dynamic = isinstance(definition, DynamicPartitions)
        self._names = names_of(_space(definition, known, as_of))

    def has(self, key: str) -> bool:
        """Whether the scheme has this key."""
        return self._dynamic or self._names.find(key) >= 0

    def of(self, key: str) -> Span | None:
        """The window of a key; None when it has none, or there is no such key."""
        ordinal = -1 if self._dynamic else self._names.find(key)
        return self._names.window(ordinal) if ordinal >= 0 else None

    def same(self, cell: CellWindow | FormerCell) -> bool:
        """Whether the scheme has this key with this window."""
        return self.has(cell.partition) and self.of(cell.partition) == cell.window


def rematch(
    definition: PartitionsDef | None, cells: Sequence[CellWindow], former: Sequence[FormerCell], now: datetime
) -> Rematch:
    """The cells of an asset under its new scheme. Of several former cells of one key the newest comes back, and only where no
    cell stays."""
    known: list[CellWindow | FormerCell] = [*cells, *former]
    ends = [one.window[1] for one in known if one.window is not None]
    windows = Windows(definition, [one.partition for one in known], max([now, *ends]))
    same = {one.partition for one in cells if windows.same(one)}
    kept = {one.partition for one in cells if one.held and one.partition in same}
    aside = [
        CellWindow(one.partition, windows.of(one.partition), one.held, windows.has(one.partition))
        for one in cells
        if one.partition not in same
    ]
    newest = {one.partition: one for one in sorted(former, key=lambda one: one.id) if windows.same(one)}
    back = [one for key, one in sorted(newest.items()) if key not in kept]
    return Rematch(len(kept), tuple(aside), tuple(back))


def _space(definition: PartitionsDef | None, keys: Sequence[str], as_of: datetime) -> PartitionSpace:
    if isinstance(definition, MultiPartitions):
        parts = [split for key in keys if (split := split_key(key)) is not None and len(split) == len(definition.dims)]
        dynamic = {
            one.name: sorted({part[at] for part in parts})
            for at, (_, one) in enumerate(definition.dims)
            if isinstance(one, DynamicPartitions)
        }
        dims = tuple(
            (name, replace(one, horizon=0) if isinstance(one, TimePartitions) else one) for name, one in definition.dims
        )
        return space_of(replace(definition, dims=dims), as_of, dynamic)
    timeless = replace(definition, horizon=0) if isinstance(definition, TimePartitions) else definition
    return space_of(timeless, as_of)
