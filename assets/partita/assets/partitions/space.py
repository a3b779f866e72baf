"""Partition spaces: the partitions of one definition that exist at one instant, numbered 0 .. size-1.

A space translates between stored keys, ordinals and windows. It is an immutable value made by `space_of`; it reads
no clock (the instant is given) and stores nothing (stored state uses keys and windows, never ordinals).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from partita.assets.errors import SelectionError, UnknownPartition
from partita.assets.keys import UNPARTITIONED, PartitionKey
from partita.assets.partitions.definitions import PartitionsDef
from partita.assets.partitions.sets import PartitionSet


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span [start, end) of aware UTC instants.

    >>> day = space_of(Daily("2026-03-01", tz="Asia/Tokyo"), datetime(2026, 3, 2, tzinfo=UTC)).window_at(0)
    >>> day.start.isoformat(), day.end.isoformat()
    ('2026-02-28T15:00:00+00:00', '2026-03-01T15:00:00+00:00')
    """

    start: datetime
    end: datetime


class PartitionSpace(ABC):
    """The partitions that exist at an instant. Ordinals are dense, start at 0 and follow the definition's order.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> days.select("2026-03-05..2026-03-08, latest 2")
    <PartitionSet 6: 4..7, 29..30>
    >>> days.keys(days.select("latest 2")), days.ordinal_of("2026-03-05")
    (['2026-03-30', '2026-03-31'], 4)
    """

    __slots__ = ("definition", "size")

    definition: PartitionsDef | None
    size: int

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions of a multi scheme; () for all others."""
        return ()

    @abstractmethod
    def key_at(self, ordinal: int) -> PartitionKey:
        """The stored key of an ordinal; raises IndexError outside 0 .. size-1."""

    def label_at(self, ordinal: int) -> PartitionKey:
        """`key_at`; a time space also answers outside 0 .. size-1, for windows that do not exist."""
        return self.key_at(ordinal)

    @abstractmethod
    def find(self, key: str) -> int | None:
        """The ordinal of a stored key; None when no such partition exists. Aliases are not stored keys."""

    @abstractmethod
    def locate(self, text: str) -> PartitionSet | None:
        """The existing partitions that a person means by `text`: a key, an alias, or a period such as "2013-01".

        None when the text means nothing here.
        """

    @abstractmethod
    def unknown(self, text: str) -> UnknownPartition:
        """The error for a text that names no existing partition, with the nearest one."""

    @abstractmethod
    def latest(self, count: int) -> PartitionSet:
        """The newest `count` partitions; of a multi scheme those of the newest windows."""

    @abstractmethod
    def same_partitions(self, other: PartitionSpace) -> bool:
        """True when both spaces list the same keys in the same order, so that ordinals mean the same."""

    def window_at(self, ordinal: int) -> Window | None:
        """The window of an ordinal (of the time dimension of a multi scheme); None without time."""
        self._check(ordinal)
        return None

    def dimension_keys_at(self, ordinal: int) -> dict[str, str]:
        """The key of each dimension of a multi scheme; {} for all others."""
        self._check(ordinal)
        return {}

    def ordinal_of(self, key: str) -> int:
        """The ordinal of a stored key; raises UnknownPartition naming the nearest key."""
        ordinal = self.find(key)
        if ordinal is None:
            raise self.unknown(key)
        return ordinal

    def ordinals_of(self, keys: Sequence[str]) -> list[int]:
        """The ordinals of many stored keys; -1 for each that does not exist."""
        if len(keys) * 4 < self.size:
            return [-1 if ordinal is None else ordinal for ordinal in map(self.find, keys)]
        # Many keys of one space: cheaper to write down all keys once than to read each.
        positions = {key: ordinal for ordinal, key in enumerate(self.keys_of(range(self.size)))}
        return [positions.get(PartitionKey(key), -1) for key in keys]

    def all(self) -> PartitionSet:
        """Every partition."""
        return PartitionSet.from_ranges([(0, self.size)])

    def set_of(self, keys: Iterable[str]) -> PartitionSet:
        """The set of these stored keys; raises UnknownPartition for the first that does not exist."""
        return PartitionSet.from_ordinals(self.ordinal_of(key) for key in keys)

    def span(self, from_key: str | None, to_key: str | None) -> PartitionSet:
        """From one key to another, both inclusive, either open; short forms mean their whole period.

        Raises SelectionError when they are the wrong way round.
        """
        start, stop = self._bound(from_key), self._bound(to_key)
        if start is not None and stop is not None and start.first > stop.last:
            raise turned(str(from_key), str(to_key))
        return PartitionSet.from_ranges(
            [(0 if start is None else start.first, self.size if stop is None else stop.last + 1)]
        )

    def keys(self, chosen: PartitionSet, offset: int = 0, limit: int | None = None) -> list[PartitionKey]:
        """The stored keys of a page of a set, in order of ordinals."""
        return self.keys_of(list(chosen.page(offset, limit)))

    def keys_of(self, ordinals: Iterable[int]) -> list[PartitionKey]:
        """The stored keys of ordinals."""
        return [self.key_at(ordinal) for ordinal in ordinals]

    def named(self, chosen: PartitionSet) -> list[tuple[PartitionKey, Window | None]]:
        """Key and window of each partition of a set, in order of ordinals.

        >>> [(key, day.end.day) for key, day in space_of(Daily("2026-03-01"), datetime(2026, 3, 3, tzinfo=UTC)).named(
        ...     PartitionSet(((0, 2),)))]
        [('2026-03-01', 2), ('2026-03-02', 3)]
        """
        return [(self.key_at(ordinal), self.window_at(ordinal)) for ordinal in chosen]

    def select(self, text: str, status_of: Callable[[str], PartitionSet] | None = None) -> PartitionSet:
        """The partitions named by a selection text; see `grammar.py`. Raises SelectionError, UnknownPartition.

        `status_of` gives the partitions that are `missing`, `stale` or `failed`.
        """
        from partita.assets.partitions.grammar import select_partitions

        return select_partitions(self, text, status_of)

    def _bound(self, key: str | None) -> PartitionSet | None:
        if key is None:
            return None
        found = self.locate(key)
        if not found:
            raise self.unknown(key)
        return found

    def _check(self, ordinal: int) -> None:
        if not 0 <= ordinal < self.size:
            raise IndexError(f"ordinal {ordinal} is outside 0..{self.size - 1} of {self!r}")

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        shown = [self.key_at(i) for i in islice(range(self.size), 1)]
        last = [self.key_at(self.size - 1)] if self.size > 1 else []
        return f"<{type(self).__name__} {self.size}: {' .. '.join(repr(str(key)) for key in shown + last)}>"


def turned(from_key: str, to_key: str) -> SelectionError:
    """The error for a range that runs backwards."""
    return SelectionError(
        f"range '{from_key}..{to_key}' is empty", rule="FROM lies before TO", fix=f"swap the two: {to_key}..{from_key}"
    )


class UnitSpace(PartitionSpace):
    """The one partition of an unpartitioned asset; its stored key is the empty text."""

    __slots__ = ()

    def __init__(self) -> None:
        self.definition = None
        self.size = 1

    def key_at(self, ordinal: int) -> PartitionKey:
        """The empty key."""
        self._check(ordinal)
        return UNPARTITIONED

    def find(self, key: str) -> int | None:
        """0 for the empty key."""
        return 0 if key == UNPARTITIONED else None

    def locate(self, text: str) -> PartitionSet | None:
        """The one partition, for the empty text."""
        return self.all() if text == UNPARTITIONED else None

    def span(self, from_key: str | None, to_key: str | None) -> PartitionSet:
        """The one partition: a range of keys says nothing about an asset without partitions."""
        return self.all()

    def latest(self, count: int) -> PartitionSet:
        """The one partition."""
        return self.all() if count > 0 else PartitionSet.empty()

    def same_partitions(self, other: PartitionSpace) -> bool:
        """All unpartitioned spaces are alike."""
        return isinstance(other, UnitSpace)

    def unknown(self, text: str) -> UnknownPartition:
        """An unpartitioned asset has no named partitions."""
        return UnknownPartition(f"partition {text!r} does not exist", rule="the asset is not partitioned")
