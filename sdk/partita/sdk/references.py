"""How user code points at upstream assets: `From`, `remote`, and the mapping words.

Owns the written references, unresolved. What they mean within a location is decided in `resolve`.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from partita.assets import (
    All,
    AssetKey,
    DefinitionError,
    DimensionPair,
    Dimensions,
    Identity,
    Last,
    Mapping,
    PartitionsDef,
    Specific,
    StaticTable,
    TimeOverlap,
    asset_key,
)
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
    """
    return Remote(asset_key(key), location, partitions)


Upstream = str | HasKey | Remote
MappingWord = Mapping | AllOf


@dataclass(frozen=True, slots=True, init=False)
class From:
    """In `Annotated[Relation, From(...)]`: which asset a parameter reads, and which of its partitions.

    `upstream` is a decorated function, an external asset, a full key ("raw/orders", also of another location) or
    `remote(...)`. `mapping` replaces the default mapping between the two partition schemes.
    """

    upstream: Upstream
    mapping: Mapping | None

    def __init__(self, upstream: Upstream, mapping: MappingWord | None = None) -> None:
        if not isinstance(upstream, str | Remote | HasKey):
            raise DefinitionError(
                f"From({upstream!r})", rule="From takes an asset, a key as text, or remote(...)", fix="name the asset"
            )
        object.__setattr__(self, "upstream", asset_key(upstream) if isinstance(upstream, str) else upstream)
        object.__setattr__(self, "mapping", mapping_of(mapping))


def mapping_of(word: MappingWord | None) -> Mapping | None:
    """A mapping written as a value or as the bare word `all_`."""
    return word() if isinstance(word, AllOf) else word


def same() -> Identity:
    """The upstream partition of the same key."""
    return Identity()


def last() -> Last:
    """The newest upstream partition."""
    return Last()


def overlap(start: int = 0, end: int = 0) -> TimeOverlap:
    """The upstream windows that overlap the own window, widened by offsets in own partitions: `overlap(-1, 0)`."""
    return TimeOverlap(start, end)


def specific(*keys: str) -> Specific:
    """These upstream keys, whatever the own partition."""
    return Specific(keys)


def table(rows: Table[str, str | Sequence[str]]) -> StaticTable:
    """Own key to upstream key or keys; an own key without an entry needs nothing."""
    return StaticTable(tuple((down, (ups,) if isinstance(ups, str) else tuple(ups)) for down, ups in rows.items()))


DimensionWord = str | AllOf | All | Last | Specific | tuple[str, Identity | TimeOverlap | StaticTable]


def by_dimension(**upstream: DimensionWord) -> Dimensions:
    """A mapping for each upstream dimension.

    `by_dimension(day="day", origin=all_)`: the upstream's `day` follows the own dimension `day` key by key, its
    `origin` is taken whole. `hour=("day", overlap())` follows `day` by overlap. "" is the dimension of a scheme with
    one dimension.
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
