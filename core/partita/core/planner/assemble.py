"""From chosen cells to a plan: batches, waves and the hash. Pure.

A task's wave is the earliest in which all that its cells read from this plan is done, so cells whose upstreams are fresh
start at once, whatever their asset waits for elsewhere. A task of a subsettable group makes the same members in each of its
partitions: partitions that need other members are other tasks, in a planned step of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey, PartitionSet, PartitionSpace, SingleBatchSpec
from partita.core.catalog import Catalog, CatalogAsset, Moment, StepKey
from partita.core.catalog.edges import Bools, EdgeMap, Ints, Levels, in_order, levels_of, nothing
from partita.core.cells.stack import rows_at_once, together
from partita.core.planner.batches import batches_of, one_level_each
from partita.core.planner.choices import REASONS, Choice
from partita.core.planner.encode import plan_hash
from partita.core.planner.rows import SharedSets, runs_of_rows
from partita.core.planner.sequences import OneEach, Runs, compact, task_of_each
from partita.core.planner.stacks import Above, by_depth, chosen_of
from partita.core.planner.values import Blocked, Plan, PlannedAsset, PlannedStep, PlanRequest, Reason


def assemble(
    catalog: Catalog, request: PlanRequest, choices: Mapping[AssetKey, Choice], blocked: Sequence[Blocked]
) -> Plan:
    """The plan of these choices; `because`, pools, estimate and `joined` are still empty."""
    moment = catalog.at(request.as_of)
    assembly = _Assembly(moment, choices)
    steps = assembly.steps(catalog.steps_of(choices))
    assets = tuple(map(assembly.asset, catalog.graph.sort(choices)))
    snapshots = _snapshots(catalog, [*choices, *(one.key for one in blocked)])
    found = _ordered(catalog, blocked)
    return Plan(
        request=request,
        snapshots=snapshots,
        assets=assets,
        steps=steps,
        blocked=found,
        hash=plan_hash(request, snapshots, assets, steps),
    )


@dataclass(frozen=True, slots=True)
class _Own:
    """What one member of a step reads of another or of itself: the edge, and where the two are planned."""

    edge: EdgeMap
    reader: Bools
    read: Bools


class _Assembly:
    """One plan while it is put together. Equal masks become one set: what follows one cause looks alike in asset after asset."""

    def __init__(self, moment: Moment, choices: Mapping[AssetKey, Choice]) -> None:
        self._moment = moment
        self._choices = choices
        self._waves: dict[AssetKey, Levels] = {}
        """Of the assets decided so far, the wave of each cell; -1 for cells that are not planned."""
        self._top = 0
        self._sets = SharedSets()
        self._stacked: dict[AssetKey, PlannedAsset] = {}

    def steps(self, steps: Sequence[Sequence[CatalogAsset]]) -> tuple[PlannedStep, ...]:
        """The tasks of these steps, given in topological order."""
        found: dict[AssetKey, Iterable[PlannedStep]] = {}
        for depth in by_depth(self._moment, steps):
            for size, assets in depth.alike.items():
                single = [one for one in assets if isinstance(one.spec.batch, SingleBatchSpec)]
                for at in range(0, len(single), rows_at_once(size)):
                    chunk = single[at : at + rows_at_once(size)]
                    found.update((one.assets[0], (one,)) for one in self._stack(chunk, size))
                for asset in assets:
                    if asset.key not in found:
                        found[asset.key] = list(self.step(asset.step, (asset,)))
            for members in depth.steps:
                found[members[0].key] = list(self.step(members[0].step, members))
        return tuple(one for members in steps for one in found[members[0].key])

    def asset(self, key: AssetKey) -> PlannedAsset:
        """The planned cells of an asset by reason, once its step is there."""
        known = self._stacked.get(key)
        if known is not None:
            return known
        choice = self._choices[key]
        occur = np.flatnonzero(np.bincount(choice.reason)[1:]).tolist()
        if len(occur) == 1:
            by_reason = {REASONS[occur[0]]: self._sets.of(choice.run)}
        else:
            by_reason = {REASONS[code]: self._sets.of(choice.reason == code + 1) for code in occur}
        return self._planned(key, by_reason, self._sets.of(choice.conditional))

    def _planned(
        self, key: AssetKey, by_reason: Mapping[Reason, PartitionSet], conditional: PartitionSet
    ) -> PlannedAsset:
        catalog = self._moment.catalog
        return PlannedAsset(
            key=key,
            asset_id=catalog.assets[key].id,
            size=len(self._choices[key].run),
            by_reason=by_reason,
            conditional=conditional,
            keys=catalog.keys_digest(key),
        )

    def _stack(self, assets: Sequence[CatalogAsset], size: int) -> list[PlannedStep]:
        """`step` and `asset` for stacked assets with a task for each partition, all at once."""
        choices = [self._choices[asset.key] for asset in assets]
        run = together([choice.run for choice in choices])
        here = self._waves_of_rows(assets, run)
        cells = self._sets.of_rows(run)
        waves = runs_of_rows(here, run)
        unsure = chosen_of(assets, size, {one.key: self._choices[one.key].conditional for one in assets})
        conditional, alike = [self._sets.of(nothing(size))] * len(assets), unsure is nothing(size)
        if not alike:
            conditional = self._sets.of_rows(unsure)
            maybe = runs_of_rows(unsure, run)
        reasons: list[dict[Reason, PartitionSet]] = [{} for _ in assets]
        reason = together([choice.reason for choice in choices])
        for code, name in enumerate(REASONS, 1):
            mine = reason == code
            rows = np.flatnonzero(mine.any(axis=1))
            for row, chosen in zip(rows.tolist(), self._sets.of_rows(mine[rows]), strict=True):
                reasons[row][name] = chosen
        for row, asset in enumerate(assets):
            self._waves[asset.key] = here[row]
            self._stacked[asset.key] = self._planned(asset.key, reasons[row], conditional[row])
        return [
            PlannedStep(
                step=asset.step,
                assets=(asset.key,),
                batches=OneEach(cells[row]),
                waves=waves[row],
                conditional=Runs(((False, len(cells[row])),)) if alike else maybe[row],
            )
            for row, asset in enumerate(assets)
        ]

    def _waves_of_rows(self, assets: Sequence[CatalogAsset], run: Bools) -> Levels:
        """The wave of each cell, -1 for cells that are not planned."""
        after = np.full(run.shape, -1, dtype=np.min_scalar_type(-self._top - 2))
        for rows, above in Above.of(assets, run.shape[1]).each(self._waves):
            after[rows] = np.maximum(after[rows], above)
        after += 1
        here = np.where(run, after, after.dtype.type(-1))
        self._top = max(self._top, int(here.max()))
        return here

    def step(self, key: StepKey, members: Sequence[CatalogAsset]) -> Iterator[PlannedStep]:
        """The tasks of a step and their waves; of a subsettable group one part for each set of members."""
        planned = [asset for asset in members if asset.key in self._choices]
        if not planned:
            return
        size = len(self._choices[planned[0].key].run)
        run = self._run_of(planned)
        own = list(self._own(planned))
        levels = levels_of([one.edge for one in own]) if own else None
        space = self._moment.space(planned[0].key)
        parts = [(some, mask, self._batches(space, some, mask, levels)) for some, mask in self._parts(planned, run)]
        batches = parts[0][2] if len(parts) == 1 else [batch for _, _, part in parts for batch in part]
        after = self._after(planned, size)
        if isinstance(batches, OneEach) and not own:
            here = np.where(run, after + np.int32(1), np.int32(-1))
            waves = here[run]
        else:
            waves, here = _waves_of_tasks(batches, own, run, after)
        self._keep(planned, here, int(waves.max()))
        first = 0
        for some, mask, part in parts:
            yield PlannedStep(
                step=key,
                assets=tuple(asset.key for asset in some),
                batches=part,
                waves=Runs.of_array(waves[first : first + len(part)]),
                conditional=self._conditional(some, mask, part),
                partial=len(some) < len(members),
            )
            first += len(part)

    def _run_of(self, members: Sequence[CatalogAsset]) -> Bools:
        """The partitions in which any of them is planned."""
        run = self._choices[members[0].key].run
        for asset in members[1:]:
            run = run | self._choices[asset.key].run
        return run

    def _parts(self, members: Sequence[CatalogAsset], run: Bools) -> list[tuple[Sequence[CatalogAsset], Bools]]:
        """The planned partitions by the members that are planned in them."""
        masks = [self._choices[asset.key].run for asset in members]
        if not members[0].spec.subsettable or all(np.array_equal(masks[0], mask) for mask in masks[1:]):
            return [(members, run)]
        which, part_of = np.unique(np.stack(masks), axis=1, return_inverse=True)
        return [
            ([asset for asset, planned in zip(members, some, strict=True) if planned], np.ravel(part_of) == part)
            for part, some in enumerate(which.T)
            if some.any()
        ]

    def _own(self, members: Sequence[CatalogAsset]) -> Iterator[_Own]:
        """What the step reads of its own assets in other partitions."""
        apart = members[0].spec.subsettable
        keys = {asset.key for asset in members}
        for asset in members:
            for one, edge in self._moment.links(asset):
                # Made together, they wait for each other's earlier partitions where they wait for their own.
                if one.upstream == asset.key or (apart and one.upstream in keys and not edge.same):
                    read = self._choices[one.upstream].run
                    if not apart or edge.any(read).any():
                        yield _Own(edge, self._choices[asset.key].run, read)

    def _batches(
        self, space: PartitionSpace, members: Sequence[CatalogAsset], run: Bools, levels: Ints | None
    ) -> Sequence[PartitionSet]:
        batches = batches_of(members[0].spec.batch, space, self._sets.of(run))
        return compact(batches if levels is None else one_level_each(batches, levels))

    def _keep(self, members: Sequence[CatalogAsset], here: Levels, top: int) -> None:
        self._top = max(self._top, top)
        kept = here.astype(np.min_scalar_type(-self._top - 1))  # a byte a cell: ten million are kept meanwhile
        for asset in members:
            run = self._choices[asset.key].run
            whole = len(members) == 1 or not asset.spec.subsettable
            self._waves[asset.key] = kept if whole else np.where(run, kept, kept.dtype.type(-1))

    def _after(self, members: Sequence[CatalogAsset], size: int) -> Levels:
        """Per cell the last wave of what it reads from this plan; -1 for none."""
        found: Levels | None = None
        for asset in members:
            for one, edge in self._moment.links(asset):
                if one.upstream in self._waves:
                    above = edge.highest(self._waves[one.upstream])
                    if asset.spec.subsettable:
                        above = np.where(self._choices[asset.key].run, above, above.dtype.type(-1))
                    found = above if found is None else np.maximum(found, above)
            for key in self._moment.beyond.get(asset.key, ()):
                if key in self._waves:  # it may add the keys of what this one collects
                    last = np.full(size, self._waves[key].max(), dtype=np.int32)
                    found = last if found is None else np.maximum(found, last)
        return np.full(size, -1, dtype=np.int32) if found is None else found

    def _conditional(self, members: Sequence[CatalogAsset], run: Bools, batches: Sequence[PartitionSet]) -> Runs[bool]:
        """The tasks none of whose cells runs whatever comes out above."""
        unsure = self._choices[members[0].key].conditional
        for asset in members[1:]:
            unsure = unsure & self._choices[asset.key].conditional
        if not unsure.any():
            return Runs(((False, len(batches)),))
        if isinstance(batches, OneEach):
            return Runs.of_array(unsure[run])
        surely = np.zeros(len(batches), dtype=np.bool_)
        surely[task_of_each(batches, int(np.count_nonzero(run)))[~unsure[run]]] = True
        return Runs.of_array(~surely)


def _waves_of_tasks(
    batches: Sequence[PartitionSet], own: Sequence[_Own], run: Bools, after: Levels
) -> tuple[Levels, Levels]:
    """The wave of each task, and of each cell."""
    task_of = np.full(len(run), -1, dtype=np.int64)
    task_of[run] = task_of_each(batches, int(np.count_nonzero(run)))
    waves = np.zeros(len(batches), dtype=np.int32)
    np.maximum.at(waves, task_of[run], after[run] + np.int32(1))
    _wait_for_own(own, run, task_of, waves)
    here = np.full(len(run), -1, dtype=np.int32)
    here[run] = waves[task_of[run]]
    return waves, here


def _wait_for_own(own: Sequence[_Own], run: Bools, task_of: Ints, waves: Levels) -> None:
    """Put each task after those of the earlier partitions that it reads of its own assets. Changes `waves`."""
    for ordinal in in_order([one.edge for one in own], run) if own else ():
        task = task_of[ordinal]
        for one in own:
            if not one.reader[ordinal]:
                continue
            for start, stop in one.edge.ranges_of(ordinal):
                before = np.unique(task_of[start:stop][one.read[start:stop]])
                if len(before):
                    waves[task] = max(waves[task], int(waves[before].max()) + 1)


def _snapshots(catalog: Catalog, keys: Sequence[AssetKey]) -> tuple[tuple[str, str], ...]:
    """(location, version) of what the plan touches; a reload elsewhere does not make a plan another one."""
    return tuple(sorted({(catalog.assets[key].location, catalog.assets[key].version) for key in keys}))


def _ordered(catalog: Catalog, blocked: Sequence[Blocked]) -> tuple[Blocked, ...]:
    return tuple(sorted(blocked, key=lambda one: (catalog.order[one.key], one.upstream, one.reason)))
