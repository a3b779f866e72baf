"""Between domain values (partition definitions, mappings) and their snapshot models, both ways.

`from_spec(to_spec(value)) == value` for every value. Owns the translation only; validation is the values' own.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never, overload

from partita.assets import scheme_specs as specs
from partita.assets.mappings import definitions as mappings
from partita.assets.partitions.business import BusinessDays
from partita.assets.partitions.definitions import (
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    SinglePartitions,
    StaticPartitions,
    TimePartitions,
)

SingleSpec = specs.TimeSpec | specs.StaticSpec | specs.DynamicSpec
AnyPartitionsSpec = SingleSpec | specs.MultiSpec
DimensionMappingSpec = (
    specs.IdentitySpec
    | specs.TimeOverlapSpec
    | specs.RollingSpec
    | specs.AllSpec
    | specs.LastSpec
    | specs.SpecificSpec
    | specs.StaticTableSpec
)
AnyMappingSpec = DimensionMappingSpec | specs.DimensionsSpec


@overload
def to_spec(value: None) -> None: ...
@overload
def to_spec(value: PartitionsDef) -> AnyPartitionsSpec: ...
@overload
def to_spec(value: mappings.Mapping) -> AnyMappingSpec: ...
def to_spec(value: PartitionsDef | mappings.Mapping | None) -> AnyPartitionsSpec | AnyMappingSpec | None:
    """The snapshot model of a partition definition or a mapping; None (unpartitioned) stays None.

    >>> to_spec(Daily("2026-03-01", tz="Europe/Berlin")).start
    '2026-03-01T00:00'
    >>> to_spec(TimeOverlap(-1, 0))
    TimeOverlapSpec(type='time_overlap', offset_start=-1, offset_end=0, unit='downstream', edge='require')
    """
    if value is None:
        return None
    if isinstance(value, MultiPartitions):
        dims = tuple(specs.DimensionSpec(name=name, partitions=_single_to(inner)) for name, inner in value)
        return specs.MultiSpec(dims=dims)
    if isinstance(value, TimePartitions | StaticPartitions | DynamicPartitions):
        return _single_to(value)
    return mapping_to_spec(value)


@overload
def from_spec(spec: None) -> None: ...
@overload
def from_spec(spec: AnyPartitionsSpec) -> PartitionsDef: ...
@overload
def from_spec(spec: AnyMappingSpec) -> mappings.Mapping: ...
def from_spec(spec: AnyPartitionsSpec | AnyMappingSpec | None) -> PartitionsDef | mappings.Mapping | None:
    """The domain value of a snapshot model; raises DefinitionError when the model says something illegal.

    >>> from_spec(StaticSpec(keys=["EWR", "JFK"]))
    StaticPartitions(keys=('EWR', 'JFK'))
    >>> from_spec(TimeSpec(cron="0 0 * * *", start="2026-03-01", tz="Mars/Base"))
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: time zone 'Mars/Base' is not known; ...
    """
    if spec is None:
        return None
    if isinstance(spec, specs.MultiSpec):
        return MultiPartitions(tuple((dim.name, _single_from(dim.partitions)) for dim in spec.dims))
    if isinstance(spec, specs.TimeSpec | specs.StaticSpec | specs.DynamicSpec):
        return _single_from(spec)
    return mapping_from_spec(spec)


def mapping_to_spec(value: mappings.Mapping) -> AnyMappingSpec:
    """The snapshot model of a mapping.

    >>> mapping_to_spec(Specific(("de", "fr")))
    SpecificSpec(type='specific', keys=('de', 'fr'))
    """
    if isinstance(value, mappings.Dimensions):
        pairs = tuple(
            specs.DimensionPairSpec(up=pair.up, down=pair.down, mapping=_dimension_to(pair.mapping))
            for pair in value.pairs
        )
        return specs.DimensionsSpec(pairs=pairs)
    return _dimension_to(value)


def mapping_from_spec(spec: AnyMappingSpec) -> mappings.Mapping:
    """The mapping of a snapshot model.

    >>> mapping_from_spec(RollingSpec(n=7, unit="days"))
    Rolling(n=7, unit='days', edge='require', current=True)
    """
    if isinstance(spec, specs.DimensionsSpec):
        pairs = tuple(mappings.DimensionPair(one.up, one.down, _dimension_from(one.mapping)) for one in spec.pairs)
        return mappings.Dimensions(pairs)
    return _dimension_from(spec)


def _single_to(value: SinglePartitions) -> SingleSpec:
    if isinstance(value, TimePartitions):
        end = None if value.end is None else _wall_text(value.end)
        return specs.TimeSpec(
            cron=value.cron,
            start=_wall_text(value.start),
            end=end,
            tz=value.tz,
            horizon=value.horizon,
            exclude=value.exclude,
            calendar=_calendar_to(value.calendar),
        )
    if isinstance(value, StaticPartitions):
        return specs.StaticSpec(keys=value.keys)
    if isinstance(value, DynamicPartitions):
        return specs.DynamicSpec(name=value.name, cap=value.cap, ttl_s=value.ttl_s)
    assert_never(value)


def _single_from(spec: SingleSpec) -> SinglePartitions:
    if isinstance(spec, specs.TimeSpec):
        end = None if spec.end is None else datetime.fromisoformat(spec.end)
        calendar = None if spec.calendar is None else BusinessDays(spec.calendar.weekdays, spec.calendar.holidays)
        start = datetime.fromisoformat(spec.start)
        return TimePartitions(spec.cron, start, end, spec.tz, spec.horizon, spec.exclude, calendar)
    if isinstance(spec, specs.StaticSpec):
        return StaticPartitions(spec.keys)
    if isinstance(spec, specs.DynamicSpec):
        return DynamicPartitions(spec.name, spec.cap, spec.ttl_s)
    assert_never(spec)


def _dimension_to(value: mappings.DimensionMapping) -> DimensionMappingSpec:
    match value:
        case mappings.Identity():
            return specs.IdentitySpec()
        case mappings.TimeOverlap(offset_start, offset_end, unit, edge):
            return specs.TimeOverlapSpec(offset_start=offset_start, offset_end=offset_end, unit=unit, edge=edge)
        case mappings.Rolling(n, span, edge, current):
            return specs.RollingSpec(n=n, unit=span, edge=edge, current=current)
        case mappings.All():
            return specs.AllSpec()
        case mappings.Last():
            return specs.LastSpec()
        case mappings.Specific(keys):
            return specs.SpecificSpec(keys=keys)
        case mappings.StaticTable():
            return specs.StaticTableSpec(table=value.table)
    assert_never(value)


def _dimension_from(spec: DimensionMappingSpec) -> mappings.DimensionMapping:
    match spec:
        case specs.IdentitySpec():
            return mappings.Identity()
        case specs.TimeOverlapSpec():
            return mappings.TimeOverlap(spec.offset_start, spec.offset_end, spec.unit, spec.edge)
        case specs.RollingSpec():
            return mappings.Rolling(spec.n, spec.unit, spec.edge, spec.current)
        case specs.AllSpec():
            return mappings.All()
        case specs.LastSpec():
            return mappings.Last()
        case specs.SpecificSpec():
            return mappings.Specific(spec.keys)
        case specs.StaticTableSpec():
            return mappings.StaticTable(spec.table)
    assert_never(spec)


def _calendar_to(calendar: BusinessDays | None) -> specs.CalendarSpec | None:
    if calendar is None:
        return None
    return specs.CalendarSpec(weekdays=calendar.weekdays, holidays=tuple(day.isoformat() for day in calendar.holidays))


def _wall_text(wall: datetime) -> str:
    precise = wall.second or wall.microsecond
    return wall.isoformat() if precise else wall.isoformat(timespec="minutes")
