"""Whose turn it is in a process that runs many triggers, noted in memory that the supervisor sees too.

A trigger that takes the process down with it, or holds it without ever giving up the interpreter's lock, cannot be reported by
anything inside: this note is what is left of it. What runs in threads is noted beside it: many calls at once, with the order in
which they began.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections import deque
from collections.abc import Awaitable, Coroutine, Generator, Iterator
from itertools import count
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_BYTES = 256
_CALL = 64
_CALLS = 1024
_SIZE = _BYTES + _CALL * _CALLS


class Note:
    """One name, or none, and the names of those in a call. Both sides open the same file; the one that made it removes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _SIZE)
        self._free = deque(range(_CALLS))
        self._order = count(1)

    @classmethod
    def made(cls) -> Note:
        """A new one. Raises OSError where no file can be made."""
        fd, path = tempfile.mkstemp(prefix="partita-turn-")
        try:
            os.ftruncate(fd, _SIZE)
            return cls(path)
        finally:
            os.close(fd)

    @property
    def name(self) -> str:
        """Whose turn it is; empty: nobody's."""
        return self._bytes[:_BYTES].split(b"\0", 1)[0].decode(errors="replace")

    def begin(self, name: bytes) -> None:
        """It is the turn of `name`."""
        self._bytes[: len(name) + 1] = name + b"\0"

    def end(self) -> None:
        """It is nobody's turn."""
        self._bytes[0] = 0

    @property
    def calls(self) -> list[str]:
        """Who is in a call, in the order in which the calls began."""
        slots = [self._bytes[at : at + _CALL] for at in range(_BYTES, _SIZE, _CALL)]
        noted = sorted((int.from_bytes(one[:8], "little"), one[8:]) for one in slots)
        return [name.split(b"\0", 1)[0].decode(errors="replace") for begun, name in noted if begun]

    @contextlib.contextmanager
    def call(self, name: str) -> Iterator[None]:
        """`name` is in a call, in a thread; more than there is room for are not noted."""
        try:
            slot = self._free.popleft()
        except IndexError:
            yield
            return
        at = _BYTES + slot * _CALL
        self._bytes[at + 8 : at + _CALL] = name.encode()[: _CALL - 9].ljust(_CALL - 8, b"\0")
        self._bytes[at : at + 8] = next(self._order).to_bytes(8, "little")
        try:
            yield
        finally:
            self._bytes[at : at + 8] = bytes(8)
            self._free.append(slot)

    def remove(self) -> None:
        """Forget the file."""
        self._bytes.close()
        with contextlib.suppress(FileNotFoundError):  # whoever tidies temporary files was here
            os.unlink(self.path)


def noted(work: Coroutine[Any, Any, T], note: Note, name: str) -> Awaitable[T]:
    """`work`, with each of its turns noted."""
    return _turns(work, note, name.encode()[: _BYTES - 1])


@coroutine
def _turns(work: Coroutine[Any, Any, T], note: Note, name: bytes) -> Generator[Any, Any, T]:
    sent: Any = None
    raised: BaseException | None = None
    while True:
        note.begin(name)
        try:
            awaited = work.send(sent) if raised is None else work.throw(raised)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            note.end()
        sent = raised = None
        try:
            sent = yield awaited
        except BaseException as error:  # a cancellation: the work's to see
            raised = error
