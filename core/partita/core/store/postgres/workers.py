"""Workers, their leases, and the pulse that tells an outage of the database from a dead worker."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values import Worker, WorkerId

PUT_WORKER = text("""
    INSERT INTO worker (id, host, pid, capacity, lease_expires_at, state, queues, version, renewed_at)
    VALUES (:id, :host, :pid, :capacity, now() + make_interval(secs => :lease_s), 'live', CAST(:queues AS text[]),
            :version, now())
    ON CONFLICT (id) DO UPDATE
    SET host = excluded.host, pid = excluded.pid, capacity = excluded.capacity, started_at = now(),
        lease_expires_at = excluded.lease_expires_at, state = 'live', queues = excluded.queues,
        version = excluded.version, renewed_at = excluded.renewed_at
""")

RENEW_LEASE = text("""
    UPDATE worker SET lease_expires_at = now() + make_interval(secs => :lease_s), renewed_at = now()
    WHERE id = :id AND state = 'live'
""")

RETIRE_WORKER = text("UPDATE worker SET state = 'draining', lease_expires_at = now() WHERE id = :id AND state = 'live'")

_COLUMNS = "id, host, pid, capacity, lease_expires_at, state, queues"

LOCK_LAPSED = text(f"""
    SELECT {_COLUMNS} FROM worker WHERE state <> 'gone' AND lease_expires_at <= now()
    ORDER BY lease_expires_at, id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")

MARK_GONE = text("UPDATE worker SET state = 'gone' WHERE id = ANY(CAST(:ids AS text[]))")

LIVE_WORKERS = text(f"SELECT {_COLUMNS} FROM worker WHERE state = 'live' AND lease_expires_at > now() ORDER BY id")

LAST_SERVED = text(f"""
    SELECT u.queue, max(w.lease_expires_at) FROM unnest(CAST(:queues AS text[])) AS u(queue)
    JOIN worker w ON u.queue = ANY(w.queues) OR '{ALL_QUEUES}' = ANY(w.queues) GROUP BY u.queue
""")

READ_PULSE = text("SELECT last_ok FROM db_pulse WHERE id = 1 FOR NO KEY UPDATE")
SET_PULSE = text("UPDATE db_pulse SET last_ok = now() WHERE id = 1")

# A lease that was renewed after the outage and before anybody noticed it is whole already.
_EXTENDED = """
    greatest(lease_expires_at,
             least(lease_expires_at + make_interval(secs => :seconds), now() + make_interval(secs => :at_most_s)))
"""
EXTEND_LEASES = text(f"""
    WITH workers AS (
        UPDATE worker SET lease_expires_at = {_EXTENDED} WHERE state <> 'gone'
    ), triggerers AS (
        UPDATE triggerer SET lease_expires_at = {_EXTENDED} WHERE state = 'live'
    )
    UPDATE code_server SET lease_expires_at = {_EXTENDED}
""")


class WorkersPart(PostgresPart):
    def put_worker(
        self,
        worker_id: WorkerId,
        host: str,
        pid: int,
        capacity: int,
        lease_s: float,
        queues: Collection[str] = (DEFAULT_QUEUE,),
        *,
        version: str = "",
    ) -> None:
        row = {"id": worker_id, "host": host, "pid": pid, "capacity": capacity, "lease_s": lease_s, "version": version}
        self._execute(PUT_WORKER, **row, queues=sorted(set(queues)))

    def renew_lease(self, worker_id: WorkerId, lease_s: float) -> bool:
        return self._execute(RENEW_LEASE, id=worker_id, lease_s=lease_s) == 1

    def retire_worker(self, worker_id: WorkerId) -> None:
        self._execute(RETIRE_WORKER, id=worker_id)

    def lock_lapsed_workers_skip(self, limit: int) -> list[Worker]:
        return [_worker_of(row) for row in self._rows(LOCK_LAPSED, n=limit)]

    def mark_workers_gone(self, ids: Sequence[WorkerId]) -> None:
        self._execute(MARK_GONE, ids=sorted(set(ids)))

    def live_workers(self) -> list[Worker]:
        return [_worker_of(row) for row in self._rows(LIVE_WORKERS)]

    def last_served(self, queues: Collection[str]) -> dict[str, datetime]:
        return {row[0]: row[1] for row in self._rows(LAST_SERVED, queues=sorted(set(queues)))}

    def read_pulse(self) -> datetime:
        last_ok: datetime = self._rows(READ_PULSE)[0][0]
        return last_ok

    def set_pulse(self) -> None:
        self._execute(SET_PULSE)

    def extend_leases(self, seconds: float, *, at_most_s: float) -> None:
        self._execute(EXTEND_LEASES, seconds=seconds, at_most_s=at_most_s)


def _worker_of(row: Any) -> Worker:
    worker_id, host, pid, capacity, lease_expires_at, state, queues = row
    return Worker(worker_id, host, pid, capacity, lease_expires_at, state, tuple(queues))
