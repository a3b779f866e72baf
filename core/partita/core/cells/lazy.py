"""Attributes that are worked out when they are asked for, once.

Like `functools.cached_property` without its lock, which Python 3.12 dropped as well: here it cost as much as the arithmetic.
Threads that race work the same value out twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """Decorates a method; the value then lies in the instance under the name of the method."""

    def __init__(self, work_out: Callable[[Any], _T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Lazy[_T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> _T | Lazy[_T]:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._work_out(instance)
        return value
