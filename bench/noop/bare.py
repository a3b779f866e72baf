"""The least that a database can be asked to do to admit, claim and finish tasks by this protocol: SQL in the same batches.

What is locked and read comes to the client by the product's own statements, because SQL never decides; what is written is plain
SQL over the ids. Under the same locks, with the same durability, and it leaves the same rows; but nothing is decided, nothing is
made of a row, and no parameter is built from one: what is left is the database's own work.
"""

from __future__ import annotations

import threading
from typing import Any

import psycopg

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.duties.values import BATCH_TASKS
from partita.core.store.postgres import cells, pools, tasks
from partita.core.store.sql import Statement, text

_PINS = text("SELECT DISTINCT location_id, snapshot_id FROM run_pin")
_ADMIT = """
    UPDATE task SET state = 'queued', queued_at = now(), reason = NULL WHERE id = ANY(%(ids)s) AND state = 'scheduled'
"""
_HOLD = """
    INSERT INTO pool_slot (pool, task_id, slots, lane, fair_key)
    SELECT CAST(pool_set AS jsonb) -> 0 ->> 0, id, 1, lane, fair_key FROM task WHERE id = ANY(%(ids)s)
"""
_CLAIM = (
    """
    UPDATE task t SET state = 'running', worker_id = %(worker)s, attempt_id = u.attempt_id, fence = u.attempt_id,
           attempt_number = attempt_number + 1, started_at = now()
    FROM unnest(CAST(%(ids)s AS bigint[]), CAST(%(attempts)s AS bigint[])) AS u(id, attempt_id)
    WHERE t.id = u.id AND t.state = 'queued'
    """,
    """
    UPDATE cell c SET fence = t.fence FROM task t JOIN open_cell o ON o.task_id = t.id
    WHERE t.id = ANY(%(ids)s) AND c.asset_id = o.asset_id AND c.partition = o.partition
    """,
    """
    INSERT INTO attempt (id, task_id, run_id, number, worker_id, snapshot_id, fence, queued_at)
    SELECT attempt_id, id, run_id, 1, worker_id, snapshot_id, fence, queued_at FROM task WHERE id = ANY(%(ids)s)
    """,
    """
    INSERT INTO event (kind, run_id, task_id, body)
    SELECT 'task', run_id, id, jsonb_build_object('state', 'running', 'step', step) FROM task WHERE id = ANY(%(ids)s)
    """,
)
_FINISH = (
    """
    UPDATE task SET state = 'success', outcome = 'published', worker_id = NULL, finished_at = now()
    WHERE id = ANY(%(ids)s) AND state = 'running'
    """,
    """
    UPDATE task_cell SET state = 'published', data_version = (SELECT attempt_id FROM task WHERE id = task_id)
    WHERE task_id = ANY(%(ids)s)
    """,
    """
    WITH published AS (
        UPDATE cell c SET data_version = t.attempt_id, consumed_digest = 0, metadata = '{}',
               published_at = now(), version_at = now(),
               published_attempt = t.attempt_id, published_run = t.run_id, last_outcome = 'published',
               last_attempt = t.attempt_id, last_attempt_at = now()
        FROM task t JOIN open_cell o ON o.task_id = t.id
        WHERE t.id = ANY(%(ids)s) AND c.asset_id = o.asset_id AND c.partition = o.partition AND c.fence = t.fence
        RETURNING c.asset_id, c.partition, t.run_id, t.id, t.step
    ), changed AS (
        INSERT INTO cell_change (asset_id, partition) SELECT asset_id, partition FROM published
    )
    INSERT INTO event (kind, asset_id, partition, run_id, task_id, body)
    SELECT 'materialized', asset_id, partition, run_id, id, '{}' FROM published
    UNION ALL
    SELECT 'task', NULL, NULL, run_id, id, jsonb_build_object('state', 'success', 'step', step) FROM published
    """,
    """
    UPDATE attempt a SET finished_at = now(), outcome = 'success' FROM task t WHERE t.id = ANY(%(ids)s) AND a.id = t.attempt_id
    """,
    "DELETE FROM pool_slot WHERE task_id = ANY(%(ids)s)",
    "DELETE FROM open_cell WHERE task_id = ANY(%(ids)s)",
    """
    INSERT INTO run_tally (run_id, state, n) SELECT run_id, 'success', count(*) FROM task WHERE id = ANY(%(ids)s) GROUP BY run_id
    """,
)


