"""`materialize()`: assets made in this process, by the same runner as deployed ones, over an in-memory publication table.

Owns the order of steps and what is published to whom within one call. Refuses retries, schedules and remembering: that is
what a deployment is for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Protocol

from partita.assets import (
    AssetKey,
    DefinitionError,
    DynamicPartitions,
    MultiPartitions,
    PartitaError,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    Snapshot,
    UnknownAsset,
    canonical_json,
    space_of,
    to_spec,
    upstream_of,
)
from partita.sdk.batches import earlier_first, tasks_of
from partita.sdk.collector import Collector, current
from partita.sdk.definitions import AssetDef
from partita.sdk.executable import StepHandle
from partita.sdk.execute import run_step
from partita.sdk.handles import AssetFunction, ExternalAsset
from partita.sdk.io.base import WriteContext
from partita.sdk.io.lake import Lake
from partita.sdk.load import LoadedLocation
from partita.sdk.members import members_by_partition, union, with_members_read
from partita.sdk.resolve import ResolvedInput
from partita.sdk.resources import Resource, ResourceScope
from partita.sdk.results import Declared, MaterializationFailed, MaterializeResult, TemporaryFolder
from partita.sdk.runtime_values import (
    InputBinding,
    InputCell,
    StepRequest,
    StepResult,
    StepStatus,
    TargetCell,
)
from partita.sdk.snapshot import resolve_once
from partita.sdk.waiting import run_waiting

_EXTERNAL_VERSION = "external"


class Published(Protocol):
    """What a deployment has published, for a step that runs here."""

    def scheme(self, key: AssetKey) -> PartitionsDef | None:
        """The partitions of an asset of another location; raises PartitaError when nobody defines it."""

    def cells(self, key: AssetKey, partitions: Sequence[str]) -> Mapping[str, InputCell]:
        """Those of these partitions that are published; raises PartitaError when there is no deployment to ask."""

    def keys(self, scheme: str) -> Sequence[str]:
        """The present keys of a dynamic scheme; raises PartitaError when there is no deployment to ask."""


def materialize(
    assets: Declared | Sequence[Declared],
    *,
    partitions: str | Mapping[str, str] | None = None,
    inputs: Mapping[str, object] | None = None,
    resources: Iterable[Resource] = (),
    params: Mapping[str, Mapping[str, Any]] | None = None,
    lake: Path | None = None,
    as_of: datetime | None = None,
    dynamic: Mapping[str, Sequence[str]] | None = None,
    raise_on_error: bool = True,
) -> MaterializeResult:
    """Make assets in this process, upstream first, and read their inputs back through the same IO managers.

    `partitions` selects those of the last assets ("2013-01-01", "2013-01-01..2013-01-07", "latest"), or by key; an asset
    which others of this call read makes the partitions that they need. `inputs` gives the values of upstream assets that
    are not made here, by key. `params` gives the params of steps, by key. Without `lake` the files go to a temporary folder.
    Partitions exist as of `as_of` (now); `dynamic` gives the keys of dynamic schemes by name. Raises MaterializationFailed at
    the first failure unless told otherwise.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def totals(orders: Annotated[Relation, From("raw/orders")]) -> Relation:
    ...     return orders.sql("select sum(amount) as amount from self")
    >>> orders = Relation.from_rows([{"amount": 3}, {"amount": 4}])
    >>> made = materialize(totals, partitions="2026-03-01", inputs={"raw/orders": orders})
    >>> made.read(totals).scalar()
    7
    """
    declared = [assets] if isinstance(assets, AssetFunction | ExternalAsset) else list(assets)
    location = _location(declared)
    return materialize_location(
        location,
        list(location.steps),
        partitions=partitions,
        inputs=inputs,
        resources=resources,
        params=params,
        lake=lake,
        as_of=as_of,
        dynamic=dynamic,
        raise_on_error=raise_on_error,
    )


def materialize_location(
    location: LoadedLocation,
    steps: Sequence[str],
    *,
    partitions: str | Mapping[str, str] | None = None,
    inputs: Mapping[str, object] | None = None,
    resources: Iterable[Resource] = (),
    params: Mapping[str, Mapping[str, Any]] | None = None,
    lake: Path | None = None,
    as_of: datetime | None = None,
    dynamic: Mapping[str, Sequence[str]] | None = None,
    raise_on_error: bool = True,
    published: Published | None = None,
    on_log: Callable[[str, str], None] | None = None,
) -> MaterializeResult:
    """`materialize()` for some steps of a loaded location. What they read and is neither made here nor given comes from
    `published`; `on_log` hears the lines of `context.log` while the steps run."""
    run = _Run(location, steps, lake, as_of or datetime.now(UTC), dict(inputs or {}), dict(params or {}), published)
    run.dynamic = dict(dynamic or {})
    run.result.on_log = on_log
    with ResourceScope(resources) as scope:
        run.go(partitions, scope, raise_on_error=raise_on_error)
    return run.result


class _Run:
    def __init__(
        self,
        location: LoadedLocation,
        steps: Sequence[str],
        lake: Path | None,
        as_of: datetime,
        inputs: dict[str, object],
        params: dict[str, Mapping[str, Any]],
        published: Published | None,
    ) -> None:
        folder = None if lake is not None else TemporaryFolder.make()
        self._lake = Lake(root=lake if folder is None else folder.path)
        self._location = replace(location, steps={key: self._stored_here(location.steps[key]) for key in steps})
        self._as_of = as_of
        self.dynamic: dict[str, Sequence[str]] = {}
        self._inputs = inputs
        self._params = params
        self._published = published
        self._attempts = 0
        self._spaces: dict[AssetKey, PartitionSpace] = {}
        self._assets = location.assets
        self.result = MaterializeResult(managers={**location.io, "lake": self._lake}, folder=folder)
        for handle in self._location.steps.values():
            self.result.made_by.update({key: one.name for key, one in handle.io.items() if one is not None})
            self.result.managers.update({one.name: one for one in handle.io.values() if one is not None})

    def go(self, partitions: str | Mapping[str, str] | None, scope: ResourceScope, *, raise_on_error: bool) -> None:
        order = self._order()
        chosen = self._choose(order, partitions)
        for step_id in order:
            handle = self._location.steps[step_id]
            space = self._space(handle.step.assets[0].key)
            batch = handle.step.options.batch.spec
            parts = members_by_partition(chosen[step_id])
            tasks = [task for cells in parts.values() for task in tasks_of(batch, space, cells)]
            own = {made.key for made in handle.step.assets}
            earlier = [one.mapping for one in handle.inputs if one.local and one.upstream in own]
            if earlier:
                tasks = earlier_first(tasks, space, earlier)
            for ordinals in tasks:
                members = next(keys for keys, cells in parts.items() if ordinals[0] in cells)
                result = self._attempt(handle, members, ordinals, scope)
                if result.status in (StepStatus.SUCCESS, StepStatus.SKIPPED):
                    continue
                self.result.failures.append((step_id, result))
                if raise_on_error:
                    raise _failed(step_id, space, ordinals, result)

    def _stored_here(self, handle: StepHandle) -> StepHandle:
        managers = {
            key: self._lake if isinstance(one, Lake) and one.root is None else one for key, one in handle.io.items()
        }
        return replace(handle, io=managers)

    def _order(self) -> list[str]:
        makers = {made.key: key for key, one in self._location.steps.items() for made in one.step.assets}
        graph = {
            key: {makers[one.upstream] for one in handle.inputs if one.upstream in makers} - {key}
            for key, handle in self._location.steps.items()
        }
        return list(TopologicalSorter(graph).static_order())

    def _space(self, key: AssetKey) -> PartitionSpace:
        if key not in self._spaces:
            self._spaces[key] = self._existing(self._assets[key].partitions)
        return self._spaces[key]

    def _existing(self, scheme: PartitionsDef | None) -> PartitionSpace:
        """The partitions of a scheme; keys that the caller did not give are those of the deployment, if there is one."""
        parts = [part for _, part in scheme] if isinstance(scheme, MultiPartitions) else [scheme]
        for part in parts:
            if isinstance(part, DynamicPartitions) and part.name not in self.dynamic and self._published is not None:
                self.dynamic[part.name] = self._published.keys(part.name)
        return space_of(scheme, self._as_of, self.dynamic)

    def _choose(
        self, order: Sequence[str], partitions: str | Mapping[str, str] | None
    ) -> dict[str, dict[AssetKey, PartitionSet]]:
        """Per step the partitions of each asset, downstream first: what was asked for, and what the steps after it need."""
        chosen: dict[str, dict[AssetKey, PartitionSet]] = {}
        for step_id in reversed(order):
            step = self._location.steps[step_id].step
            own = [made.key for made in step.assets]
            needed = [
                (
                    one.upstream,
                    upstream_of(
                        one.mapping,
                        down=self._space(reader.assets[0].key),
                        up=self._space(one.upstream),
                        cells=union(chosen[reader.id].values()),
                    ).existing,
                )
                for reader, one in self._readers(own)
                if reader.id != step_id
            ]
            asked = self._asked(step.assets, partitions, last=not needed)
            cells = {key: union([asked[key], *(one for read, one in needed if read == key)]) for key in own}
            if step.options.subsettable:
                chosen[step_id] = with_members_read(cells, self._location.steps[step_id].inputs, self._space(own[0]))
            else:
                chosen[step_id] = dict.fromkeys(own, union(cells.values()))
        return chosen

    def _readers(self, keys: Sequence[AssetKey]) -> list[tuple[Any, ResolvedInput]]:
        return [
            (handle.step, one)
            for handle in self._location.steps.values()
            for one in handle.inputs
            if one.local and one.upstream in keys
        ]

    def _asked(
        self, own: Sequence[AssetDef], partitions: str | Mapping[str, str] | None, *, last: bool
    ) -> dict[AssetKey, PartitionSet]:
        """What the caller asked for of each asset of a step."""
        space = self._space(own[0].key)
        nothing = dict.fromkeys([made.key for made in own], PartitionSet.empty())
        by_key = partitions if isinstance(partitions, Mapping) else {}
        named = {made.key: by_key[made.key] for made in own if made.key in by_key}
        if own[0].partitions is None:
            every = named or nothing
            return nothing | dict.fromkeys(every, space.all()) if last else nothing
        if not named and last and isinstance(partitions, str):
            named = dict.fromkeys(nothing, partitions)
        if last and not named:
            raise PartitaError(
                f"asset {own[0].key!r} is partitioned and no partitions were asked for",
                rule="materialize() makes the partitions that it is told",
                fix=f'say partitions="{space.key_at(0) if space.size else "all"}", or partitions="all"',
            )
        return nothing | {key: space.select(text) for key, text in named.items()}

    def _attempt(
        self, handle: StepHandle, members: Sequence[AssetKey], ordinals: Sequence[int], scope: ResourceScope
    ) -> StepResult:
        self._attempts += 1
        space = self._space(members[0])
        cells = PartitionSet.from_ordinals(ordinals)
        step = handle.step
        request = StepRequest(
            attempt_id=f"inprocess-{self._attempts}",
            step=step.id,
            cells=tuple(target_cell(key, space, one) for key in members for one in ordinals),
            inputs=tuple(self._bind(handle, one, space, cells) for one in handle.inputs if one.kind == "data"),
            params=next((self._params[made.key] for made in step.assets if made.key in self._params), None),
            fence=self._attempts,
            traceparent=os.environ.get("TRACEPARENT", ""),
        )
        return run_waiting(handle, request, lambda given: run_step(self._location, given, self.result, resources=scope))

    def _bind(self, handle: StepHandle, one: ResolvedInput, down: PartitionSpace, cells: PartitionSet) -> InputBinding:
        key = one.upstream
        if key in self._inputs or one.name in self._inputs:
            value = self._inputs[key] if key in self._inputs else self._inputs[one.name]
            return InputBinding(one.name, key, "lake", cells=(self._given(key, value),))
        scheme = self._scheme(one)
        up = self._space(key) if one.local else self._existing(scheme)
        mapped = upstream_of(one.mapping, down=down, up=up, cells=cells)
        external = one.local and self._assets[key].kind == "external"
        own = {made.key for made in handle.step.assets}
        wanted = list(up.keys(mapped.existing))
        elsewhere = {} if external else self._elsewhere(key, wanted)
        found: list[InputCell] = []
        for partition in wanted:
            cell = self.result.published.get((key, partition)) or elsewhere.get(partition)
            if cell is None and external:
                cell = InputCell(partition, _EXTERNAL_VERSION)
            if cell is None and key not in own:  # its own earlier partitions may not be there
                raise PartitaError(
                    f"input {one.name!r}: {key!r} has no published partition {partition!r}",
                    rule="an input must be made in this call, or given",
                    fix=f'add the asset to the call, or say inputs={{"{key}": ...}}'
                    if self._published is None
                    else f"materialize it first: partita materialize {key}",
                )
            if cell is not None:
                found.append(cell)
        spec = b"" if scheme is None else canonical_json(to_spec(scheme))
        return InputBinding(one.name, key, self.result.made_by.get(key, ""), spec, tuple(found))

    def _scheme(self, one: ResolvedInput) -> PartitionsDef | None:
        if one.local:
            return self._assets[one.upstream].partitions
        if self._published is None:
            raise UnknownAsset(
                f"input {one.name!r} reads {one.upstream!r} of another location",
                rule="materialize() has only what it is given",
                fix=f'say inputs={{"{one.upstream}": ...}}',
            )
        return self._published.scheme(one.upstream)

    def _elsewhere(self, key: AssetKey, partitions: Sequence[str]) -> Mapping[str, InputCell]:
        """What is published in a deployment of partitions that were not made here."""
        absent = [one for one in partitions if (key, one) not in self.result.published]
        return self._published.cells(key, absent) if self._published is not None and absent else {}

    def _given(self, key: AssetKey, value: object) -> InputCell:
        known = self.result.published.get((key, ""))
        if known is None:
            self._attempts += 1
            ctx = WriteContext(key, f"given-{self._attempts}", 0, (TargetCell(key, ""),))
            (written,) = self._lake.write(ctx, value)
            known = self.result.published[key, ""] = InputCell("", written.data_version, written.location)
        return known


def target_cell(key: AssetKey, space: PartitionSpace, ordinal: int) -> TargetCell:
    """The cell of an ordinal as a request carries it."""
    window = space.window_at(ordinal)
    if window is None:
        return TargetCell(key, space.key_at(ordinal))
    start, end = (round(one.timestamp()) * 1_000_000 for one in (window.start, window.end))
    return TargetCell(key, space.key_at(ordinal), start, end)


def _location(declared: Sequence[Declared]) -> LoadedLocation:
    """A location made of these definitions and of what their modules define around them."""
    ambient = current()
    chosen = Collector()
    steps = {one.step.id: one.step for one in declared if isinstance(one, AssetFunction)}
    externals = [one.definition for one in declared if isinstance(one, ExternalAsset)]
    modules = {step.place.module for step in steps.values()}
    chosen.assets = {key: one for key, one in ambient.assets.items() if one.place.module in modules}
    chosen.assets.update({one.key: one for one in externals})
    chosen.assets.update({made.key: made for step in steps.values() for made in step.assets})
    chosen.steps = steps
    keys = {made.key for step in steps.values() for made in step.assets}
    chosen.checks = {(asset, name): one for (asset, name), one in ambient.checks.items() if asset in keys}
    chosen.io = dict(ambient.io)
    if not steps:
        raise DefinitionError("materialize() was given no asset to make", fix="pass functions decorated with @asset")
    found = resolve_once(chosen)
    if found.errors:
        raise found.raised[0]
    managers = {name: manager for name, (manager, _) in chosen.io.items()}
    return LoadedLocation(Snapshot(location="materialize"), found.steps, managers, dict(chosen.assets))


def _failed(step_id: str, space: PartitionSpace, ordinals: Sequence[int], result: StepResult) -> MaterializationFailed:
    partitions = space.keys_of(ordinals)
    where = f" partition {partitions[0]!r}" if partitions[0] else ""
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    error = MaterializationFailed(f"asset {step_id!r}{where}{more} {result.status.name.lower()}: {result.error}")
    if result.traceback:
        error.add_note(result.traceback)
    return error
