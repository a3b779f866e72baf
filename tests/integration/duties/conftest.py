"""Real Postgres for the duties: the world of the unit tests with thirteen assets, its tables as rows, and pauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.unit.duties.duty_world import LOCATION, SNAPSHOT, World

from partita.core.store.open import open_store
from partita.core.store.port import Tx
from partita.core.store.postgres import PostgresStore

T = TypeVar("T")

_TABLES = (
    *("task", "task_edge", "task_cell", "open_cell", "cell_cause", "pool", "pool_slot", "attempt", "wait"),
    *("run", "run_tally", "event", "event_todo", "worker", "cell", "fan_out"),
)


class PostgresWorld(World):
    """The world of the unit tests on a real database: time is the database's, and is skipped where a test says so."""

    def __init__(self, store: PostgresStore, url: str) -> None:
        self.postgres = store
        self.url = url
        with store.begin() as tx:
            assert tx.put_location("flights") == LOCATION
            snapshot_id, _ = tx.put_snapshot(LOCATION, "v1", body=b"{}", effective=b"{}", kept=[])
            assert snapshot_id == SNAPSHOT
        for asset in range(1, 14):
            with store.begin() as tx:
                assert tx.intern_assets([f"a{asset}"]) == {f"a{asset}": asset}
        super().__init__(store)

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """All rows of the tables that the invariants read, in one snapshot."""
        with psycopg.connect(self.url, row_factory=dict_row) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return {
                name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2".encode()).fetchall() for name in _TABLES
            }

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.tables()[table]

    def skip_waits(self) -> None:
        """Every retry is due now."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("UPDATE task SET not_before = now() WHERE state = 'up_for_retry'")


class Paused:
    """A store of which one transaction stops after an operation until `go_on`."""

    def __init__(self, store: PostgresStore, after: str) -> None:
        self._store = store
        self._after = after
        self._reached = Event()
        self._go_on = Event()

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        return self._store.run(lambda tx: work(_Watched(tx, self)), durable=durable)

    def wait_reached(self) -> None:
        assert self._reached.wait(60), f"no transaction came to {self._after}"

    def go_on(self) -> None:
        self._go_on.set()

    def passed(self, name: str) -> None:
        if name == self._after and not self._reached.is_set():
            self._reached.set()
            assert self._go_on.wait(60), "nobody let it go on"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Watched:
    def __init__(self, tx: Tx, pause: Paused) -> None:
        self._tx = tx
        self._pause = pause

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._tx, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            result = operation(*args, **kwargs)
            self._pause.passed(name)
            return result

        return watched


@pytest.fixture
def store(pg_url: str) -> Iterator[PostgresStore]:
    store = open_store(pg_url, pool_size=12)
    yield store
    store.close()


@pytest.fixture
def world(store: PostgresStore, pg_url: str) -> PostgresWorld:
    return PostgresWorld(store, pg_url)
