"""From collected definitions to the snapshot and to steps that can be run.

Owns the translation, and what happens to a module whose definitions do not resolve: it is broken like one that does not
import, and so is whatever depends on it; all other modules stay. Refuses to import user code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError as CyclicSteps
from graphlib import TopologicalSorter

from partita.assets import (
    AssetKey,
    AssetSpec,
    CheckSpec,
    CycleError,
    DefinitionError,
    InputSpec,
    ModuleSpec,
    PoolUse,
    Snapshot,
    SourceRef,
    StepSpec,
    dependency_hash,
    mapping_to_spec,
    to_spec,
)
from partita.assets.evaluator_specs import EvaluatorSpec
from partita.sdk.collector import Collector
from partita.sdk.definitions import AssetDef, CheckDef, Place, StepDef
from partita.sdk.evaluators import EvaluatorDef
from partita.sdk.executable import StepHandle, check_handed_over, check_params_model, params_schema
from partita.sdk.fingerprint import Code, Sources, code_of, fingerprint_of, fingerprint_with, sources_of
from partita.sdk.io.base import IOManager
from partita.sdk.io.registry import known_manager
from partita.sdk.resolve import Known, ResolvedCheck, ResolvedInput, resolve_check, resolve_step


@dataclass(frozen=True, slots=True)
class Resolved:
    """All definitions that resolve."""

    steps: Mapping[str, StepHandle]
    externals: tuple[AssetDef, ...]
    evaluators: tuple[EvaluatorDef, ...] = ()


@dataclass(slots=True)
class Pass:
    """One attempt at resolving everything: what came out, and what is wrong by module."""

    steps: dict[str, StepHandle] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    raised: list[DefinitionError] = field(default_factory=list)

    def blame(self, place: Place, error: DefinitionError) -> None:
        self.raised.append(error)
        self.errors.setdefault(place.module, []).append(f"{place}: {error}")


def resolve_all(collector: Collector, broken: dict[str, str]) -> Resolved:
    """Resolve every definition. Modules with errors are dropped from the collector and added to `broken`."""
    while True:
        found = resolve_once(collector)
        if not found.errors:
            externals = tuple(one for one in collector.assets.values() if one.kind == "external")
            return Resolved(found.steps, externals, tuple(collector.evaluators.values()))
        hint = f"\n(modules that do not load: {', '.join(sorted(broken))})" if broken else ""
        for module, errors in found.errors.items():
            collector.drop_module(module)
            broken[module] = "\n".join(errors) + hint


def build_snapshot(name: str, resolved: Resolved, modules: Iterable[ModuleSpec], sources: Sources | None) -> Snapshot:
    """The snapshot of a location. `sources` None: every function is its own project (no location)."""
    assets = [_external_spec(one) for one in resolved.externals]
    steps, checks = [], []
    for handle in resolved.steps.values():
        code = _code(handle.step, sources)
        assets += [_asset_spec(made, handle, _fingerprint(made, handle.step, code)) for made in handle.step.assets]
        keys = tuple(made.key for made in handle.step.assets)
        parts = {"" if name == code.own else name: digest for name, digest in code.parts.items()}
        parts |= {
            f"partition_columns of {made.key}": fingerprint_with("", told)[:16]
            for made in handle.step.assets
            if (told := _columns(made))
        }
        steps.append(StepSpec(id=handle.step.id, assets=keys, function=handle.step.name, code=parts))
        checks += [_check_spec(one, sources) for one in handle.checks]
    return Snapshot(
        location=name,
        assets=tuple(assets),
        steps=tuple(steps),
        checks=tuple(checks),
        modules=tuple(modules),
        evaluators=tuple(_evaluator_spec(one, sources) for one in resolved.evaluators),
    )


def _evaluator_spec(one: EvaluatorDef, sources: Sources | None) -> EvaluatorSpec:
    """With the fingerprint of its code: another function is another version of the location."""
    code = code_of(one.function, sources=sources or sources_of(one.function), classes=tuple(one.resources.values()))
    return one.spec.model_copy(update={"fingerprint": code.fingerprint})


def resolve_once(collector: Collector) -> Pass:
    found = Pass()
    known = Known(collector.assets)
    makers = {made.key: step for step in collector.steps.values() for made in step.assets}
    checks: dict[str, list[ResolvedCheck]] = {}
    for check in collector.checks.values():
        try:
            resolved = resolve_check(check, known, makers)
            checks.setdefault(makers[resolved.asset].id, []).append(resolved)
        except DefinitionError as error:
            found.blame(check.place, error)
    for step in collector.steps.values():
        try:
            io = {made.key: None if made.io is None else _manager(made.io, collector, step) for made in step.assets}
            inputs = resolve_step(step, known)
            handle = StepHandle(step, inputs, tuple(checks.get(step.id, ())), io)
            check_handed_over(handle, partial(_manager_of, known=known, collector=collector, step=step))
            check_params_model(step)
            found.steps[step.id] = handle
        except DefinitionError as error:
            found.blame(step.place, error)
    if not found.errors:
        _refuse_cycles(found, makers)
    return found


def _refuse_cycles(found: Pass, makers: Mapping[AssetKey, StepDef]) -> None:
    """A cycle blames every module that takes part in it. (A step may read its own earlier partitions.)"""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for step_id, handle in sorted(found.steps.items()):
        upstream = {makers[one.upstream].id for one in handle.inputs if one.upstream in makers}
        sorter.add(step_id, *sorted(upstream - {step_id}))
    try:
        sorter.prepare()
    except CyclicSteps as error:
        _blame_cycle(list(error.args[1]), found)


def _blame_cycle(path: list[str], found: Pass) -> None:
    error = CycleError(
        f"assets depend on themselves: {' -> '.join(path)}",
        rule="the graph of assets has no cycles",
        fix="remove one of these inputs",
        path=tuple(path),
    )
    for place in {found.steps[one].step.place.module: found.steps[one].step.place for one in path}.values():
        found.blame(place, error)


def _manager_of(key: AssetKey, *, known: Known, collector: Collector, step: StepDef) -> IOManager | None:
    """What stores an asset of this location; None when nobody here can say."""
    asset = known.get(key)
    return None if asset is None or asset.io is None else _manager(asset.io, collector, step)


def _manager(name: str, collector: Collector, step: StepDef) -> IOManager:
    if name in collector.io:
        return collector.io[name][0]
    return known_manager(name, owner=f"asset {step.id!r}", others=collector.io)


def _code(step: StepDef, sources: Sources | None) -> Code:
    signature = step.signature
    classes: list[type] = [kind for _, kind in signature.resources]
    if signature.params is not None:
        classes.append(signature.params[1])
    return code_of(
        step.function,
        sources=sources or sources_of(step.function),
        classes=classes,
        code_version=step.options.code_version,
    )


def _fingerprint(made: AssetDef, step: StepDef, code: Code) -> str:
    """Of the code and of what cuts its rows into partitions: other columns put other rows there. A `code_version` says it all."""
    columns = _columns(made) if step.options.code_version is None else ""
    return fingerprint_with(code.fingerprint, columns) if columns else code.fingerprint


def _columns(made: AssetDef) -> str:
    """The columns as one text, whatever the order of their dimensions; empty without any."""
    columns = made.partition_columns
    return "" if columns is None else json.dumps(columns if isinstance(columns, str) else dict(columns), sort_keys=True)


def _asset_spec(made: AssetDef, handle: StepHandle, fingerprint: str) -> AssetSpec:
    options = handle.step.options
    manager = handle.io[made.key]
    pools = {**(manager.pools if manager is not None else {}), **options.pools}
    inputs = tuple(_input_spec(one) for one in handle.inputs)
    return AssetSpec(
        key=made.key,
        step=handle.step.id,
        description=made.description,
        group=made.group,
        owner=made.owner,
        tags=dict(made.tags),
        kinds=made.kinds,
        partitions=None if made.partitions is None else to_spec(made.partitions),
        inputs=inputs,
        code_version=options.code_version,
        fingerprint=fingerprint,
        dependency_hash=dependency_hash(inputs),
        io=made.io,
        retries=options.retries.spec(),
        timeout_s=options.timeout_s,
        deadline_s=options.deadline_s,
        freshness=None if options.freshness is None else options.freshness.spec(),
        wait_for=tuple(wait.spec for wait in options.waits),
        pools=tuple(PoolUse(name=name, slots=pools[name]) for name in sorted(pools)),
        max_active=options.max_active,
        queue=options.queue,
        resources=tuple(sorted({kind.__name__ for _, kind in handle.step.signature.resources})),
        priority=options.priority,
        trigger_rule=options.trigger_rule,
        on_code_change=options.on_code_change,
        automatic_limit=options.automatic_limit,
        batch=options.batch.spec,
        subsettable=options.subsettable,
        automation=options.automation.spec,
        params_schema=params_schema(handle.step),
        isolation=options.isolation,
        source=_source(made.place),
        metadata=dict(made.metadata),
        renamed_from=made.renamed_from,
    )


def _input_spec(one: ResolvedInput) -> InputSpec:
    return InputSpec(
        name=one.name,
        upstream=one.upstream,
        mapping=mapping_to_spec(one.mapping),
        location=one.location,
        kind=one.kind,
    )


def _external_spec(one: AssetDef) -> AssetSpec:
    return AssetSpec(
        key=one.key,
        kind="external",
        observed=one.observed,
        freshness=None if one.freshness is None else one.freshness.spec(),
        description=one.description,
        group=one.group,
        owner=one.owner,
        tags=dict(one.tags),
        kinds=one.kinds,
        partitions=None if one.partitions is None else to_spec(one.partitions),
        dependency_hash=dependency_hash(()),
        source=_source(one.place),
        metadata=dict(one.metadata),
        renamed_from=one.renamed_from,
    )


def _check_spec(resolved: ResolvedCheck, sources: Sources | None) -> CheckSpec:
    check: CheckDef = resolved.definition
    return CheckSpec(
        name=check.name,
        asset=resolved.asset,
        blocking=check.blocking,
        description=check.description,
        fingerprint=fingerprint_of(
            check.function, sources=sources or sources_of(check.function), code_version=check.code_version
        ),
        source=_source(check.place),
    )


def _source(place: Place) -> SourceRef | None:
    if place.file.startswith(("/", "<")) or ":\\" in place.file:
        return None  # outside of a location: a path of this machine has no place in a snapshot
    return SourceRef(module=place.module, file=place.file, line=place.line)
