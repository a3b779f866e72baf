"""Lists as the text of a Postgres array, whole: what every set write sends.

psycopg asks a dumper for each element, which costs more than Postgres takes to store it: a launch of a hundred thousand tasks is
three million elements. Statements cast their parameters, so one text of unknown type does for all types. Owns that text for flat
lists of the types below, with or without None; all other lists go the driver's way. NumPy's arrays cross as bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg.abc import Buffer, DumperKey
from psycopg.adapt import Dumper, PyFormat
from psycopg.pq import Format
from psycopg.types.array import BaseListDumper, ListDumper

_BETWEEN = "\x1f"  # stands between texts while they are quoted together; one that holds it is quoted alone


class ArrayBytes(Dumper):
    """To be registered for NumPy's arrays: those of one dimension of int64, int32 or bool, in the form that Postgres keeps."""

    format = Format.BINARY
    oid = 0  # statements cast their parameters

    def get_key(self, obj: npt.NDArray[Any], format: PyFormat) -> DumperKey:
        return (self.cls, obj.dtype.type)

    def upgrade(self, obj: npt.NDArray[Any], format: PyFormat) -> ArrayBytes:
        wide = ArrayBytes(self.cls)
        wide.oid = _ARRAYS[obj.dtype][1]
        return wide

    def dump(self, obj: npt.NDArray[Any]) -> Buffer | None:
        element, _, stored = _ARRAYS[obj.dtype]
        rows = np.empty(len(obj), dtype=[("length", ">i4"), ("value", stored)])
        rows["length"] = rows.dtype["value"].itemsize
        rows["value"] = obj
        # One dimension, no NULL in it, elements of this type, so many of them, the first of which is number one.
        head = np.array([1, 0, element, len(obj), 1] if len(obj) else [0, 0, element], dtype=">i4")
        return head.tobytes() + rows.tobytes()


# The types of an element and of an array in Postgres, and how an element is stored.
_ARRAYS: dict[np.dtype[Any], tuple[int, int, str]] = {
    np.dtype(np.int64): (20, 1016, ">i8"),
    np.dtype(np.int32): (23, 1007, ">i4"),
    np.dtype(np.bool_): (16, 1000, "u1"),
}


class ArrayText(ListDumper):
    """To be registered for lists."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        return self.cls if _writer_of(obj) else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper:
        return self if _writer_of(obj) else super().upgrade(obj, format)

    def dump(self, obj: list[Any]) -> Buffer | None:
        write = _writer_of(obj)
        return write(obj).encode() if write else super().dump(obj)


def _writer_of(obj: list[Any]) -> Callable[[list[Any]], str] | None:
    kinds = set(map(type, obj))
    kinds.discard(type(None))
    if len(kinds) > 1:
        return None
    return _WRITERS[kinds.pop()] if kinds and kinds <= _WRITERS.keys() else None if kinds else _nulls


def _nulls(values: list[None]) -> str:
    return "{" + ",".join(["NULL"] * len(values)) + "}"


def _numbers(values: list[float | None]) -> str:
    return "{" + repr(values)[1:-1].replace("None", "NULL") + "}"  # as Python writes a list, in one step


def _truths(values: list[bool | None]) -> str:
    return "{" + ",".join(["NULL" if one is None else "t" if one else "f" for one in values]) + "}"


def _instants(values: list[datetime | None]) -> str:
    # Many rows of a write have one instant in common.
    texts = {one: f'"{one.isoformat()}"' for one in set(values) if one is not None}
    return "{" + ",".join(["NULL" if one is None else texts[one] for one in values]) + "}"


def _texts(values: list[str | None]) -> str:
    known = [one for one in values if one is not None]
    joined = _BETWEEN.join(known)
    if len(known) < len(values) or joined.count(_BETWEEN) != len(known) - 1:
        return "{" + ",".join(["NULL" if one is None else f'"{_escaped(one)}"' for one in values]) + "}"
    return '{"' + _escaped(joined).replace(_BETWEEN, '","') + '"}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_WRITERS: dict[type, Callable[[list[Any]], str]] = {
    int: _numbers,
    float: _numbers,
    bool: _truths,
    str: _texts,
    datetime: _instants,
}
