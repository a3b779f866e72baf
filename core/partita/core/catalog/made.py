"""A mapping whose values are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Made(Mapping[K, V]):
    """Its keys are known from the start, in order. Safe between threads: a key has one value, even if it was made twice.

    >>> squares = Made(range(3), lambda n: n * n)
    >>> squares[2], list(squares), 3 in squares
    (4, [0, 1, 2], False)
    """

    __slots__ = ("_keys", "_make", "_values")

    def __init__(self, keys: Collection[K], make: Callable[[K], V]) -> None:
        self._keys = keys
        self._make = make
        self._values: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        try:
            return self._values[key]
        except KeyError:
            if key not in self._keys:
                raise
        return self._values.setdefault(key, self._make(key))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