def run(url: str, workers: int) -> None:
    """Admits, claims and finishes all scheduled tasks: one connection admits, and one for each of `workers` does the rest."""
    admitted = threading.Event()
    threads = [threading.Thread(target=_work, args=(url, admitted, f"bare-{n}")) for n in range(workers)]
    for thread in threads:
        thread.start()
    with _connected(url) as connection:
        while _admit(connection):
            pass
    admitted.set()
    for thread in threads:
        thread.join()


def _work(url: str, admitted: threading.Event, worker: str) -> None:
    with _connected(url) as connection:
        while True:
            last = admitted.is_set()  # before the look: what is queued after it is queued for another look
            if not _claim_and_finish(connection, worker) and last:
                return


def _connected(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, options="-c jit=off")


def _rows(connection: psycopg.Connection, statement: Statement, **parameters: Any) -> list[tuple[Any, ...]]:
    return connection.execute(statement.driver, parameters).fetchall()


def _admit(connection: psycopg.Connection) -> bool:
    """As the duty: up to 500 a visit, as many as have slots; none is lost by losing it. Whether any is left."""
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = off")
        needs = _rows(connection, pools.SCHEDULED_NEEDS)
        sets = [name for name, _ in needs]
        names = {one.split('"')[1] for one in sets}
        free = {name: slots for name, slots, *_ in _rows(connection, pools.LOCK_POOLS, names=sorted(names))}
        for pool, _, _, held in _rows(connection, pools.HELD_SLOTS, names=sorted(names)):
            free[pool] -= held
        limits = [min(BATCH_TASKS, int(free[one.split('"')[1]])) for one in sets]
        queues = [queue for _, queue in needs]
        due = _rows(connection, tasks.LOCK_SCHEDULED, pool_sets=sets, queues=queues, limits=limits)
        ids = [row[0] for row in due][:BATCH_TASKS]
        connection.execute(_ADMIT, {"ids": ids})
        connection.execute(_HOLD, {"ids": ids})
    return bool(sets)


def _claim_and_finish(connection: psycopg.Connection, worker: str) -> bool:
    """Whether there was anything to do."""
    with connection.transaction():
        pins = _rows(connection, _PINS)
        locked = _rows(
            connection,
            tasks.LOCK_QUEUED,
            locations=[one for one, _ in pins],
            snapshots=[two for _, two in pins],
            queues=[DEFAULT_QUEUE],
            n=BATCH_TASKS,
        )
        ids = sorted(row[0] for row in locked)[:BATCH_TASKS]
        if not ids:
            return False
        own = _rows(connection, tasks.TASK_CELLS, ids=ids)
        named = {"assets": [row[1] for row in own], "partitions": [row[2] for row in own]}
        _rows(connection, cells.READ_CELLS, **named)
        attempts = [row[0] for row in _rows(connection, cells.RESERVE_ATTEMPT_IDS, n=len(ids))]
        for statement in _CLAIM:
            connection.execute(statement, {"ids": ids, "attempts": attempts, "worker": worker})
    with connection.transaction():
        _rows(connection, tasks.LOCK_TASKS, ids=ids)
        _rows(connection, tasks.LOCK_DOWNSTREAM, ids=ids)
        _rows(connection, tasks.EDGES_FROM, ids=ids)
        _rows(connection, tasks.TASK_CELLS, ids=ids)
        _rows(connection, cells.LOCK_CELLS, **named)
        for statement in _FINISH:
            connection.execute(statement, {"ids": ids})
    return True
