"""From written references to inputs: which asset a name means within a location, and by which mapping.

Owns name resolution and its errors. Refuses to know other locations: a key that is not found here is left to the control
plane, which sees all of them.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from typing import Literal

from partita.assets import (
    AssetKey,
    DefinitionError,
    Mapping,
    PartitionsDef,
    UnknownAsset,
    check_fit,
    default_mapping,
    self_mapping,
    suggest,
)
from partita.sdk.definitions import AssetDef, CheckDef, StepDef
from partita.sdk.inputs import wants_cells
from partita.sdk.references import Enumerated, From, HasKey, Remote, SameAsConsumer, Upstream


class Known(dict[AssetKey, AssetDef]):
    """The definitions of a location by key, and by the ends of their keys."""

    def __init__(self, assets: Table[AssetKey, AssetDef]) -> None:
        super().__init__(assets)
        self._ending: dict[str, list[AssetDef]] = {}
        for key, one in assets.items():
            end = key.partition("/")[2]
            while end:
                self._ending.setdefault(end, []).append(one)
                end = end.partition("/")[2]

    def called(self, name: str) -> list[AssetDef]:
        """The asset whose key is `name`, else those whose keys end in it."""
        exact = self.get(AssetKey(name))
        if exact is not None:
            return [exact]
        ending = self._ending.get(name, [])
        # raw/flights is usually made from source/flights: a bare `flights` means what is made here.
        return [one for one in ending if one.kind == "asset"] or ending


@dataclass(frozen=True, slots=True)
class ResolvedInput:
    """One upstream of a step."""

    name: str
    upstream: AssetKey
    mapping: Mapping
    kind: Literal["data", "order"] = "data"
    local: bool = True
    location: str | None = None


@dataclass(frozen=True, slots=True)
class ResolvedCheck:
    """A check and what its parameters stand for: the checked cell, or an input of the step, by name."""

    definition: CheckDef
    asset: AssetKey
    checked: tuple[str, ...]


def resolve_step(step: StepDef, known: Known) -> tuple[ResolvedInput, ...]:
    """The inputs of a step in the order written: parameters, then `deps`. Raises DefinitionError."""
    partitions = step.assets[0].partitions
    owner = f"asset {step.id!r}"
    inputs = [
        _resolved(param.name, param.reference, known, partitions, f"{owner}: input {param.name!r}")
        for param in step.signature.inputs
    ]
    inputs += [_dependency(one, known, partitions, owner) for one in step.deps]
    for param, one in zip(step.signature.inputs, inputs, strict=False):
        if one.local and known[one.upstream].io is None and not wants_cells(param.annotation):
            raise _unreadable(one, known[one.upstream], owner)
    own = {made.key for made in step.assets}
    found = tuple(_earlier(one, owner) if one.upstream in own else one for one in inputs)
    for one in found:
        if one.local:
            _refuse_misfit(one, known[one.upstream], partitions, owner)
    return found


def _refuse_misfit(one: ResolvedInput, upstream: AssetDef, partitions: PartitionsDef | None, owner: str) -> None:
    try:
        check_fit(one.mapping, down=partitions, up=upstream.partitions)
    except DefinitionError as refused:
        asked = f"input {one.name!r} from" if one.kind == "data" else "deps:"
        raise DefinitionError(
            f"{owner}: {asked} {one.upstream!r}: {refused.what}", rule=refused.rule, fix=refused.fix
        ) from refused


def _earlier(one: ResolvedInput, owner: str) -> ResolvedInput:
    """An input from the step itself reads its earlier partitions, as far as there are any."""
    try:
        return replace(one, mapping=self_mapping(one.mapping))
    except DefinitionError as refused:
        raise DefinitionError(
            f"{owner}: input {one.name!r} is an asset of the step itself",
            rule="an asset can read only its own earlier partitions",
            fix=f'name another asset, or write From("{one.upstream}", overlap(-1, -1))',
        ) from refused


def resolve_check(check: CheckDef, known: Known, steps: Table[AssetKey, StepDef]) -> ResolvedCheck:
    """Which asset a check judges, and which parameters are the checked cell."""
    owner = f"check {check.name!r}"
    if isinstance(check.asset, str):
        asset = find(check.asset, known, owner)
    else:
        asset = _known(check.asset, known, owner)
    step = steps.get(asset.key)
    if step is None:
        raise DefinitionError(
            f"{owner}: {asset.key!r} is external",
            rule="a check runs in the attempt that makes the asset",
            fix="check the asset that reads it",
        )
    siblings = {param.name for param in step.signature.inputs}
    checked: list[str] = []
    for param in check.signature.inputs:
        if param.reference is None and param.name in siblings:
            continue
        if not _names(param.name, param.reference, asset.key):
            raise DefinitionError(
                f"{owner}: parameter {param.name!r} is neither the checked asset {asset.key!r} nor an input of it",
                rule="a check sees the cell that was written and what its step was given",
                fix=suggest(param.name, [asset.key.rpartition("/")[2], *siblings]),
            )
        if asset.io is None:
            raise DefinitionError(
                f"{owner}: {asset.key!r} says io=None, so its data cannot be handed to a check",
                rule="a check is given what an IO manager stored",
                fix=f"remove the parameter {param.name!r} and read the store in the check",
            )
        checked.append(param.name)
    return ResolvedCheck(check, asset.key, tuple(checked))


def find(name: str, known: Known, owner: str) -> AssetDef:
    """The one asset whose key is `name` or ends in it; an external one only when none is made here.

    Raises UnknownAsset or DefinitionError with suggestions.
    """
    found = known.called(name)
    if len(found) == 1:
        return found[0]
    if found:
        keys = sorted(one.key for one in found)
        raise DefinitionError(
            f"{owner}: the name {name!r} is ambiguous: {' and '.join(repr(key) for key in keys)}",
            rule="a bare name means the one asset whose key ends in it",
            fix=f'annotate it with Annotated[..., From("{keys[0]}")]',
        )
    ends = {key.rpartition("/")[2]: key for key in known}
    raise UnknownAsset(
        f"{owner}: no asset of this location is called {name!r}",
        rule='an asset of another location is named by From("KEY") or remote("KEY")',
        fix=suggest(name, [*ends, *known]),
    )


def _resolved(
    name: str, reference: From | None, known: Known, partitions: PartitionsDef | None, owner: str
) -> ResolvedInput:
    if reference is None:
        upstream = find(name, known, owner)
        return ResolvedInput(name, upstream.key, default_mapping(partitions, upstream.partitions))
    return _referenced(name, reference.upstream, reference.mapping, known, partitions, owner)


def _dependency(one: Upstream, known: Known, partitions: PartitionsDef | None, owner: str) -> ResolvedInput:
    found = _referenced("", one, None, known, partitions, f"{owner}: deps")
    return ResolvedInput(f"dep:{found.upstream}", found.upstream, found.mapping, "order", found.local, found.location)


def _referenced(
    name: str,
    upstream: Upstream,
    mapping: Mapping | Enumerated | None,
    known: Known,
    partitions: PartitionsDef | None,
    owner: str,
) -> ResolvedInput:
    if isinstance(mapping, Enumerated):
        mapping = mapping.rows(partitions, owner)
    if isinstance(upstream, str):
        # A full key that nothing here has is another location's; only the control plane can tell.
        upstream = find(upstream, known, owner) if known.called(upstream) else Remote(AssetKey(upstream))
    if isinstance(upstream, Remote):
        scheme = partitions if isinstance(upstream.partitions, SameAsConsumer) else upstream.partitions
        chosen = mapping or default_mapping(partitions, scheme)
        return ResolvedInput(name, upstream.key, chosen, local=False, location=upstream.location)
    local = upstream if isinstance(upstream, AssetDef) else _known(upstream, known, owner)
    return ResolvedInput(name, local.key, mapping or default_mapping(partitions, local.partitions))


def _known(reference: HasKey, known: Known, owner: str) -> AssetDef:
    if reference.key not in known:
        raise UnknownAsset(
            f"{owner}: asset {reference.key!r} does not belong to this location",
            rule="an asset object stands for an asset of the same location",
            fix=f'write From("{reference.key}") or remote("{reference.key}") for one of another location',
        )
    return known[reference.key]


def _unreadable(one: ResolvedInput, upstream: AssetDef, owner: str) -> DefinitionError:
    why = "is external" if upstream.kind == "external" else "says io=None"
    return DefinitionError(
        f"{owner}: input {one.name!r} cannot be read: {upstream.key!r} {why}",
        rule="only what an IO manager stored is handed over as data",
        fix="list it in deps=[...], or annotate the parameter tuple[InputCell, ...]",
    )


def _names(param: str, reference: From | None, key: AssetKey) -> bool:
    if reference is None:
        return key == param or key.endswith(f"/{param}")
    upstream = reference.upstream
    return (upstream if isinstance(upstream, str) else upstream.key) == key
