"""What differs between two plans, as a value: for the refusal of a plan that is no longer what was shown, `partita plan
--compare` and the API. Pure.

Plans of different instants count their partitions in different spaces, so cells are matched by what they are, and are told
in words too: a set without its space means nothing. Where a scheme itself changed nothing can be matched, and it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey, PartitionSet, PartitionSpace, ProductSpace, TimeSpace
from partita.core.catalog import Catalog
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import Plan, PlannedAsset, PlannedStep, Reason

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class CellsOf:
    """How many cells, and which in words ("" for an unpartitioned asset, and where they cannot be told any more)."""

    count: int
    partitions: str


@dataclass(frozen=True, slots=True)
class ReasonChange:
    """Cells of both plans that are planned for another reason."""

    was: Reason
    now: Reason
    cells: CellsOf


@dataclass(frozen=True, slots=True)
class AssetDiff:
    """What differs of one asset. `rescaled`: its partition scheme changed in between, so that none of its cells is matched."""

    key: AssetKey
    added: CellsOf | None = None
    removed: CellsOf | None = None
    reasons: tuple[ReasonChange, ...] = ()
    rescaled: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that was and is: a version of a location, a field of the request, the number of tasks of a step. None: it
    is in one of the plans only."""

    name: str
    was: str | None
    now: str | None


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """The difference between two plans; `same` when their content is equal. Only what differs is listed.

    `batches` are steps with the same cells, cut into other tasks. `request` leaves out who asked and when.
    """

    was: str
    now: str
    request: tuple[Changed, ...] = ()
    snapshots: tuple[Changed, ...] = ()
    assets: tuple[AssetDiff, ...] = ()
    batches: tuple[Changed, ...] = ()
    keys: tuple[str, ...] = ()
    """How the keys of dynamic schemes differ, in words."""

    @property
    def same(self) -> bool:
        """Nothing of the content differs. Plans of different instants have different hashes and may still be the same."""
        return not (self.keys or self.request or self.snapshots or self.assets or self.batches)

    @property
    def text(self) -> str:
        """In one line: the first eight differences, then how many more."""
        found = [*self.lines()]
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return "; ".join(found[:_SHOWN]) + more if found else "nothing differs"

    def lines(self) -> Iterator[str]:
        """One difference each, for people."""
        for one in self.request:
            yield f"{one.name} is {one.now or 'not given'}, was {one.was or 'not given'}"
        yield from self.keys
        for one in self.snapshots:
            yield f"location {one.name!r} {_version(one)}"
        for asset in self.assets:
            yield from self._cells_lines(asset)
            for change in asset.reasons:
                yield f"{_told(change.cells, asset.key)}: {_word(change.now)}, was {_word(change.was)}"
        for one in self.batches:
            yield (
                f"{one.name} is cut into {one.now} tasks, was {one.was}"
                if one.was != one.now
                else (f"{one.name} is cut differently")
            )

    def _cells_lines(self, asset: AssetDiff) -> Iterator[str]:
        if asset.rescaled:
            if not self.keys:
                yield f"{asset.key} is partitioned in another way"
            was, now = (0 if one is None else one.count for one in (asset.removed, asset.added))
            if was != now:
                yield f"{_count(now)} of {asset.key} instead of {was:,}"
            return
        if asset.added is not None:
            yield f"{_told(asset.added, asset.key)} came in"
        if asset.removed is not None:
            yield f"{_told(asset.removed, asset.key)} dropped out"


def compare(old: Plan, new: Plan, catalog: Catalog, keys: Sequence[str] = ()) -> PlanDiff:
    """The difference from `old` to `new`. `catalog` is the one that `new` was made with; `keys` says how dynamic keys differ."""
    before, after = dict(old.snapshots), dict(new.snapshots)
    mine = {asset.key: asset for asset in old.assets}
    theirs = {asset.key: asset for asset in new.assets}
    assets = [_asset(mine.get(key), theirs.get(key), old, new, catalog) for key in sorted(mine.keys() | theirs.keys())]
    found = tuple(one for one in assets if one.added or one.removed or one.reasons or one.rescaled)
    return PlanDiff(
        was=old.hash,
        now=new.hash,
        request=tuple(_request(old, new)),
        snapshots=tuple(
            Changed(location, before.get(location), after.get(location))
            for location in sorted(before.keys() & after.keys())
            if before[location] != after[location]
        ),
        assets=found,
        batches=tuple(_batches(old, new, {one.key for one in found})),
        keys=tuple(keys),
    )


def _request(old: Plan, new: Plan) -> Iterator[Changed]:
    was, now = old.request.to_json(), new.request.to_json()
    for name in was:
        if name not in ("as_of", "by") and was[name] != now[name]:
            yield Changed(name, _field(was[name]), _field(now[name]))


def _field(value: object) -> str | None:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return None if value in (None, False, {}) else "yes" if value is True else str(value)


