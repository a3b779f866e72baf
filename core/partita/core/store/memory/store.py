"""`MemoryStore`: the store port over dicts.

One lock: a transaction holds it from begin to end, so transactions are serial and nothing is ever locked by others (the
`_skip` operations skip nothing). An exception undoes the transaction's writes; sequences keep their numbers, as in
Postgres. Foreign keys to definitions (assets, locations, snapshots) are not checked: unit tests need no definitions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from partita.core.store.memory.accept import AcceptPart
from partita.core.store.memory.actions import ActionsPart
from partita.core.store.memory.alerts import AlertsPart
from partita.core.store.memory.backfills import BackfillsPart
from partita.core.store.memory.by_hand import ByHandPart
from partita.core.store.memory.cells import CellsPart
from partita.core.store.memory.clocks import ClocksPart
from partita.core.store.memory.deadlines import DeadlinesPart
from partita.core.store.memory.definitions import DefinitionsPart
from partita.core.store.memory.doomed import DoomedPart
from partita.core.store.memory.dynamic import DynamicPart
from partita.core.store.memory.evaluators import EvaluatorsPart
from partita.core.store.memory.events import EventsPart
from partita.core.store.memory.fan_out import FanOutPart
from partita.core.store.memory.freshness import FreshnessPart
from partita.core.store.memory.identity import IdentityPart
from partita.core.store.memory.jobs import JobsPart
from partita.core.store.memory.lanes import LanesPart
from partita.core.store.memory.launch_tables import LaunchTablesPart
from partita.core.store.memory.limits import LimitsPart
from partita.core.store.memory.notices import NoticesPart
from partita.core.store.memory.pools import PoolsPart
from partita.core.store.memory.reports import ReportsPart
from partita.core.store.memory.requests import RequestsPart
from partita.core.store.memory.retention import RetentionPart
from partita.core.store.memory.runs import RunsPart
from partita.core.store.memory.schemes import SchemesPart
from partita.core.store.memory.tables import Database, Row
from partita.core.store.memory.tasks import TasksPart
from partita.core.store.memory.waits import WaitsPart
from partita.core.store.port import Conflict, Tx
from partita.core.store.values import BUILT_IN_LANES, Pool

T = TypeVar("T")


class MemoryTx(
    LaunchTablesPart,
    TasksPart,
    PoolsPart,
    LanesPart,
    CellsPart,
    RunsPart,
    BackfillsPart,
    EventsPart,
    DefinitionsPart,
    AcceptPart,
    IdentityPart,
    DynamicPart,
    SchemesPart,
    RequestsPart,
    DeadlinesPart,
    DoomedPart,
    FanOutPart,
    JobsPart,
    LimitsPart,
    ClocksPart,
    ActionsPart,
    ByHandPart,
    AlertsPart,
    NoticesPart,
    WaitsPart,
    ReportsPart,
    FreshnessPart,
    EvaluatorsPart,
    RetentionPart,
):
    """One transaction over the tables; see `partita.core.store.port.Tx` for what each operation does."""


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class MemoryStore:
    """`clock` gives the instant of each transaction (aware, UTC): a simulation passes its virtual one."""

    def __init__(self, clock: Callable[[], datetime] = _wall_clock) -> None:
        self._clock = clock
        self._db = Database()
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._listeners: list[Callable[[str], None]] = []
        with self.begin() as tx:
            tx.set_pool(Pool("default", 128))
            self._db.pool.change("default", description="Tasks that name no pool (S-022)")
            for lane in BUILT_IN_LANES:
                tx.set_lane(lane)
            tx.set_pulse()
            self._db.dynamic_revision.put({"id": 1, "revision": 0})

    def __repr__(self) -> str:
        counts = {name: len(table.rows) for name, table in self._db.tables().items() if table.rows}
        return f"MemoryStore({counts})"

    @contextmanager
    def begin(self, *, durable: bool = True) -> Iterator[MemoryTx]:
        me = threading.get_ident()
        if self._holder == me:
            raise RuntimeError(
                "a transaction is open in this thread: a duty is one transaction, begin the next after it"
            )
        with self._lock:
            self._holder = me
            try:
                tx = MemoryTx(self._db, self._clock())
                try:
                    yield tx
                    if tx.poisoned is not None:
                        raise Conflict(f"the transaction met a conflict and cannot commit: {tx.poisoned}")
                except BaseException:
                    self._db.roll_back()
                    raise
                self._db.commit()
            finally:
                self._holder = None

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        """Runs `work` in one transaction and returns its result. (Serial: there is nothing to retry.)"""
        with self.begin(durable=durable) as tx:
            return work(tx)

    def notify(self, channels: Iterable[str]) -> None:
        for channel in sorted(set(channels)):
            for listener in list(self._listeners):
                listener(channel)

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Calls `listener(channel)` for every later `notify`; returns the function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def database(self) -> Database:
        """The tables themselves, also within an open transaction: for tests that choose what to do next by what there is."""
        return self._db

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """All tables, rows by primary key: for tests that compare stores or look at the end state."""
        with self._lock:
            return {name: [dict(row) for row in table.sorted_rows()] for name, table in self._db.tables().items()}

    def rows(self, table: str) -> list[Row]:
        """The rows of one table by primary key."""
        return self.dump()[table]
