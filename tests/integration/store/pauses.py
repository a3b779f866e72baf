"""Two transactions of real Postgres paused between their statements: the second runs on a thread until it waits for the first."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

import psycopg

T = TypeVar("T")

_BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
"""


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Starts `work` on a thread of its own; its result or exception is the future's."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def until_blocked(url: str, sessions: int = 1, *, limit_s: float = 60.0) -> None:
    """Returns when this many sessions of the database wait for a lock. Postgres has no event for that, so it is asked."""
    deadline = time.monotonic() + limit_s
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(_BLOCKED).fetchone()
            if row is not None and row[0] >= sessions:
                return
            time.sleep(0.005)
    raise AssertionError(f"fewer than {sessions} sessions were blocked within {limit_s} s")
