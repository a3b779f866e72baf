"""What goes wrong between a process and its database, and between processes: crashes, outages, lost and doubled wake-ups.

`ProcessStore` is the store as one process has it. It dies before, inside or after any transaction, at any operation; it
finds the database away, or never hears that its commit was done; and others act between any two of its transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from tests.simulation.crashing import Counting, Crash
from tests.simulation.watching import Broken, Watch

from partita.core.store.memory import MemoryStore
from partita.core.store.memory.tables import Undo
from partita.core.store.port import Busy, Tx, Unavailable
from partita.core.store.queries.pending_read import Pending

T = TypeVar("T")
_CRASHES, _LOST_ANSWERS, _BUSY = 0.012, 0.004, 0.004
_OPERATIONS = 14  # about as many as the longest transaction has

_CALLS = 2_000


@dataclass
class Site:
    """What all processes of a story share."""

    random: Random
    memory: MemoryStore
    watch: Watch
    others: Callable[[], None] = lambda: None  # lets somebody else act
    faults: bool = True
    interleaved: float = 0.1  # how often somebody acts between two transactions of another
    away: bool = False  # the database
    crashes: int = 0
    calls: int = 0  # transactions at this instant
    refused: int = 0  # statements that met an outage
    between: bool = False  # somebody acts between two transactions of another
    tail: list[Undo] = field(default_factory=list)  # commits that are not durable yet

    def happens(self, probability: float) -> bool:
        return self.faults and self.random.random() < probability

    def crash_database(self) -> None:
        """What was committed without waiting for the disk, and nothing durable after it, never was."""
        for undo in reversed(self.tail):
            undo()
        self.memory.database.commit()
        self.tail.clear()
        self.watch.forget_renewals()
        with self.watch.acting(undoing=True):
            self.watch.look()


class ProcessStore:
    """The store of one process."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def begin(self, *, durable: bool = True) -> AbstractContextManager[Tx]:
        raise AssertionError("duties run their work through `run`, so that it can be run again")

    def notify(self, channels: Iterable[str]) -> None:
        raise AssertionError("a duty never wakes anybody itself")

    @contextmanager
    def read(self) -> Iterator[Looker]:
        self._answers()
        yield Looker(self._site.memory)

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        site = self._site
        site.calls += 1
        if site.calls > _CALLS:
            raise Broken("no duty goes on for ever", f"{_CALLS} transactions at one instant")
        if not site.between and site.happens(site.interleaved):
            site.between = True
            try:
                site.others()
            finally:
                site.between = False
        self._answers()
        if site.happens(_CRASHES):
            return self._dies(work, durable=durable)
        result = self._commit(work, durable=durable)
        if site.happens(_LOST_ANSWERS):
            raise Unavailable("the connection broke while it was committing")
        return result

    def _answers(self) -> None:
        if self._site.away:
            self._site.refused += 1
            raise Unavailable("the database is away")
        if self._site.happens(_BUSY):
            raise Busy("a lock took too long")

    def _commit(self, work: Callable[[Tx], T], *, durable: bool) -> T:
        site = self._site
        undos: list[Undo] = []

        def worked(tx: Tx) -> T:
            result = work(tx)
            undos.extend(site.memory.database.journal)
            return result

        result = site.memory.run(worked, durable=durable)
        if durable and undos:
            site.tail.clear()  # the log is one: what is on disk takes all before it along
        else:
            site.tail += undos
        if undos:
            site.watch.look()
        return result

    def _dies(self, work: Callable[[Tx], T], *, durable: bool) -> T:
        site = self._site
        site.crashes += 1
        operations = site.random.choice([None, *range(_OPERATIONS)])
        if operations is None:
            self._commit(work, durable=durable)
        else:
            site.memory.run(lambda tx: self._dies_inside(work, tx, operations))
        raise Crash  # after its commit, and nobody ever hears of it

    def _dies_inside(self, work: Callable[[Tx], T], tx: Tx, operations: int) -> T:
        work(Counting.of(tx, operations))
        raise Crash  # done, and not committed


