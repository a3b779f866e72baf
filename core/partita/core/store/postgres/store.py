"""`PostgresStore`: transactions on pooled connections, retries of deadlocks, notifications, snapshots for readers.

Round trips: `begin` is one (BEGIN, its settings and the instant together), each hot operation is one, COMMIT is one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from partita.core.store.port import Busy, Conflict, Tx, Unavailable
from partita.core.store.postgres.accept import AcceptPart
from partita.core.store.postgres.cells import CellsPart
from partita.core.store.postgres.definitions import DefinitionsPart
from partita.core.store.postgres.dynamic import DynamicPart
from partita.core.store.postgres.errors import RETRYABLE, is_lost, store_error
from partita.core.store.postgres.events import EventsPart
from partita.core.store.postgres.identity import IdentityPart
from partita.core.store.postgres.launch import LaunchPart
from partita.core.store.postgres.plans import PlansPart
from partita.core.store.postgres.pools import PoolsPart
from partita.core.store.postgres.requests import RequestsPart
from partita.core.store.postgres.runs import RunsPart
from partita.core.store.postgres.schemes import SchemesPart
from partita.core.store.postgres.tasks import TasksPart
from partita.core.store.postgres.workers import WorkersPart
from partita.core.store.queries import Reader

T = TypeVar("T")

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


class PostgresTx(
    LaunchPart,
    TasksPart,
    PoolsPart,
    CellsPart,
    RunsPart,
    WorkersPart,
    EventsPart,
    DefinitionsPart,
    PlansPart,
    AcceptPart,
    IdentityPart,
    DynamicPart,
    SchemesPart,
    RequestsPart,
):
    """One transaction; see `partita.core.store.port.Tx` for what each operation does."""


class PostgresStore:
    """The store of one database. Threads may share it; a transaction belongs to the thread that began it.

    Raises `Unavailable` when the database does not answer, `Busy` when a lock, a statement or a free connection of the pool
    took longer than its limit, `Violation` when a constraint refused a write, `Conflict` when a compare-and-set failed.
    """

    def __init__(
        self, url: str, *, pool_size: int = 8, lock_timeout_s: float = 5.0, statement_timeout_s: float = 30.0
    ) -> None:
        self.url = url
        self._engine = _engine(url, pool_size, f"{_DUTY_OPTIONS} {_limits(lock_timeout_s, statement_timeout_s)}")
        reads = _limits(lock_timeout_s, statement_timeout_s * _READS_TAKE)
        self._readers = _engine(url, pool_size, f"{_READ_OPTIONS} {reads}")
        self._interned: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"PostgresStore({self._engine.url!r}, {self._engine.pool.status()})"

    def close(self) -> None:
        """Closes the pooled connections; those in use are closed when they come back."""
        self._engine.dispose()
        self._readers.dispose()

    @contextmanager
    def begin(self, *, durable: bool = True) -> Iterator[PostgresTx]:
        with _transaction(self._engine, _BEGIN if durable else _BEGIN_LAZY) as (connection, now):
            tx = PostgresTx(_driver_cursor(connection), now, self._interned)
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

    def notify(self, channels: Iterable[str]) -> None:
        names = sorted(set(channels))
        if not names:
            return
        try:
            with self._engine.connect() as connection:
                connection.execute(NOTIFY, {"channels": names})
        except DBAPIError as error:
            raise store_error(error.orig) or error from error

    def _remember(self, interned: dict[str, int]) -> None:
        if not interned:
            return
        if len(self._interned) + len(interned) > _INTERNED_MAX:
            self._interned = {}
        self._interned.update(interned)


@contextmanager
def _transaction(engine: Engine, begin: str) -> Iterator[tuple[Connection, datetime]]:
    connection, now = _begun(engine, begin)
    try:
        yield connection, now
        _driver_cursor(connection).execute("COMMIT")
    except BaseException as error:
        _roll_back(connection)
        cause = error.orig if isinstance(error, DBAPIError) else error
        ours = store_error(cause) if isinstance(cause, psycopg.Error) else None
        if ours is not None:
            raise ours from error
        raise
    finally:
        connection.close()


def _limits(lock_timeout_s: float, statement_timeout_s: float) -> str:
    return f"-c lock_timeout={int(lock_timeout_s * 1000)} -c statement_timeout={int(statement_timeout_s * 1000)}"


def _engine(url: str, pool_size: int, options: str) -> Engine:
    return create_engine(
        url,
        use_native_hstore=False,  # a query a connection for a type that we do not have
        # Autocommit, because BEGIN is ours: it carries the settings and brings the instant in the same round trip.
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        connect_args={"options": options, "application_name": "partita", "connect_timeout": 10},
    )


def _begun(engine: Engine, begin: str) -> tuple[Connection, datetime]:
    """A connection in a transaction. A pooled one whose server went away is replaced: nothing was done on it yet."""
    for _ in range(engine.pool.size() + 1):  # type: ignore[attr-defined]
        try:
            connection = engine.connect()
        except DBAPIError as error:
            raise store_error(error.orig) or error from error
        except PoolTimeoutError as error:
            raise Busy(f"all {engine.pool.size()} connections of this process are in use: raise pool_size") from error  # type: ignore[attr-defined]
        try:
            return connection, _execute_begin(connection, begin)
        except psycopg.Error as error:
            connection.invalidate()
            connection.close()
            if not is_lost(error):
                raise
            lost = error
    raise Unavailable("the database does not answer: it closed every pooled connection") from lost


def _execute_begin(connection: Connection, begin: str) -> datetime:
    cursor = _driver_cursor(connection).execute(begin.encode())
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    assert row is not None
    now: datetime = row[0]
    return now


def _driver_cursor(connection: Connection) -> psycopg.Cursor[Any]:
    driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
    return driver.cursor()


def _roll_back(connection: Connection) -> None:
    """Ends the transaction after an error; a connection on which even that fails is not used again."""
    try:
        if not connection.invalidated:
            _driver_cursor(connection).execute("ROLLBACK")
    except psycopg.Error:
        connection.invalidate()
