"""Product spaces: every combination of the partitions of two or more dimensions, the first outermost."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from partita.assets.errors import UnknownPartition
from partita.assets.keys import PartitionKey, join_key, json_text, split_key
from partita.assets.partitions.boxes import coordinates, product_set, row_major
from partita.assets.partitions.definitions import MultiPartitions, TimePartitions
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace, Window


class ProductSpace(PartitionSpace):
    """Row-major ordinals over the spaces of the dimensions.

    >>> cells = space_of(Multi(day=Daily("2026-03-01"), origin=Static("EWR", "JFK")), datetime(2026, 3, 3, tzinfo=UTC))
    >>> cells.sizes, cells.key_at(1), cells.dimension_keys_at(1)
    ((2, 2), '["2026-03-01","JFK"]', {'day': '2026-03-01', 'origin': 'JFK'})
    """

    __slots__ = ("_names", "parts", "sizes", "time_dim")

    definition: MultiPartitions

    def __init__(self, definition: MultiPartitions, parts: tuple[PartitionSpace, ...]) -> None:
        self.definition = definition
        self.parts = parts
        self._names = tuple(name for name, _ in definition)
        self.sizes = tuple(part.size for part in parts)
        self.size = prod(self.sizes)
        times = [i for i, (_, inner) in enumerate(definition) if isinstance(inner, TimePartitions)]
        self.time_dim = times[0] if times else None

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions, outermost first."""
        return self._names

    def part(self, name: str) -> PartitionSpace:
        """The space of one dimension; raises KeyError."""
        if name not in self._names:
            raise KeyError(name)
        return self.parts[self._names.index(name)]

    def key_at(self, ordinal: int) -> PartitionKey:
        """The JSON array of the dimension keys."""
        return join_key(list(self.dimension_keys_at(ordinal).values()))

    def keys_of(self, ordinals: Iterable[int]) -> list[PartitionKey]:
        """The JSON arrays of many ordinals; each dimension key is written once."""
        texts: list[dict[int, str]] = [{} for _ in self.parts]
        keys: list[PartitionKey] = []
        for ordinal in ordinals:
            self._check(ordinal)
            written: list[str] = []
            for known, part, at in zip(texts, self.parts, coordinates(ordinal, self.sizes), strict=True):
                if at not in known:
                    known[at] = json_text(part.key_at(at))
                written.append(known[at])
            keys.append(PartitionKey(f"[{','.join(written)}]"))
        return keys

    def dimension_keys_at(self, ordinal: int) -> dict[str, str]:
        """The key of each dimension, outermost first."""
        self._check(ordinal)
        position = coordinates(ordinal, self.sizes)
        return {name: part.key_at(at) for name, part, at in zip(self._names, self.parts, position, strict=True)}

    def window_at(self, ordinal: int) -> Window | None:
        """The window of the (first) time dimension."""
        self._check(ordinal)
        if self.time_dim is None:
            return None
        return self.parts[self.time_dim].window_at(coordinates(ordinal, self.sizes)[self.time_dim])

    def find(self, key: str) -> int | None:
        """The ordinal of a JSON array of dimension keys."""
        keys = split_key(key)
        if keys is None or len(keys) != len(self.parts):
            return None
        position = [part.find(one) for part, one in zip(self.parts, keys, strict=True)]
        known = [at for at in position if at is not None]
        return row_major(known, self.sizes) if len(known) == len(position) else None

    def locate(self, text: str) -> PartitionSet | None:
        """A stored key; else the text in the time dimension, with every key of the others."""
        ordinal = self.find(text)
        if ordinal is not None:
            return PartitionSet(((ordinal, ordinal + 1),))
        if self.time_dim is None:
            return None
        found = self.parts[self.time_dim].locate(text)
        return self.across(self.time_dim, found) if found else None

    def latest(self, count: int) -> PartitionSet:
        """The newest windows with every key of the other dimensions; without time the last combinations."""
        if self.time_dim is None:
            return PartitionSet.from_ranges([(max(self.size - count, 0), self.size)])
        return self.across(self.time_dim, self.parts[self.time_dim].latest(count))

    def span(self, from_key: str | None, to_key: str | None) -> PartitionSet:
        """A range of the time dimension, with every key of the others."""
        if self.time_dim is None:
            return super().span(from_key, to_key)
        return self.across(self.time_dim, self.parts[self.time_dim].span(from_key, to_key))

    def across(self, dimension: int, chosen: PartitionSet) -> PartitionSet:
        """A choice in one dimension, with everything of the others."""
        return product_set([chosen if i == dimension else part.all() for i, part in enumerate(self.parts)], self.sizes)

    def same_partitions(self, other: PartitionSpace) -> bool:
        """Alike in every dimension, whatever the names of the dimensions."""
        return (
            isinstance(other, ProductSpace)
            and len(self.parts) == len(other.parts)
            and all(mine.same_partitions(theirs) for mine, theirs in zip(self.parts, other.parts, strict=True))
        )

    def unknown(self, text: str) -> UnknownPartition:
        """The first dimension whose key does not exist, or the form of a key."""
        keys = split_key(text)
        if keys is not None and len(keys) == len(self.parts):
            for name, part, key in zip(self._names, self.parts, keys, strict=True):
                if part.find(key) is None:
                    inner = part.unknown(key)
                    return UnknownPartition(f"dimension {name!r}: {inner.what}", rule=inner.rule, fix=inner.fix)
        example = f"such as {self.key_at(0)!s}" if self.size else ""
        if self.time_dim is not None and keys is None:
            inner = self.parts[self.time_dim].unknown(text)
            return UnknownPartition(
                f"dimension {self._names[self.time_dim]!r}: {inner.what}", rule=inner.rule, fix=inner.fix
            )
        return UnknownPartition(
            f"partition {text!r} does not exist",
            rule=f"a key is a JSON array of one key for each of {', '.join(self._names)}",
            fix=example,
        )