class Looker:
    """`Pending` over the tables in memory."""

    def __init__(self, memory: MemoryStore) -> None:
        self._memory = memory

    def pending(self) -> Pending:
        db = self._memory.database
        with self._memory.begin() as tx:
            now = tx.now()
        todo = {row["consumer"] for row in db.event_todo}
        return Pending(
            scheduled=bool(db.task.find("state", "scheduled")),
            due_retries=any(row["not_before"] <= now for row in db.task.find("state", "up_for_retry")),
            tallies=bool(db.run_tally.rows),
            automation=bool(todo & {"automation", "keys"}),
            replans="replan" in todo,
            rebuilds="rebuild" in todo,
            cell_changes=bool(db.cell_change.rows),
            queued=bool(db.task.find("state", "queued")),
            lapsed=any(row["state"] != "gone" and row["lease_expires_at"] < now for row in db.worker),
            expired_keys=any(
                row["ended"] is None and row["expires_at"] is not None and row["expires_at"] <= now
                for row in db.dynamic_key
            ),
            overdue_runs=any(
                row["times_out_at"] is not None and row["times_out_at"] <= now and row["timed_out_at"] is None
                for row in db.run.find("state", "running")
            ),
            stranded=bool(db.version_gone.rows),
            due_deadlines=any(row["missed_at"] is None and row["due_at"] <= now for row in db.deadline),
            clocks=any(row["next_at"] is not None and row["next_at"] <= now for row in db.automation_clock),
            cancelling=bool(db.run.find("cancelling", True)),
            signals=bool(db.alert_signal.rows),
            notices=any(
                row["due_at"] <= now and (row["lease_until"] is None or row["lease_until"] <= now)
                for row in db.notice
                if row["state"] == "pending"
            ),
            freshness=any(row["next_at"] is not None and row["next_at"] <= now for row in db.freshness),
            overdue_waits=any(row["deadline_at"] <= now for row in db.wait.find("state", "open")),
            cell_waits=any(row["asset_id"] is not None for row in db.wait.find("state", "open")),
            lapsed_triggerers=any(row["state"] == "live" and row["lease_expires_at"] < now for row in db.triggerer),
            asked=any(row["state"] == "open" and row["due_at"] <= now for row in db.asked),
            unwatched=any(
                row["triggerer_id"] is None and row["asset_id"] is None and row["location_id"] is not None
                for row in db.wait.find("state", "open")
            ),
        )


class Network:
    """Wake-ups between processes: lost, late and doubled."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.hubs: list[Hub] = []
        self._under_way: list[tuple[Hub, str]] = []
        self.lost = self.doubled = 0

    def send(self, sender: Hub, channel: str) -> None:
        for hub in self.hubs:
            if hub is sender:
                continue
            if self._site.happens(0.3):
                self.lost += 1
                continue
            self._under_way.append((hub, channel))
            if self._site.happens(0.15):
                self.doubled += 1
                self._under_way.append((hub, channel))

    def deliver(self) -> None:
        """Most of what is under way, in any order; the rest is late."""
        self._site.random.shuffle(self._under_way)
        late = self._site.random.randint(0, len(self._under_way) // 2) if self._site.faults else 0
        now, self._under_way = self._under_way[late:], self._under_way[:late]
        for hub, channel in now:
            if hub in self.hubs:
                hub.wake_here([channel])


class Hub:
    """`WakeHub` of one process, over the network of the story."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._subscribers: dict[str, list[Callable[[], None]]] = {}
        network.hubs.append(self)

    def subscribe(self, channels: Iterable[str], callback: Callable[[], None], /) -> None:
        for channel in channels:
            self._subscribers.setdefault(str(channel), []).append(callback)

    def wake(self, channels: Iterable[str], /) -> None:
        for channel in sorted({str(channel) for channel in channels}):
            self.wake_here([channel])
            self._network.send(self, channel)

    def wake_here(self, channels: Iterable[str], /) -> None:
        for channel in channels:
            for callback in self._subscribers.get(str(channel), ()):
                callback()

    def close(self) -> None:
        self._network.hubs.remove(self)


def unbroken(run: Callable[[], T]) -> T:
    """Errors that no outage explains are bugs, whatever loop would go on after them."""
    try:
        return run()
    except (Busy, Unavailable):
        raise
    except Exception as error:
        raise Broken("no duty fails", f"{type(error).__name__}: {error}") from error
