"""`PostgresStore`: transactions on pooled connections, retries of deadlocks, notifications, snapshots for readers.

Round trips: `begin` is one (BEGIN, its settings and the instant together), each hot operation is one, COMMIT is one.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import psycopg

from partita.core.store.pool import Connection, Pool, PoolExhausted
from partita.core.store.port import Busy, Conflict, Unavailable
from partita.core.store.postgres.errors import RETRYABLE, is_lost, store_error
from partita.core.store.queries import Reader
from partita.core.store.sql import text
from partita.core.store.urls import shown

if TYPE_CHECKING:
    from partita.core.store.port import Tx
    from partita.core.store.postgres.tx import PostgresTx

T = TypeVar("T")

log = logging.getLogger(__name__)

_TRIES = 6  # of one transaction that Postgres keeps choosing as the victim
_BACKOFF_S = 0.02
_INTERNED_MAX = 100_000

# The connection's settings. Duties find every row by an index: plans made while the tables are new and small must not keep
# scanning and hashing them when they have grown, so the planner is told not to (a prepared plan lives as long as its
# connection, and the first statistics come a minute late).
_COMMON = "-c timezone=UTC -c jit=off"
_DUTY_OPTIONS = (
    f"{_COMMON} -c idle_in_transaction_session_timeout=60000 "
    "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
)
# A reader may compute between its statements (a plan over many assets), and reads millions of cells at once.
_READ_OPTIONS = f"{_COMMON} -c idle_in_transaction_session_timeout=300000 -c default_transaction_read_only=on"
_READS_TAKE = 4  # times the statement limit of duties

_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT now()"
_BEGIN_LAZY = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; SELECT now()"
_BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT now()"

# One statement for all channels, in its own transaction: NOTIFY takes a database-wide lock at commit.
NOTIFY = text("SELECT pg_notify(channel, '') FROM unnest(CAST(:channels AS text[])) AS u(channel)")


class PostgresStore:
    """The store of one database. Threads may share it; a transaction belongs to the thread that began it.

    Raises `Unavailable` when the database does not answer, `Busy` when a lock, a statement or a free connection of the pool
    took longer than its limit, `Violation` when a constraint refused a write, `Conflict` when a compare-and-set failed.
    """

    def __init__(
        self,
        url: str,
        *,
        replica_url: str | None = None,
        pool_size: int = 8,
        lock_timeout_s: float = 5.0,
        statement_timeout_s: float = 30.0,
    ) -> None:
        self.url = url
        duties = f"{_DUTY_OPTIONS} {_limits(lock_timeout_s, statement_timeout_s)}"
        reads = f"{_READ_OPTIONS} {_limits(lock_timeout_s, statement_timeout_s * _READS_TAKE)}"
        self._duties = Pool(url, size=pool_size, options=duties)
        self._readers = Pool(url, size=pool_size, options=reads)
        self._history = None if replica_url is None else Pool(replica_url, size=pool_size, options=reads)
        self._interned: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"PostgresStore({shown(self.url)}, {self._duties!r})"

    def close(self) -> None:
        """Closes the pooled connections; those in use are closed when they come back."""
        self._duties.close()
        self._readers.close()
        if self._history is not None:
            self._history.close()

    @contextmanager
    def begin(self, *, durable: bool = True) -> Iterator[PostgresTx]:
        from partita.core.store.postgres.tx import PostgresTx  # a command that only plans does without it

        with _transaction(self._duties, _BEGIN if durable else _BEGIN_LAZY) as (connection, now):
            tx = PostgresTx(connection.cursor(), now, self._interned)
            yield tx
            if tx.poisoned is not None:
                raise Conflict(f"the transaction met a conflict and cannot commit: {tx.poisoned}")
        self._remember(tx.interned_here)

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        for failed in range(1, _TRIES + 1):
            try:
                with self.begin(durable=durable) as tx:
                    return work(tx)
            except RETRYABLE as error:
                if failed == _TRIES:
                    raise Busy(f"Postgres chose the transaction as its victim {_TRIES} times") from error
            # The other one first: a victim that is back before the waiting survivor woke up takes the row again.
            time.sleep(random.uniform(0.5, 1) * _BACKOFF_S * failed)
        raise AssertionError("unreachable: the last try returns or raises")

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """A reader whose statements all see one snapshot of the database. It takes no lock and cannot write."""
        with _transaction(self._readers, _BEGIN_SNAPSHOT) as (connection, now):
            yield Reader(connection, now)

    @property
    def has_replica(self) -> bool:
        return self._history is not None

    @contextmanager
    def history(self) -> Iterator[Reader]:
        """As `read`, on the replica where there is one: for what has ended, which may be seen a little late (S-232). While it
        does not answer, the primary is read."""
        with ExitStack() as stack:
            yield Reader(*self._history_in(stack))

    def _history_in(self, stack: ExitStack) -> tuple[Connection, datetime]:
        if self._history is not None:
            try:
                return stack.enter_context(_transaction(self._history, _BEGIN_SNAPSHOT))
            except (Unavailable, Busy) as error:
                log.warning("history is read from the primary: the replica does not answer: %s", error)
        return stack.enter_context(_transaction(self._readers, _BEGIN_SNAPSHOT))

    def notify(self, channels: Iterable[str]) -> None:
        names = sorted(set(channels))
        if not names:
            return
        try:
            with self._duties.connection() as connection:
                connection.execute(NOTIFY.driver, {"channels": names})
        except psycopg.Error as error:
            raise store_error(error) or error from error

    def _remember(self, interned: dict[str, int]) -> None:
        if not interned:
            return
        if len(self._interned) + len(interned) > _INTERNED_MAX:
            self._interned = {}
        self._interned.update(interned)


@contextmanager
def _transaction(pool: Pool, begin: str) -> Iterator[tuple[Connection, datetime]]:
    connection, now = _begun(pool, begin)
    try:
        yield connection, now
        connection.execute("COMMIT")
    except BaseException as error:
        _roll_back(connection)
        ours = store_error(error) if isinstance(error, psycopg.Error) else None
        if ours is not None:
            raise ours from error
        raise
    finally:
        pool.give(connection)


def _limits(lock_timeout_s: float, statement_timeout_s: float) -> str:
    return f"-c lock_timeout={int(lock_timeout_s * 1000)} -c statement_timeout={int(statement_timeout_s * 1000)}"


def _begun(pool: Pool, begin: str) -> tuple[Connection, datetime]:
    """A connection in a transaction. A pooled one whose server went away is replaced: nothing was done on it yet."""
    for _ in range(pool.size + 1):
        try:
            connection = pool.take()
        except psycopg.Error as error:
            raise store_error(error) or error from error
        except PoolExhausted as error:
            raise Busy(f"all {pool.size} connections of this process are in use: raise pool_size") from error
        try:
            return connection, _execute_begin(connection, begin)
        except psycopg.Error as error:
            connection.close()
            pool.give(connection)
            if not is_lost(error):
                raise
            lost = error
    raise Unavailable("the database does not answer: it closed every pooled connection") from lost


def _execute_begin(connection: Connection, begin: str) -> datetime:
    cursor = connection.execute(begin.encode())
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    assert row is not None
    now: datetime = row[0]
    return now


def _roll_back(connection: Connection) -> None:
    """Ends the transaction after an error; a connection on which even that fails is closed, and so not used again."""
    try:
        if not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()
