"""Sorts what a step's function gave back by asset and partition.

Owns the shapes that a function may return or yield, and the errors about them. Refuses to store anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isgenerator
from typing import Any

from partita.assets import AssetKey, PartitaError, suggest
from partita.sdk.outcomes import Output, Skip
from partita.sdk.runtime_values import TargetCell


@dataclass(slots=True)
class Given:
    """What the function gave for one asset: one output for all cells, or outputs and skips by partition."""

    whole: Output[Any] | None = None
    by_partition: dict[str, Output[Any]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def output_of(self, partition: str) -> Output[Any]:
        """The output which covers a partition that was not skipped."""
        return self.whole if self.whole is not None else self.by_partition[partition]


Cells = Mapping[AssetKey, Sequence[TargetCell]]


def sort_outputs(
    returned: object, cells: Cells, owner: str, *, members: Sequence[AssetKey] = ()
) -> dict[AssetKey, Given]:
    """By asset; every cell is given or skipped. `members` are all assets of the step, of which some may not be asked for.

    Raises PartitaError for what fits no cell, or is missing.
    """
    found = {key: Given() for key in cells}
    group = max(len(cells), len(members)) > 1
    for one in _items(returned, cells, owner, group=group):
        if isinstance(one, Skip):
            _skip(one, found, cells, owner)
        else:
            _give(one, found, cells, owner, members)
    for key, given in found.items():
        _complete(key, given, cells[key], owner)
    return found


def _items(returned: object, cells: Cells, owner: str, *, group: bool) -> Iterable[Output[Any] | Skip]:
    if isinstance(returned, Output | Skip):
        return [returned]
    if isgenerator(returned) or (isinstance(returned, list | tuple) and _all_outputs(returned)):
        items = list(returned)
        for one in items:
            if not isinstance(one, Output | Skip):
                raise PartitaError(
                    f"{owner} yielded a {type(one).__name__}",
                    rule="a generator yields Output(value, partition=...) and Skip(reason, partition=...)",
                    fix="wrap the value in Output(...)",
                )
        return items
    if not group:
        return [Output(returned)]
    if isinstance(returned, Mapping):
        return [_named(name, value) for name, value in returned.items()]
    raise PartitaError(
        f"{owner} makes {len(cells)} assets and returned a {type(returned).__name__}",
        rule="a group returns a dict of key to value, or yields Output(value, asset=key)",
        fix=f"return {{{', '.join(f'{key!r}: ...' for key in cells)}}}",
    )


def _all_outputs(values: Sequence[object]) -> bool:
    return bool(values) and all(isinstance(one, Output | Skip) for one in values)


def _named(name: object, value: object) -> Output[Any]:
    if isinstance(value, Output):
        return Output(value.value, value.partition, str(name), value.data_version, value.metadata)
    return Output(value, asset=str(name))


def _give(
    one: Output[Any], found: dict[AssetKey, Given], cells: Cells, owner: str, members: Sequence[AssetKey]
) -> None:
    key = _asset(one.asset, cells, owner, members)
    given = found[key]
    if one.partition is None:
        if given.whole is not None or given.by_partition:
            raise PartitaError(
                f"{owner} gave {key!r} more than one value",
                rule="one Output without partition= covers all cells",
                fix="say partition= on each Output",
            )
        given.whole = one
        return
    if one.partition not in {cell.partition for cell in cells[key]}:
        if _elsewhere(one.partition, cells):
            return
        raise _no_cell(one.partition, cells[key], owner)
    if given.whole is not None or one.partition in given.by_partition or one.partition in given.skipped:
        raise PartitaError(f"{owner} gave {key!r} partition {one.partition!r} twice", rule="a cell has one value")
    given.by_partition[one.partition] = one


def _elsewhere(partition: str, cells: Cells) -> bool:
    """Whether the partition is asked of another member: a task keeps of each member what no other run makes already."""
    return any(cell.partition == partition for others in cells.values() for cell in others)


def _skip(one: Skip, found: dict[AssetKey, Given], cells: Cells, owner: str) -> None:
    for key, given in found.items():
        partitions = [cell.partition for cell in cells[key]]
        if one.partition is not None and one.partition not in partitions:
            if _elsewhere(one.partition, cells):
                continue
            raise _no_cell(one.partition, cells[key], owner)
        for partition in partitions if one.partition is None else [one.partition]:
            given.skipped[partition] = one.reason


def _complete(key: AssetKey, given: Given, cells: Sequence[TargetCell], owner: str) -> None:
    if given.whole is not None:
        return
    missing = [
        one.partition for one in cells if one.partition not in given.by_partition and one.partition not in given.skipped
    ]
    if missing:
        shown = f"partition {missing[0]!r}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        raise PartitaError(
            f"{owner} gave nothing for {key!r}" + (f" {shown}" if missing != [""] else ""),
            rule="every cell of the task is given or skipped",
            fix="yield Output(value, partition=key) or Skip(reason, partition=key) for it",
        )


def _asset(name: str | None, cells: Cells, owner: str, members: Sequence[AssetKey]) -> AssetKey:
    if name is None:
        if len(cells) == 1:
            return next(iter(cells))
        raise PartitaError(
            f"{owner} gave an Output without asset=", rule=f"it makes {', '.join(cells)}", fix="say which"
        )
    matching = [key for key in cells if key == name] or [key for key in cells if key.endswith(f"/{name}")]
    if len(matching) == 1:
        return matching[0]
    raise PartitaError(
        f"{owner} gave {name!r}, which it was not asked for",
        rule=f"this attempt makes {', '.join(cells)}",
        fix="give the members that context.assets lists, and no others"
        if any(key == name or key.endswith(f"/{name}") for key in members)
        else suggest(name, cells),
    )


def _no_cell(partition: str, cells: Sequence[TargetCell], owner: str) -> PartitaError:
    known = [cell.partition for cell in cells]
    return PartitaError(
        f"{owner} gave partition {partition!r}, which is not of this task",
        rule=f"its partitions are {', '.join(repr(one) for one in known[:3])}{' ...' if len(known) > 3 else ''}",
        fix=suggest(partition, known) or "use context.partition.key or the keys in context.partitions",
    )
