"""The pool: connections are kept and handed on, no more than its size, and none that is broken or in a transaction."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.integration.store.pauses import in_thread

from partita.core.store import pool as pools
from partita.core.store.pool import Pool, PoolExhausted


@pytest.fixture
def pool(pg_url: str) -> Iterator[Pool]:
    made = Pool(pg_url, size=2, options="-c lock_timeout=1234")
    yield made
    made.close()


def test_the_last_one_given_back_is_the_next_one_taken(pool: Pool) -> None:
    one, two = pool.take(), pool.take()
    pool.give(one)
    pool.give(two)
    assert pool.take() is two
    assert pool.take() is one
    assert one.execute("SHOW lock_timeout").fetchall() == [("1234ms",)]
    pool.give(one)
    pool.give(two)


def test_a_taker_waits_until_one_comes_back(pool: Pool) -> None:
    one, two = pool.take(), pool.take()
    waiting = in_thread(pool.take)
    pool.give(two)
    assert waiting.result(60) is two
    pool.give(one)
    pool.give(two)


def test_a_taker_that_waits_in_vain_is_told(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_TAKE_S", 0.01)
    with pool.connection(), pool.connection(), pytest.raises(PoolExhausted, match="all 2"):
        pool.take()
    with pool.connection() as again:
        assert again.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("left", ["open transaction", "closed"])
def test_what_comes_back_unfit_is_not_handed_on(pool: Pool, left: str) -> None:
    with pool.connection() as spoilt:
        if left == "closed":
            spoilt.close()
        else:
            spoilt.execute("BEGIN")
    assert spoilt.closed
    with pool.connection() as fresh:
        assert fresh is not spoilt


def test_a_failed_connection_takes_no_place(pg_url: str) -> None:
    nowhere = Pool(pg_url, size=1, options="-c no_such_setting=1")
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError):
            nowhere.take()
    nowhere.close()


def test_a_closed_pool_keeps_nothing(pool: Pool) -> None:
    with pool.connection() as idle:
        pass
    taken = pool.take()
    assert taken is idle
    pool.close()
    assert not taken.closed
    pool.give(taken)
    assert taken.closed
