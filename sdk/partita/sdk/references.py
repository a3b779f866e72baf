"""How user code points at upstream assets: `From`, `remote`, and the mapping words.

Owns the written references, unresolved. What they mean within a location is decided in `resolve`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from partita.assets import (
    All,
    AssetKey,
    DefinitionError,
    DimensionPair,
    Dimensions,
    DynamicPartitions,
    Identity,
    Last,
    Mapping,
    PartitionsDef,
    Rolling,
    Specific,
    StaticTable,
    TimeOverlap,
    TimePartitions,
    asset_key,
    join_key,
    space_of,
)
from partita.assets.mappings.definitions import Unit, dims_of
from partita.sdk.policies import AllOf


@runtime_checkable
class HasKey(Protocol):
    """Anything that stands for one asset: a decorated function, an external asset."""

    @property
    def key(self) -> AssetKey: ...


class SameAsConsumer:
    """The default of `remote(partitions=)`: the upstream is partitioned like the asset which reads it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "same as the consumer"


SAME: Final = SameAsConsumer()


@dataclass(frozen=True, slots=True)
class Remote:
    """An asset of another code location. `location` None: whichever location defines the key."""

    key: AssetKey
    location: str | None = None
    partitions: PartitionsDef | SameAsConsumer | None = SAME


def remote(
    key: str,
    *,
    location: str | None = None,
    partitions: PartitionsDef | SameAsConsumer | None = SAME,
) -> Remote:
    """An asset of another code location, which this one cannot import.

    `partitions` is its scheme, which decides the default mapping (None: unpartitioned). Left out, the upstream is taken
    to be partitioned like the asset that reads it.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def report(orders: Annotated[Relation, From(remote("shop/orders", partitions=Hourly("2026-03-01")))]) -> Relation: ...
    >>> remote("shop/orders", location="shop").key
    'shop/orders'
    """
    return Remote(asset_key(key), location, partitions)


Upstream = str | HasKey | Remote
MappingWord: TypeAlias = "Mapping | AllOf | Enumerated"


@dataclass(frozen=True, slots=True, init=False)
class From:
    """In `Annotated[Relation, From(...)]`: which asset a parameter reads, and which of its partitions.

    `upstream` is a decorated function, an external asset, a full key ("raw/orders", also of another location) or
    `remote(...)`. `mapping` replaces the default mapping between the two partition schemes.

    >>> from typing import Annotated
    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders() -> Relation: ...
    >>> @asset(partitions=Daily("2026-03-01"))
    ... def trend(orders: Annotated[Relation, From(orders, rolling(days=7, edge="clip"))]) -> Relation: ...
    >>> From("raw/orders").upstream
    'raw/orders'
    >>> From(7)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: From(7); From takes an asset, a key as text, or remote(...); name the asset
    """

    upstream: Upstream
    mapping: Mapping | Enumerated | None

    def __init__(self, upstream: Upstream, mapping: MappingWord | None = None) -> None:
        if not isinstance(upstream, str | Remote | HasKey):
            raise DefinitionError(
                f"From({upstream!r})", rule="From takes an asset, a key as text, or remote(...)", fix="name the asset"
            )
        object.__setattr__(self, "upstream", asset_key(upstream) if isinstance(upstream, str) else upstream)
        object.__setattr__(self, "mapping", mapping_of(mapping))


def mapping_of(word: MappingWord | None) -> Mapping | Enumerated | None:
    """A mapping written as a value or as the bare word `all_`."""
    return word() if isinstance(word, AllOf) else word


def same() -> Identity:
    """The upstream partition of the same key; a key that the upstream has not is needed and absent.

    >>> same()
    Identity()
    """
    return Identity()


def last() -> Last:
    """The newest upstream partition that exists, whatever the own partition; of a multi scheme the newest window with all
    its other keys.

    >>> From("rates", last()).mapping
    Last()
    """
    return Last()


def overlap(
    start: int = 0,
    end: int = 0,
    *,
    unit: Literal["downstream", "upstream"] = "downstream",
    edge: Literal["require", "clip"] = "require",
) -> TimeOverlap:
    """The upstream windows that overlap the own window, widened by offsets.

    Offsets count own partitions, `overlap(-1, 0)`, or upstream windows: from days to months `overlap(-1, -1,
    unit="upstream")` is the month before. `edge="clip"`: windows before the upstream's start are not needed.

    >>> overlap(-1, 0).offset_start
    -1
    >>> overlap(-1, -1, unit="upstream", edge="clip")
    TimeOverlap(offset_start=-1, offset_end=-1, unit='upstream', edge='clip')
    >>> overlap(1, 0)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: offset_start 1 is after offset_end 0; the window begins ...
    """
    return TimeOverlap(start, end, unit, edge)


