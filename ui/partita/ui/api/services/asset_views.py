"""From definitions to the contract's models: partitions, mappings, batches, neighbours. Pure: a catalog in, models out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import prod

import numpy as np
import numpy.typing as npt

from partita.assets import (
    AssetKey,
    DynamicPartitions,
    MappingSpec,
    MultiPartitions,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    StaticPartitions,
    TimePartitions,
    next_fires,
)
from partita.assets.partitions.grammar import STATUS_WORDS
from partita.assets.partitions.multi import ProductSpace
from partita.assets.scheme_specs import DimensionPairSpec
from partita.assets.specs import BatchSpec, CheckSpec
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.cells import STATES
from partita.core.cells.held import Codes
from partita.core.planner import range_text
from partita.ui.api.models import DimensionView, Neighbour, PartitionsView
from partita.ui.api.models.base import Cadence, PartitionsKind

_KEYS_SHOWN = 200
_RUNS_SHOWN = 6
_WORD = re.compile(rf"all|latest(\s+\d+)?|{'|'.join(STATUS_WORDS)}", re.IGNORECASE)
"""Keys that the grammar would read as one of its words."""
_FRESH = STATES.index("fresh")
_CADENCES: tuple[tuple[Cadence, re.Pattern[str]], ...] = (
    ("hour", re.compile(r"\d+ \* \* \* \*")),
    ("day", re.compile(r"\d+ \d+ \* \* \*")),
    ("week", re.compile(r"\d+ \d+ \* \* \d")),
    ("month", re.compile(r"\d+ \d+ \d+ \* \*")),
)


def kind_of(definition: PartitionsDef | None) -> PartitionsKind:
    match definition:
        case None:
            return "none"
        case TimePartitions():
            return "time"
        case StaticPartitions():
            return "static"
        case DynamicPartitions():
            return "dynamic"
        case MultiPartitions():
            return "multi"


def time_of(definition: PartitionsDef | None) -> TimePartitions | None:
    """The time scheme of an asset: its own, or that of its first time dimension."""
    if isinstance(definition, MultiPartitions):
        return next((inner for _, inner in definition if isinstance(inner, TimePartitions)), None)
    return definition if isinstance(definition, TimePartitions) else None


def cadence_of(definition: PartitionsDef | None) -> Cadence | None:
    time = time_of(definition)
    if time is None:
        return None
    return next((name for name, shape in _CADENCES if shape.fullmatch(time.cron)), "other")


def zone_of(definition: PartitionsDef | None) -> str | None:
    time = time_of(definition)
    return None if time is None else time.tz


def next_due(definition: PartitionsDef | None, at: datetime) -> datetime | None:
    """When the next window comes into being; None without time, or when all windows exist."""
    time = time_of(definition)
    if time is None:
        return None
    fires = next_fires(time.cron, time.tz, at)
    if not fires or (time.end is not None and _wall(fires[0], time.tz) > time.end):
        return None
    return fires[0]


def _wall(instant: datetime, tz: str) -> datetime:
    from zoneinfo import ZoneInfo

    return instant.astimezone(ZoneInfo(tz)).replace(tzinfo=None)


def fresh_to(space: PartitionSpace, codes: Codes) -> str | None:
    """The last key of the first unbroken run of fresh partitions along time; None without time or without fresh ones."""
    axis, along = _along_time(space, codes)
    if axis is None or along is None or not along.any():
        return None
    first = int(along.argmax())
    rest = along[first:]
    run = len(rest) if rest.all() else int(rest.argmin())
    return axis.key_at(first + run - 1)


def _along_time(space: PartitionSpace, codes: Codes) -> tuple[PartitionSpace | None, npt.NDArray[np.bool_] | None]:
    fresh = codes == _FRESH
    if isinstance(space.definition, TimePartitions):
        return space, fresh
    if isinstance(space, ProductSpace) and space.time_dim is not None:
        others = tuple(at for at in range(len(space.sizes)) if at != space.time_dim)
        return space.parts[space.time_dim], fresh.reshape(space.sizes).all(axis=others)
    return None, None


def partitions_view(definition: PartitionsDef | None, space: PartitionSpace) -> PartitionsView:
    time = time_of(definition)
    dims: list[DimensionView] = []
    if isinstance(space, ProductSpace):
        dims = [
            _dimension(name, inner, part) for (name, inner), part in zip(space.definition, space.parts, strict=True)
        ]
    elif definition is not None:
        dims = [_dimension("partition", definition, space)]
    return PartitionsView(
        kind=kind_of(definition),
        cadence=cadence_of(definition),
        tz=zone_of(definition),
        start=None if time is None else time.start.isoformat(),
        end=None if time is None or time.end is None else time.end.isoformat(),
        dims=dims,
    )


def _dimension(name: str, definition: PartitionsDef, space: PartitionSpace) -> DimensionView:
    listed = not isinstance(definition, TimePartitions) and space.size <= _KEYS_SHOWN
    return DimensionView(
        name=name,
        kind=kind_of(definition),
        keys=[str(key) for key in space.keys(space.all())] if listed else None,
        size=space.size,
        scheme=definition.name if isinstance(definition, DynamicPartitions) else None,
    )


def neighbours(catalog: Catalog, asset: CatalogAsset) -> tuple[list[Neighbour], list[Neighbour]]:
    """(upstream, downstream) of an asset."""
    above = [
        Neighbour(key=one.upstream, input=one.name, mapping=mapping_text(one.spec.mapping)) for one in asset.inputs
    ]
    below = [
        Neighbour(key=consumer.key, input=one.name, mapping=mapping_text(one.spec.mapping))
        for consumer, one in catalog.consumers.get(asset.key, ())
    ]
    return above, sorted(below, key=lambda one: (one.key, one.input))


def mapping_text(spec: MappingSpec) -> str:
    """A mapping in a few words."""
    match spec.type:
        case "identity":
            return "same partition"
        case "all":
            return "all partitions"
        case "last":
            return "last partition"
        case "specific":
            return f"partitions {', '.join(spec.keys[:3])}" + (" …" if len(spec.keys) > 3 else "")
        case "static_table":
            return "by table"
        case "time_overlap":
            shift = (spec.offset_start, spec.offset_end)
            unit = " upstream windows" if spec.unit == "upstream" else ""
            return (
                "overlapping time"
                if shift == (0, 0)
                else f"overlapping time, shifted {shift[0]:+d}..{shift[1]:+d}{unit}"
            )
        case "rolling":
            unit = spec.unit.removesuffix("s") if spec.n == 1 else spec.unit
            return f"the last {spec.n} {unit}" + ("" if spec.current else " without its own")
        case "dimensions":
            return "; ".join(_pair_text(pair) for pair in spec.pairs)


def _pair_text(pair: DimensionPairSpec) -> str:
    """`origin: all partitions`; an upstream or a consumer without dimensions has no name to tell."""
    text = mapping_text(pair.mapping) + (f" of {pair.down}" if pair.down and pair.down != pair.up else "")
    return f"{pair.up}: {text}" if pair.up else text


def batch_text(spec: BatchSpec) -> str:
    match spec.type:
        case "single":
            return "one partition a task"
        case "up_to":
            return f"up to {spec.n} partitions a task"
        case "any":
            return "any number of partitions a task"
        case "per":
            return "one task per " + ", ".join(f"{name} {size}" for name, size in spec.dims.items())


def ranges_text(space: PartitionSpace, chosen: PartitionSet) -> str:
    """A set as the selection grammar writes it, so that the text selects the set again; shortened when it has many runs."""
    if space.definition is None:
        return "all" if chosen else ""
    if len(chosen) == space.size and space.size:
        return "all"
    box = _box_text(space, chosen) if isinstance(space, ProductSpace) and chosen else None
    return box if box is not None else _runs_text(space, chosen)


def selection_text(space: PartitionSpace, chosen: PartitionSet) -> str:
    """As `ranges_text`, but never shortened: it selects just this set, however many runs it has."""
    if space.definition is None or (len(chosen) == space.size and space.size):
        return "all"
    if not isinstance(space, ProductSpace):
        return ", ".join(_run_text(space, lo, hi) for lo, hi in chosen.ranges)
    box = _box_text(space, chosen) if chosen else None
    return box or ", ".join(json.dumps(space.key_at(at), ensure_ascii=False) for at in chosen)


def _runs_text(space: PartitionSpace, chosen: PartitionSet) -> str:
    parts = [_run_text(space, lo, hi) for lo, hi in chosen.ranges[:_RUNS_SHOWN]]
    more = chosen.runs - len(parts)
    return ", ".join(parts) + (f", and {more} more" if more > 0 else "")


def _run_text(space: PartitionSpace, lo: int, hi: int) -> str:
    if isinstance(space.definition, TimePartitions):
        return range_text(space, lo, hi)
    first = quoted(space.key_at(lo))
    return first if hi == lo + 1 else f"{first}..{quoted(space.key_at(hi - 1))}"


def _box_text(space: ProductSpace, chosen: PartitionSet) -> str | None:
    """`dim=...; dim=...` when the set is a product of choices per dimension."""
    mask = np.zeros(space.size, dtype=np.bool_)
    for lo, hi in chosen.ranges:
        mask[lo:hi] = True
    cube = mask.reshape(space.sizes)
    sides = []
    for at in range(len(space.sizes)):
        others = tuple(other for other in range(len(space.sizes)) if other != at)
        sides.append(PartitionSet.from_ordinals(int(one) for one in np.flatnonzero(cube.any(axis=others))))
    if prod(len(side) for side in sides) != len(chosen):
        return None
    clauses = [
        f"{name}={_runs_text(part, side)}"
        for name, part, side in zip(space.dims, space.parts, sides, strict=True)
        if len(side) < part.size
    ]
    return "; ".join(clauses)


def quoted(key: str) -> str:
    """A key as it may stand in a selection: quoted when the grammar would read it otherwise."""
    plain = not re.search(r'[",;=\[]|\.\.|^\.|\.$', key) and not _WORD.fullmatch(key)
    return key if plain else json.dumps(key, ensure_ascii=False)


def checks_of(catalog: Catalog, asset: CatalogAsset) -> list[CheckSpec]:
    """The checks of an asset, from any location."""
    return [check for stored in catalog.snapshots for check in stored.snapshot.checks if check.asset == asset.key]


def load_errors(modules: Mapping[str, Iterable[Mapping[str, object]]], catalog: Catalog) -> dict[AssetKey, str]:
    """Per asset that stands on its last good definition: why its module does not load. `modules` are the rows by location."""
    found: dict[AssetKey, str] = {}
    for stored in catalog.snapshots:
        broken = [one for one in modules.get(stored.location, ()) if not one.get("ok", True)]
        for key in stored.kept:
            source = catalog.assets[key].spec.source
            told = next(
                (one for one in broken if source is not None and _inside(source.module, str(one.get("name")))), None
            )
            error = str((told or {}).get("error") or "its module does not load").strip()
            found[key] = error.rpartition("\n")[2] or error
    return found


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
