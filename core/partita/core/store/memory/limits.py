"""Runs that take too long, and versions that no server has, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.runs import run_of
from partita.core.store.values import LocationId, Run, RunId, SnapshotId, Taken, WorkerId
from partita.core.store.values_definitions import Stranded


class LimitsPart(MemoryPart):
    def places_taken(self, queues: Collection[str], workers: Collection[WorkerId]) -> Taken:
        queued = Counter(row["queue"] for row in self._db.task.find("state", "queued") if row["queue"] in queues)
        running = {worker: len(self._db.task.find("running", worker)) for worker in workers}
        return Taken(dict(queued), {worker: n for worker, n in running.items() if n})

    def lock_overdue_runs_skip(self, limit: int) -> list[Run]:
        rows = [
            row
            for row in self._db.run.find("state", "running")
            if row["times_out_at"] is not None and row["times_out_at"] <= self._now and row["timed_out_at"] is None
        ]
        rows.sort(key=lambda row: (row["times_out_at"], row["id"]))
        return [run_of(row) for row in rows[:limit]]

    def note_gone_versions(self, snapshot_ids: Collection[SnapshotId]) -> None:
        for snapshot_id in sorted(set(snapshot_ids)):
            if snapshot_id not in self._db.version_gone:
                self._db.version_gone.put({"snapshot_id": snapshot_id, "since": self._now})
        if snapshot_ids:
            self._forget_gone_versions(snapshot_ids)

    def _forget_gone_versions(self, noted: Collection[SnapshotId]) -> None:
        tasks = (*self._db.task.find("state", "queued"), *self._db.task.find("state", "up_for_retry"))
        waited = {row["snapshot_id"] for row in tasks if row["reason"] == "version_gone"}
        free = [row for row in self._db.wait.find("state", "open") if row["triggerer_id"] is None]
        watched_for = {(row["location_id"], row["snapshot_id"]) for row in free}
        for row in list(self._db.version_gone):
            snapshot = self._db.snapshot.get(row["snapshot_id"])
            if row["snapshot_id"] in noted or row["snapshot_id"] in waited or snapshot is None:
                continue
            if (snapshot["location_id"], row["snapshot_id"]) not in watched_for:
                self._db.version_gone.delete(row["snapshot_id"])

    def stranded_runs(self, limit: int) -> list[Stranded]:
        waiting = {
            (row["run_id"], row["location_id"], row["snapshot_id"])
            for row in (*self._db.task.find("state", "queued"), *self._db.task.find("state", "up_for_retry"))
            if row["reason"] == "version_gone" and row["snapshot_id"] in self._db.version_gone
        }
        return [
            self._stranded(RunId(run_id), LocationId(location_id), SnapshotId(snapshot_id))
            for run_id, location_id, snapshot_id in sorted(waiting | self._unwatched())[:limit]
        ]

    def _unwatched(self) -> set[tuple[int, int, int]]:
        """Run, location and version of deferred tasks with a wait that nobody watches, whose version is gone."""
        found = set()
        for wait in self._db.wait.find("state", "open"):
            snapshot = self._db.snapshot.get(wait["snapshot_id"])
            if wait["triggerer_id"] is not None or wait["asset_id"] is not None or snapshot is None:
                continue
            task = self._db.task.rows[wait["task_id"]]
            gone = wait["snapshot_id"] in self._db.version_gone and snapshot["location_id"] == wait["location_id"]
            if gone and task["state"] == "deferred":
                found.add((task["run_id"], wait["location_id"], wait["snapshot_id"]))
        return found

    def _stranded(self, run_id: RunId, location_id: LocationId, snapshot_id: SnapshotId) -> Stranded:
        location, snapshot = self._db.location.get(location_id), self._db.snapshot.get(snapshot_id)
        name = "" if location is None else str(location["name"])
        version = "" if snapshot is None else str(snapshot["hash"])
        since = self._db.version_gone.rows[snapshot_id]["since"]
        return Stranded(run_id, location_id, name, snapshot_id, version, since)