def _asset(was: PlannedAsset | None, now: PlannedAsset | None, old: Plan, new: Plan, catalog: Catalog) -> AssetDiff:
    key = (was or now).key  # type: ignore[union-attr] # one of the two is there
    if key not in catalog.assets:  # retired since: its keys cannot be told
        return AssetDiff(key, removed=None if was is None else CellsOf(len(was.cells), ""))
    then, here = catalog.space(key, old.as_of), catalog.space(key, new.as_of)
    if was is None or now is None:
        return AssetDiff(
            key,
            added=None if now is None else _cells(here, now.cells),
            removed=None if was is None else _cells(then, was.cells) if then.size == was.size else _lost(was),
        )
    if then.size != was.size or was.keys != now.keys:  # other dynamic keys: the old ones cannot be told by number
        return AssetDiff(key, added=_cells(here, now.cells), removed=_lost(was), rescaled=True)
    before = {reason: _matched(cells, then, here) for reason, cells in was.by_reason.items()}
    held = PartitionSet.from_ranges(one for cells in before.values() for one in cells.ranges)
    gone = was.cells - _matched(held & now.cells, here, then)
    moves = [
        ReasonChange(reason, other, _cells(here, cells & planned))
        for reason, cells in before.items()
        for other, planned in now.by_reason.items()
        if reason is not other and cells & planned
    ]
    return AssetDiff(
        key,
        added=_cells(here, now.cells - held) if now.cells - held else None,
        removed=_cells(then, gone) if gone else None,
        reasons=tuple(moves),
    )


def _batches(old: Plan, new: Plan, differing: set[AssetKey]) -> Iterator[Changed]:
    """Steps whose cells are the same and whose tasks are not."""
    before, after = old.by_step(), new.by_step()
    for step, parts in after.items():
        was = before.get(step)
        if was is None or differing & {key for part in parts for key in part.assets}:
            continue
        # Between instants the numbers of partitions may have moved: there the sizes of the tasks have to do.
        cut, cut_now = (_cut(was), _cut(parts)) if old.as_of == new.as_of else (_sizes(was), _sizes(parts))
        if cut != cut_now:
            yield Changed(step.id, f"{_tasks(was):,}", f"{_tasks(parts):,}")


def _cut(parts: Sequence[PlannedStep]) -> object:
    return [(part.assets, tuple(part.batches)) for part in parts]


def _sizes(parts: Sequence[PlannedStep]) -> object:
    return [(part.assets, tuple(map(len, part.batches))) for part in parts]


def _tasks(parts: Sequence[PlannedStep]) -> int:
    return sum(len(part.batches) for part in parts)


def _matched(cells: PartitionSet, source: PartitionSpace, target: PartitionSpace) -> PartitionSet:
    """The same partitions in another space of the same scheme; those that do not exist there are left out."""
    if source is target or source.size == target.size == 0:
        return cells
    if source.definition is None or isinstance(source, TimeSpace):
        return cells & target.all()  # windows keep their number
    ordinals = np.fromiter(cells, dtype=np.int64, count=len(cells))
    if isinstance(source, ProductSpace) and isinstance(target, ProductSpace):
        axes = [
            _axis(axis, one, other)
            for axis, one, other in zip(
                np.unravel_index(ordinals, source.sizes), source.parts, target.parts, strict=True
            )
        ]
        there = np.logical_and.reduce([axis >= 0 for axis in axes]) if axes else np.zeros(len(ordinals), dtype=np.bool_)
        moved = np.ravel_multi_index([axis[there] for axis in axes], target.sizes)
    else:
        moved = _axis(ordinals, source, target)
        moved = moved[moved >= 0]
    return PartitionSet.from_ordinals(np.sort(moved).tolist())


def _axis(ordinals: np.ndarray, source: PartitionSpace, target: PartitionSpace) -> np.ndarray:
    """Ordinals of one dimension in another space of it, -1 where the partition does not exist."""
    if source is target:
        return ordinals
    if isinstance(source, TimeSpace):
        return np.where(ordinals < target.size, ordinals, -1)
    used, where = np.unique(ordinals, return_inverse=True)
    found = [target.find(str(source.key_at(one))) for one in used.tolist()]
    return np.array([-1 if one is None else one for one in found], dtype=np.int64)[where]


def _cells(space: PartitionSpace, cells: PartitionSet) -> CellsOf:
    return CellsOf(len(cells), partitions_text(space, cells))


def _lost(asset: PlannedAsset) -> CellsOf:
    return CellsOf(len(asset.cells), "")


def _told(cells: CellsOf, key: AssetKey) -> str:
    return f"{_count(cells.count)} of {key}" + (f" ({cells.partitions})" if cells.partitions else "")


def _count(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"


def _word(reason: Reason) -> str:
    return reason.value.replace("_", " ")


def _version(one: Changed) -> str:
    return f"has a new version: {(one.now or '')[:12]}, was {(one.was or '')[:12]}"
