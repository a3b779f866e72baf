"""Spaces of listed keys: static and dynamic schemes. The order is the order given, never sorted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from partita.assets.errors import UnknownPartition, suggest
from partita.assets.keys import PartitionKey
from partita.assets.partitions.definitions import DynamicPartitions, StaticPartitions
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace


class KeySpace(PartitionSpace):
    """Keys by position."""

    __slots__ = ("_index", "_keys")

    def __init__(self, definition: StaticPartitions | DynamicPartitions, keys: Sequence[str]) -> None:
        self.definition = definition
        self._keys = tuple(keys)
        self._index = _index_of(self._keys)
        self.size = len(self._keys)

    def key_at(self, ordinal: int) -> PartitionKey:
        """The key at a position."""
        self._check(ordinal)
        return PartitionKey(self._keys[ordinal])

    def find(self, key: str) -> int | None:
        """The position of a key."""
        return self._index.get(key)

    def locate(self, text: str) -> PartitionSet | None:
        """The one partition of that key."""
        ordinal = self._index.get(text)
        return None if ordinal is None else PartitionSet(((ordinal, ordinal + 1),))

    def latest(self, count: int) -> PartitionSet:
        """The last keys of the list."""
        return PartitionSet.from_ranges([(max(self.size - count, 0), self.size)])

    def same_partitions(self, other: PartitionSpace) -> bool:
        """Equal lists."""
        return isinstance(other, KeySpace) and self._keys == other._keys

    def unknown(self, text: str) -> UnknownPartition:
        """The keys nearest by edit distance."""
        near = suggest(text, self._keys)
        if not near and self._keys:
            few = ", ".join(repr(key) for key in self._keys[:5])
            near = f"the keys are {few}{' ...' if self.size > 5 else ''}"
        return UnknownPartition(
            f"partition {text!r} does not exist", rule="" if self._keys else "there are no keys yet", fix=near
        )


@lru_cache(maxsize=128)
def _index_of(keys: tuple[str, ...]) -> dict[str, int]:
    return {key: ordinal for ordinal, key in enumerate(keys)}
