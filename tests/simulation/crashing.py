"""A store whose process dies: after a number of transactions, or at a number of operations inside one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from partita.core.store.memory import MemoryStore
from partita.core.store.port import Tx

T = TypeVar("T")


class Crash(BaseException):  # no loop that goes on after errors may catch it
    """The process is gone; what was not committed never was."""


class CrashingStore:
    """`transactions`: how many commit before the crash; `operations`: how many of the next one are done first."""

    def __init__(self, store: MemoryStore, transactions: int, operations: int = 0) -> None:
        self._store = store
        self._transactions = transactions
        self._operations = operations

    def begin(self, *, durable: bool = True) -> AbstractContextManager[Tx]:
        raise AssertionError("duties run their work through `run`, so that it can be run again")

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        if self._transactions:
            self._transactions -= 1
            return self._store.run(work, durable=durable)
        return self._store.run(lambda tx: self._dies(work, tx))

    def _dies(self, work: Callable[[Tx], T], tx: Tx) -> T:
        work(Counting.of(tx, self._operations))
        raise Crash  # done, and not committed

    def notify(self, channels: Iterable[str]) -> None:
        raise AssertionError("a duty never wakes anybody itself")


class Counting:
    """A transaction whose process dies at the operation after `operations`."""

    def __init__(self, tx: Tx, operations: int) -> None:
        self._tx = tx
        self._left = operations

    @classmethod
    def of(cls, tx: Tx, operations: int) -> Tx:
        return cast(Tx, cls(tx, operations))

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise Crash
        self._left -= 1
        return getattr(self._tx, name)
