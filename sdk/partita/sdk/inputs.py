"""What an attempt is given: its partitions as user code sees them, and the values of its inputs.

Owns the translation of a request. Refuses to decide what is read: the request says which cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin
from zoneinfo import ZoneInfo

from partita.assets import AssetKey, MultiPartitions, PartitaError, PartitionsDef, TimePartitions, split_key
from partita.sdk.context import Partition, TimeSpan
from partita.sdk.io.base import IOManager, ReadContext
from partita.sdk.io.registry import BUILT_IN_SCHEMES, reader_of
from partita.sdk.runtime_values import InputBinding, InputCell, StepRequest, TargetCell

Managers = Mapping[str, IOManager]


def cells_of(request: StepRequest) -> dict[AssetKey, tuple[TargetCell, ...]]:
    """The cells of a request by asset, both in the order given."""
    found: dict[AssetKey, list[TargetCell]] = {}
    for cell in request.cells:
        found.setdefault(AssetKey(cell.asset), []).append(cell)
    if not found:
        raise PartitaError(
            f"attempt {request.attempt_id} of {request.step!r} has no cells", rule="it makes one or more"
        )
    return {key: tuple(cells) for key, cells in found.items()}


def partitions_of(cells: Sequence[TargetCell], definition: PartitionsDef | None) -> list[Partition]:
    """Cells as user code sees them: windows in the zone of the asset, keys by dimension."""
    names = [name for name, _ in definition.dims] if isinstance(definition, MultiPartitions) else []
    zone = ZoneInfo(_zone_of(definition))
    found = []
    for cell in cells:
        window = cell.window
        span = None if window is None else TimeSpan(window[0].astimezone(zone), window[1].astimezone(zone))
        keys = split_key(cell.partition) or () if names else ()
        found.append(Partition(cell.partition, span, dict(zip(names, keys, strict=True))))
    return found


def read_input(binding: InputBinding, annotation: Any, managers: Managers, reader: str) -> Any:
    """The value of one input. Raises PartitaError when nothing here can read its cells."""
    if wants_cells(annotation):
        return binding.cells
    annotation, optional = _without_none(annotation)
    if optional and not binding.cells:
        return None
    key = AssetKey(binding.upstream)
    groups: dict[IOManager, list[InputCell]] = {}
    for cell in binding.cells:
        groups.setdefault(_manager(binding, cell, managers, reader), []).append(cell)
    if not groups:
        raise PartitaError(
            f"{reader}: {key!r} has no partition to read here, so its columns are not known",
            rule="an input holds one published partition or more",
            fix="change the mapping, materialize the upstream, or annotate the parameter `... | None`",
        )
    if len(groups) == 1:
        manager, cells = groups.popitem()
        return manager.read(ReadContext(key, tuple(cells), annotation, reader))
    return _read_mixed(key, groups, annotation, reader)


def wants_cells(annotation: Any) -> bool:
    """Whether a step asks for the facts about the cells, not for their data: tuple[InputCell, ...]."""
    return bool(annotation == tuple[InputCell, ...])


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """`Relation | None` as (Relation, True)."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    others = [one for one in members if one is not NoneType]
    return (others[0], True) if len(others) == 1 and len(others) < len(members) else (annotation, False)


def _manager(binding: InputBinding, cell: InputCell, managers: Managers, reader: str) -> IOManager:
    if not cell.location:
        raise PartitaError(
            f"{reader}: {binding.upstream!r} is not stored by an IO manager",
            rule="an external asset, or one with io=None, can be waited for but not read",
            fix="list it in deps=[...], or annotate the parameter tuple[InputCell, ...]",
        )
    if binding.io in managers and cell.location.partition(":")[0] not in BUILT_IN_SCHEMES:
        return managers[binding.io]
    return reader_of(cell.location, reader=reader)


def _read_mixed(key: AssetKey, groups: Mapping[IOManager, Sequence[InputCell]], annotation: Any, reader: str) -> Any:
    """Cells that different managers wrote, because the asset's io= changed: their rows together."""
    from partita.sdk.io.convert import from_relation
    from partita.sdk.relation import Relation

    parts = [manager.read(ReadContext(key, tuple(cells), Relation, reader)) for manager, cells in groups.items()]
    named = {f"part{number}": part for number, part in enumerate(parts)}
    query = " union all by name ".join(f"from {name}" for name in named)
    return from_relation(Relation.from_sql(query, **named), annotation, reader)


def _zone_of(definition: PartitionsDef | None) -> str:
    schemes = [one for _, one in definition.dims] if isinstance(definition, MultiPartitions) else [definition]
    return next((one.tz for one in schemes if isinstance(one, TimePartitions)), "UTC")
