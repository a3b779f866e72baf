"""Runs, tallies, workers, the pulse, duties and the audit trail in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.encode import as_stored, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import (
    Exclusive,
    Run,
    RunId,
    RunState,
    RunUpdate,
    Tally,
    TaskState,
    Worker,
    WorkerId,
)


def run_of(row: Row) -> Run:
    return Run(
        id=row["id"],
        backfill_id=row["backfill_id"],
        state=RunState(row["state"]),
        as_of=row["as_of"],
        cancel_requested=row["cancel_requested_at"] is not None,
        tallies=row["tallies"],
        task_count=row["task_count"],
        request=row["request"],
        cause=row["cause"],
        params=row["params"],
        lane=row["lane"],
        timed_out=row["timed_out_at"] is not None,
        cancelled_from=row["cancelled_from"],
        keys_revision=row["keys_revision"],
        max_active=row["max_active"],
    )


def _worker_of(row: Row) -> Worker:
    values = (row["id"], row["host"], row["pid"], row["capacity"], row["lease_expires_at"], row["state"])
    return Worker(*values, queues=tuple(row["queues"]))


class RunsPart(MemoryPart):
    def try_duty(self, duty: Exclusive) -> bool:
        return True  # transactions follow one another

    def append_tallies(self, tallies: Sequence[Tally]) -> None:
        for tally in tallies:
            seq = self._db.next("run_tally")
            self._db.run_tally.put({"seq": seq, "run_id": tally.run_id, "state": tally.state.value, "n": tally.n})

    def take_tallies(self, limit: int) -> list[Tally]:
        rows = self._db.run_tally.sorted_rows()[:limit]
        for row in rows:
            self._db.run_tally.delete(row["seq"])
        return [Tally(row["run_id"], TaskState(row["state"]), row["n"]) for row in rows]

    def lock_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return [run_of(row) for run_id in sorted(set(ids)) if (row := self._db.run.get(run_id)) is not None]

    def read_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return self.lock_runs(ids)

    def write_runs(self, updates: Sequence[RunUpdate]) -> None:
        distinct((update.id for update in updates), "write_runs")
        for update in sorted(updates, key=lambda update: update.id):
            row = self._db.run.get(update.id)
            if row is None or row["state"] != update.expect_state.value:
                raise self._conflict(f"run {update.id} was expected {update.expect_state.value}")
            requested_at = (row["cancel_requested_at"] or self._now) if update.cancel_requested else None
            self._db.run.put(
                row
                | {
                    "state": update.state.value,
                    "tallies": as_stored(update.tallies),
                    "cancel_requested_at": requested_at,
                    "finished_at": update.finished_at or row["finished_at"],
                    "timed_out_at": row["timed_out_at"] or (self._now if update.timed_out else None),
                    "cancelled_from": update.cancelled_from,
                }
            )

    def limit_run(self, run_id: RunId, max_active: int | None) -> None:
        if max_active is not None and max_active < 1:
            raise self._violation(f"run {run_id} with the limit {max_active}: at least 1")
        if run_id in self._db.run:
            self._db.run.change(run_id, max_active=max_active)

    # -- workers
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
        self._db.worker.put(
            {
                "id": worker_id,
                "host": host,
                "pid": pid,
                "capacity": capacity,
                "started_at": self._now,
                "lease_expires_at": self._now + timedelta(seconds=lease_s),
                "state": "live",
                "queues": sorted(set(queues)),
                "version": version,
                "renewed_at": self._now,
            }
        )

    def renew_lease(self, worker_id: WorkerId, lease_s: float) -> bool:
        row = self._db.worker.get(worker_id)
        if row is None or row["state"] != "live":
            return False
        expires_at = self._now + timedelta(seconds=lease_s)
        self._db.worker.change(worker_id, lease_expires_at=expires_at, renewed_at=self._now)
        return True

    def retire_worker(self, worker_id: WorkerId) -> None:
        row = self._db.worker.get(worker_id)
        if row is not None and row["state"] == "live":
            self._db.worker.change(worker_id, state="draining", lease_expires_at=self._now)

    def lock_lapsed_workers_skip(self, limit: int) -> list[Worker]:
        rows = [row for row in self._db.worker if row["state"] != "gone" and row["lease_expires_at"] <= self._now]
        rows.sort(key=lambda row: (row["lease_expires_at"], row["id"]))
        return [_worker_of(row) for row in rows[:limit]]

    def mark_workers_gone(self, ids: Sequence[WorkerId]) -> None:
        for worker_id in set(ids):
            if worker_id in self._db.worker:
                self._db.worker.change(worker_id, state="gone")

    def live_workers(self) -> list[Worker]:
        rows = self._db.worker.sorted_rows()
        return [_worker_of(row) for row in rows if row["state"] == "live" and row["lease_expires_at"] > self._now]

    def last_served(self, queues: Collection[str]) -> dict[str, datetime]:
        workers = [_worker_of(row) for row in self._db.worker]
        ends = {queue: [one.lease_expires_at for one in workers if one.serves(queue)] for queue in sorted(set(queues))}
        return {queue: max(found) for queue, found in ends.items() if found}

    # -- pulse
    def read_pulse(self) -> datetime:
        last_ok: datetime = self._db.db_pulse.rows[1]["last_ok"]
        return last_ok

    def set_pulse(self) -> None:
        self._db.db_pulse.put({"id": 1, "last_ok": self._now})

    def extend_leases(self, seconds: float, *, at_most_s: float) -> None:
        by, limit = timedelta(seconds=seconds), self._now + timedelta(seconds=at_most_s)

        def extended(row: Row) -> Row:
            expires_at = row["lease_expires_at"]
            return row | {"lease_expires_at": max(expires_at, min(expires_at + by, limit))}

        for row in self._db.worker:
            if row["state"] != "gone":
                self._db.worker.put(extended(row))
        for row in self._db.triggerer:
            if row["state"] == "live":
                self._db.triggerer.put(extended(row))
        for row in self._db.code_server:
            self._db.code_server.put(extended(row))

    # -- housekeeping
    def note_duty(
        self, name: str, holder: str, ms: float | None, *, failures: int = 0, error: str | None = None
    ) -> None:
        before = self._db.duty.get(name)
        self._db.duty.put(
            {
                "name": name,
                "holder": holder,
                "last_ran_at": self._now,
                "last_ms": ms if ms is not None or before is None else before["last_ms"],
                "failures": failures,
                "last_error": optional_text(error),
            }
        )
