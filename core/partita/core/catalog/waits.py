"""What a step waits for, for the partitions of one task: texts filled in, and cells found for what waits for an asset.

Pure over a catalog. Refuses an asset that no active definition has, with the nearest key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from partita.assets import MultiPartitions, PartitaError, TimePartitions, split_key, suggest
from partita.assets.wait_specs import CELL_TRIGGER, WaitSpec, fill, fill_known
from partita.core.catalog.catalog import Catalog
from partita.core.duties.values import LaunchCell, LaunchWait
from partita.core.store.values import CellRef

Names = Mapping[str, str | datetime]


class UnknownWait(PartitaError):
    """A step waits for an asset that nobody defines."""


def launch_waits(
    specs: Iterable[WaitSpec], cells: Iterable[LaunchCell], scheme: Any, catalog: Catalog
) -> Iterator[LaunchWait]:
    """One for each trigger and partition of the task; those that come out the same are one."""
    listed = list(specs)
    if not listed:
        return
    partitions = {cell.cell.partition: cell for cell in cells}
    seen: set[tuple[str, str]] = set()
    for spec in listed:
        for cell in partitions.values():
            names = names_of_cell(cell, scheme)
            args = fill(spec.args, names)
            if (key := (spec.trigger, repr(args))) in seen:
                continue
            seen.add(key)
            wait = LaunchWait(spec.trigger, args, fill_known(spec.label, names), spec.deadline_s, spec.poll_s)
            yield with_cell(wait, catalog)


def with_cell(wait: LaunchWait, catalog: Catalog) -> LaunchWait:
    """The wait with the cell that it is for, where it is for one."""
    found = cell_of(wait.trigger, wait.args, catalog)
    return wait if found is None else replace(wait, cell=found, newer=bool(wait.args.get("newer")))


def cell_of(trigger: str, args: Mapping[str, Any], catalog: Catalog) -> CellRef | None:
    """The cell that a trigger is for; None for one that a code location watches. Raises UnknownWait."""
    if trigger != CELL_TRIGGER:
        return None
    key = str(args.get("asset", ""))
    found = catalog.assets.get(key)  # type: ignore[call-overload]
    if found is None:
        raise UnknownWait(
            f"it waits for asset {key!r}, which is not defined",
            rule="AssetMaterialized names the full key of an asset of any active location",
            fix=suggest(key, list(catalog.assets)),
        )
    return CellRef(found.id, str(args.get("partition", "")))


def names_of_cell(cell: LaunchCell, scheme: Any) -> Names:
    """What the texts of a trigger may name, as user code would see it: windows in the zone of the asset."""
    dims = dict(scheme.dims) if isinstance(scheme, MultiPartitions) else {}
    timed = next((one for one in (scheme, *dims.values()) if isinstance(one, TimePartitions)), None)
    keys = dict(zip(dims, split_key(cell.cell.partition) or (), strict=True)) if dims else {}
    span: dict[str, datetime] = {}
    if cell.window is not None and timed is not None:
        zone = ZoneInfo(timed.tz)
        span = {"start": cell.window[0].astimezone(zone), "end": cell.window[1].astimezone(zone)}
    return {"partition": cell.cell.partition, **keys, **span}
