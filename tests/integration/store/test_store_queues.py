"""What another queue has waiting costs neither admission nor a claim anything (S-148, law 4): Postgres counts the pages."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.integration.store.conftest import Place

from partita.core.store.postgres import PostgresStore, definitions, pools, tasks
from partita.core.store.sql import Statement
from partita.core.store.values import TaskState, TaskUpdate

BACKLOG = 100_000
BATCH = 8


def _touched(connection: psycopg.Connection, place: Place) -> dict[str, int]:
    """Pages by statement, of a worker of the default queue and of admission for it."""
    pin = {"locations": [place.location_id], "snapshots": [place.snapshot_id]}
    pool_set = '[["default",1]]'
    asked: dict[str, tuple[Statement, dict[str, Any]]] = {
        "queued pins": (definitions.QUEUED_PINS, {}),
        "claim": (tasks.LOCK_QUEUED, {**pin, "queues": ["default"], "n": BATCH}),
        "needs": (pools.SCHEDULED_NEEDS, {}),
        "admit": (tasks.LOCK_SCHEDULED, {"pool_sets": [pool_set], "queues": ["default"], "limits": [BATCH]}),
    }
    found = {}
    for name, (statement, parameters) in asked.items():
        explain = b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.driver
        row = connection.execute(explain, parameters).fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        assert plan["Actual Rows"] > 0, name
        found[name] = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return found


@pytest.mark.parametrize("state", ["queued", "scheduled"])
def test_a_backlog_of_another_queue_is_never_walked_past(
    store: PostgresStore, place: Place, pg_url: str, state: str
) -> None:
    with store.begin() as tx:
        ready = place.add_tasks(tx, 4 * BATCH)
        queued = tx.lock_tasks(ready[: 2 * BATCH])
        tx.write_tasks([TaskUpdate.of(task, TaskState.QUEUED, queued_at=tx.now()) for task in queued])
    with psycopg.connect(pg_url, autocommit=True, options="-c jit=off -c plan_cache_mode=force_generic_plan") as own:
        named = own.execute("SELECT column_name FROM information_schema.columns WHERE table_name = 'task'").fetchall()
        kept = ", ".join(column for (column,) in named if column not in ("id", "queue", "priority"))
        own.execute("VACUUM ANALYZE task")
        before = _touched(own, place)
        # Of both sides of `default` in the order of the index, and each of them earlier in line.
        own.execute(
            f"""
            INSERT INTO task (id, queue, priority, {kept})
            SELECT t.id + 1000000 + n, CASE WHEN n % 2 = 0 THEN 'cpu' ELSE 'gpu' END, 9, {kept}
            FROM generate_series(1, {BACKLOG}) AS n CROSS JOIN (SELECT * FROM task WHERE state = '{state}' LIMIT 1) AS t
            """.encode()
        )
        own.execute("VACUUM ANALYZE task")
        after = _touched(own, place)
    for name, pages in after.items():
        assert pages <= before[name] + 40, f"{name} touched {before[name]} pages, and {pages} beside the backlog"