def rolling(
    windows: int | None = None,
    *,
    hours: int | None = None,
    days: int | None = None,
    weeks: int | None = None,
    months: int | None = None,
    years: int | None = None,
    edge: Literal["require", "clip"] = "require",
) -> TimeOverlap | Rolling:
    """The upstream of the last so many windows or units of time up to the end of the own window, which is included.

    `rolling(7)` is the own partition and the six before it; `rolling(days=7)` the seven local days that end with it, whatever
    the cadences; hours are real time. Windows before the upstream's start are required and absent, unless `edge="clip"`.
    On the asset itself the own partition is left out and the edge clipped.

    >>> rolling(7)
    TimeOverlap(offset_start=-6, offset_end=0, unit='downstream', edge='require')
    >>> rolling(days=7, edge="clip")
    Rolling(n=7, unit='days', edge='clip', current=True)
    >>> rolling(days=7, weeks=1)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: rolling() needs one length; ...; for example rolling(7) or rolling(days=7)
    """
    units: dict[Unit, int | None] = {"hours": hours, "days": days, "weeks": weeks, "months": months, "years": years}
    given = [(unit, n) for unit, n in units.items() if n is not None]
    if len(given) + (windows is not None) != 1:
        raise DefinitionError(
            "rolling() needs one length", rule="a number of own windows, or one of hours, days, weeks, months, years",
            fix="for example rolling(7) or rolling(days=7)",
        )  # fmt: skip
    if windows is None:
        unit, n = given[0]
        return Rolling(n, unit, edge)
    if windows < 1:
        raise DefinitionError(f"rolling({windows})", rule="a rolling window is one or more windows long")
    return TimeOverlap(1 - windows, 0, "downstream", edge)


def specific(*keys: str) -> Specific:
    """These upstream keys, whatever the own partition. Raises DefinitionError when none is given.

    >>> From("holidays", specific("de", "fr")).mapping
    Specific(keys=('de', 'fr'))
    """
    return Specific(keys)


Key = str | Sequence[str]
"""A key; of a combination its parts in the order of the dimensions."""


def table(rows: Table[str, str | Sequence[str]]) -> StaticTable:
    """Own key to upstream key or keys; an own key without an entry needs nothing. Both sides are stored keys. Raises
    DefinitionError.

    >>> regions = table({"east": ["EWR", "JFK"], "west": "SFO"})
    >>> regions.needs["west"], regions.touches["JFK"]
    (('SFO',), ('east',))
    """
    return StaticTable(tuple((down, (ups,) if isinstance(ups, str) else tuple(ups)) for down, ups in rows.items()))


@dataclass(frozen=True, slots=True)
class Enumerated:
    """A mapping that a function of the location gives, key by key, when the location is loaded."""

    function: Callable[[str], Iterable[Key]]

    def rows(self, partitions: PartitionsDef | None, owner: str) -> StaticTable:
        """The table over all keys of the own scheme; raises DefinitionError when these are not known at load."""
        keys = _known_keys(partitions, owner)
        return StaticTable(tuple((key, self._needs(key, owner)) for key in keys))

    def _needs(self, key: str, owner: str) -> tuple[str, ...]:
        try:
            found = self.function(key)
        except Exception as failed:
            raise DefinitionError(
                f"{owner}: the mapping function failed for partition {key!r}: {type(failed).__name__}: {failed}",
                rule="it is called with each own key when the location is loaded",
            ) from failed
        ups = [found] if isinstance(found, str) else list(found)
        return tuple(one if isinstance(one, str) else join_key(one) for one in ups)


def enumerated(function: Callable[[str], Iterable[Key]]) -> Enumerated:
    """Which upstream keys an own key needs, by a function: called here for every own key, and shipped as data.

    For own schemes whose keys are known when the location is loaded: static ones, times with an `end=`, and products of
    these. `function` is given the stored key; of a combination that is a JSON array. A part of an upstream combination is
    given as a tuple of keys.

    >>> by_country = enumerated(lambda city: {"Paris": ["fr"], "Berlin": ["de", "at"]}[city])
    >>> by_country.rows(Static("Paris", "Berlin"), "asset 'taxes'").needs["Berlin"]
    ('de', 'at')
    """
    return Enumerated(function)


_ENUMERATED_ROWS = 100_000
_AFTER_ALL = datetime(9000, 1, 1, tzinfo=UTC)


def _known_keys(partitions: PartitionsDef | None, owner: str) -> Sequence[str]:
    for name, scheme in dims_of(partitions):
        if isinstance(scheme, DynamicPartitions) or (isinstance(scheme, TimePartitions) and scheme.end is None):
            what = f"dimension {name!r}" if name else "its scheme"
            raise DefinitionError(
                f"{owner}: enumerated() needs all own keys, and {what} has some that are not known yet",
                rule="keys are known of static schemes, and of times that have an end",
                fix="map by time or by table(), or give the scheme end=",
            )
    space = space_of(partitions, _AFTER_ALL)
    if space.size > _ENUMERATED_ROWS:
        raise DefinitionError(
            f"{owner}: enumerated() would be a table of {space.size:,} rows",
            rule=f"a table has at most {_ENUMERATED_ROWS:,}",
            fix="map dimension by dimension with by_dimension()",
        )
    return space.keys_of(range(space.size))


DimensionWord = str | AllOf | All | Last | Specific | tuple[str, Identity | TimeOverlap | Rolling | StaticTable]


def by_dimension(**upstream: DimensionWord) -> Dimensions:
    """A mapping for each upstream dimension.

    `by_dimension(day="day", origin=all_)`: the upstream's `day` follows the own dimension `day` key by key, its
    `origin` is taken whole. `hour=("day", overlap())` follows `day` by overlap. "" is the dimension of a scheme with
    one dimension.

    >>> by_dimension(day="day", origin=all_).pairs
    (DimensionPair(up='day', down='day', mapping=Identity()), DimensionPair(up='origin', down=None, mapping=All()))
    """
    return Dimensions(tuple(_pair(name, word) for name, word in upstream.items()))


def _pair(name: str, word: DimensionWord) -> DimensionPair:
    if isinstance(word, AllOf):
        return DimensionPair(name, None, All())
    if isinstance(word, All | Last | Specific):
        return DimensionPair(name, None, word)
    if isinstance(word, str):
        return DimensionPair(name, word, Identity())
    own, mapping = word
    return DimensionPair(name, own, mapping)
