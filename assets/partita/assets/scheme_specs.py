"""The wire forms of partition schemes and mappings, as a snapshot holds them.

Each says which it is (`kind` of a scheme, `type` of a mapping). Owns the form only: `spec_values.py` translates, and the values
themselves refuse what is illegal.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from partita.assets.partitions.definitions import DYNAMIC_CAP


class Spec(BaseModel):
    """Base of all snapshot models: frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class CalendarSpec(Spec):
    """Wire form of BusinessDays; holidays are ISO dates.

    >>> to_spec(Daily("2026-03-01", calendar=BusinessDays(holidays=["2026-12-25"]))).calendar
    CalendarSpec(weekdays=('mon', 'tue', 'wed', 'thu', 'fri'), holidays=('2026-12-25',))
    """

    weekdays: tuple[str, ...]
    holidays: tuple[str, ...] = ()


class TimeSpec(Spec):
    """Wire form of TimePartitions; start and end are ISO wall times of tz.

    >>> to_spec(Monthly("2026-01-01", tz="Europe/Berlin")).model_dump(include={"cron", "start", "tz"})
    {'cron': '0 0 1 * *', 'start': '2026-01-01T00:00', 'tz': 'Europe/Berlin'}
    """

    kind: Literal["time"] = "time"
    cron: str
    start: str
    end: str | None = None
    tz: str = "UTC"
    horizon: int = 0
    exclude: tuple[str, ...] = ()
    calendar: CalendarSpec | None = None


class StaticSpec(Spec):
    """Wire form of StaticPartitions.

    >>> print(canonical_json(to_spec(Static("EWR", "JFK"))).decode())
    {"keys":["EWR","JFK"],"kind":"static"}
    """

    kind: Literal["static"] = "static"
    keys: tuple[str, ...]


class DynamicSpec(Spec):
    """Wire form of DynamicPartitions.

    >>> print(canonical_json(to_spec(Dynamic("tenants", cap=100))).decode())
    {"cap":100,"kind":"dynamic","name":"tenants","ttl_s":null}
    """

    kind: Literal["dynamic"] = "dynamic"
    name: str
    cap: int = DYNAMIC_CAP
    ttl_s: float | None = None


SinglePartitionsSpec = Annotated[TimeSpec | StaticSpec | DynamicSpec, Field(discriminator="kind")]


class DimensionSpec(Spec):
    """One named dimension of a multi scheme.

    >>> from_spec(DimensionSpec(name="origin", partitions=to_spec(Static("EWR", "JFK"))).partitions)
    StaticPartitions(keys=('EWR', 'JFK'))
    """

    name: str
    partitions: SinglePartitionsSpec


class MultiSpec(Spec):
    """Wire form of MultiPartitions; the order of dimensions counts.

    >>> [one.name for one in to_spec(Multi(day=Daily("2026-03-01"), origin=Static("EWR"))).dims]
    ['day', 'origin']
    """

    kind: Literal["multi"] = "multi"
    dims: tuple[DimensionSpec, ...]


PartitionsSpec = Annotated[TimeSpec | StaticSpec | DynamicSpec | MultiSpec, Field(discriminator="kind")]
"""Wire form of every partition scheme, told apart by `kind`.

>>> AssetSpec(key="orders", partitions={"kind": "static", "keys": ["EWR"]}).partitions
StaticSpec(kind='static', keys=('EWR',))
"""


class IdentitySpec(Spec):
    """Wire form of Identity.

    >>> print(canonical_json(to_spec(Identity())).decode())
    {"type":"identity"}
    """

    type: Literal["identity"] = "identity"


class TimeOverlapSpec(Spec):
    """Wire form of TimeOverlap.

    >>> print(canonical_json(to_spec(TimeOverlap(-1, 0))).decode())
    {"edge":"require","offset_end":0,"offset_start":-1,"type":"time_overlap","unit":"downstream"}
    """

    type: Literal["time_overlap"] = "time_overlap"
    offset_start: int = 0
    offset_end: int = 0
    unit: Literal["downstream", "upstream"] = "downstream"
    edge: Literal["require", "clip"] = "require"


class RollingSpec(Spec):
    """Wire form of Rolling.

    >>> print(canonical_json(to_spec(Rolling(7, "days", edge="clip"))).decode())
    {"current":true,"edge":"clip","n":7,"type":"rolling","unit":"days"}
    """

    type: Literal["rolling"] = "rolling"
    n: int
    unit: Literal["hours", "days", "weeks", "months", "years"]
    edge: Literal["require", "clip"] = "require"
    current: bool = True


class AllSpec(Spec):
    """Wire form of All.

    >>> print(canonical_json(to_spec(All())).decode())
    {"type":"all"}
    """

    type: Literal["all"] = "all"


class LastSpec(Spec):
    """Wire form of Last.

    >>> print(canonical_json(to_spec(Last())).decode())
    {"type":"last"}
    """

    type: Literal["last"] = "last"


class SpecificSpec(Spec):
    """Wire form of Specific.

    >>> print(canonical_json(to_spec(Specific(("de",)))).decode())
    {"keys":["de"],"type":"specific"}
    """

    type: Literal["specific"] = "specific"
    keys: tuple[str, ...]


class StaticTableSpec(Spec):
    """Wire form of StaticTable: (downstream key, upstream keys).

    >>> print(canonical_json(to_spec(StaticTable((("east", ("EWR", "JFK")),)))).decode())
    {"table":[["east",["EWR","JFK"]]],"type":"static_table"}
    """

    type: Literal["static_table"] = "static_table"
    table: tuple[tuple[str, tuple[str, ...]], ...]


DimensionMappingSpec = Annotated[
    IdentitySpec | TimeOverlapSpec | RollingSpec | AllSpec | LastSpec | SpecificSpec | StaticTableSpec,
    Field(discriminator="type"),
]


class DimensionPairSpec(Spec):
    """Wire form of DimensionPair.

    >>> DimensionPairSpec(up="origin", down=None, mapping=AllSpec())
    DimensionPairSpec(up='origin', down=None, mapping=AllSpec(type='all'))
    """

    up: str
    down: str | None
    mapping: DimensionMappingSpec


class DimensionsSpec(Spec):
    """Wire form of Dimensions.

    >>> to_spec(Dimensions((DimensionPair("origin", None, All()),)))
    DimensionsSpec(type='dimensions', pairs=(DimensionPairSpec(up='origin', down=None, mapping=AllSpec(type='all')),))
    """

    type: Literal["dimensions"] = "dimensions"
    pairs: tuple[DimensionPairSpec, ...]


MappingSpec = Annotated[
    IdentitySpec | TimeOverlapSpec | RollingSpec | AllSpec | LastSpec | SpecificSpec | StaticTableSpec | DimensionsSpec,
    Field(discriminator="type"),
]
"""Wire form of every mapping, told apart by `type`.

>>> InputSpec(name="orders", upstream="orders", mapping={"type": "rolling", "n": 7, "unit": "days"}).mapping
RollingSpec(type='rolling', n=7, unit='days', edge='require', current=True)
"""
