"""Whose turn it is in a process that runs many triggers, noted in memory that the supervisor sees too.

A trigger that takes the process down with it, or holds it without ever giving up the interpreter's lock, cannot be reported by
anything inside: this note is what is left of it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Awaitable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_BYTES = 256


class Note:
    """One name, or none. Both sides open the same file; the one that made it removes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _BYTES)

    @classmethod
    def made(cls) -> Note:
        """A new one. Raises OSError where no file can be made."""
        fd, path = tempfile.mkstemp(prefix="partita-turn-")
        try:
            os.ftruncate(fd, _BYTES)
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
