"""Finished history on its way out, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from partita.core.store.encode import as_stored
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row, Table
from partita.core.store.values_retention import ArchiveDay, ArchiveHolds, ArchiveState, Unread

_TERMINAL = frozenset({"success", "failed", "upstream_failed", "skipped", "removed", "cancelled"})


class RetentionPart(MemoryPart):
    def archive_under_way(self) -> ArchiveDay | None:
        return next((_day(row) for row in self._db.archive_day if row["state"] != "done"), None)

    def archive_days(self, limit: int) -> Sequence[ArchiveDay]:
        rows = sorted(self._db.archive_day, key=lambda row: row["day"], reverse=True)
        return [_day(row) for row in rows[:limit]]

    def oldest_history(self) -> date | None:
        finished = [row["finished_at"] for row in self._db.run if row["finished_at"] is not None]
        events = [self._db.event.rows[min(self._db.event.rows)]["at"]] if self._db.event.rows else []
        requests = [row["at"] for row in self._db.automation_request if row["run_id"] is not None]
        return min((_date(at) for at in (*finished, *events, *requests)), default=None)

    def archive_holds(self, day: date) -> ArchiveHolds:
        opened = min(
            (row for row in self._db.run if row["state"] == "running"), key=lambda row: row["id"], default=None
        )
        there = self._db.backfill.rows
        backfills = [row["backfill_id"] for row in self._finished(day) if row["backfill_id"] is not None]
        events = [self._db.event.get(row["event_id"]) for row in self._db.event_todo]
        waiting = [event["at"] for event in events if event is not None]
        waiting += [row["at"] for row in self._db.alert_signal]
        return ArchiveHolds(
            None if opened is None else opened["id"],
            None if opened is None else opened["created_at"],
            min((one for one in backfills if there[one]["finished_at"] is None), default=None),
            any(_date(at) <= day for at in waiting),
            min((Unread(row["name"], row["paused_at"] is not None) for row in self._unread(day)), default=None),
        )

    def _unread(self, day: date) -> Iterator[Row]:
        for row in self._db.evaluator:
            told_of_events = any(row["spec"].get(word) for word in ("watches", "runs", "tasks"))
            if row["retired_at"] is not None or row["position"] is None or not told_of_events:
                continue
            after = int(row["position"].partition(":")[2])
            first = next((event for event in self._db.event.sorted_rows() if event["id"] > after), None)
            if first is not None and _date(first["at"]) <= day:
                yield row

    def begin_archive(self, day: date) -> None:
        known = self._db.archive_day.get(day)
        if known is not None and known["state"] != "done":
            return
        if self.archive_under_way() is not None:
            raise self._violation(f"{day} cannot begin: another day is under way")
        rows = {} if known is None else known["rows"]
        started = {"day": day, "state": "exporting", "rows": rows, "started_at": self._now}
        self._db.archive_day.put({**started, "exported_at": None, "done_at": None})

    def note_exported(self, day: date, rows: Mapping[str, int]) -> None:
        self._move(day, "exporting", state="deleting", exported_at=self._now, rows=as_stored(rows))

    def end_archive(self, day: date) -> None:
        self._move(day, "deleting", state="done", done_at=self._now)

    def delete_history(self, day: date, limit: int) -> int:
        runs = sorted(self._finished(day), key=lambda row: (row["finished_at"], row["id"]))
        tasks = [task for run in runs for task in self._db.task.find("run", run["id"]) if task["state"] in _TERMINAL]
        if tasks:
            ids = {task["id"] for task in tasks[:limit]}
            self._delete_of_tasks(ids)
            return len(ids)
        bare = {run["id"] for run in [run for run in runs if not self._db.task.find("run", run["id"])][:limit]}
        if bare:
            for table in (self._db.run_pin, self._db.run_tag, self._db.run_tally):
                _delete(table, (row for row in table if row["run_id"] in bare))
            _delete(self._db.pool, [row for one in bare if (row := self._db.pool.get(f"run:{one}")) is not None])
            _delete(self._db.run, (row for row in self._db.run if row["id"] in bare))
            return len(bare)
        requests = [row for row in self._db.automation_request if row["run_id"] is not None and _date(row["at"]) == day]
        requests.sort(key=lambda row: (row["at"], row["asset_id"], row["partition"], _signed(row["state_digest"])))
        lowest = self._db.event.sorted_rows()
        for table, rows in (
            (self._db.automation_request, requests[:limit]),
            (self._db.event, [row for row in lowest[:limit] if _date(row["at"]) == day]),
            (self._db.event, [row for row in lowest if _date(row["at"]) == day][:limit]),
        ):
            if rows:
                return _delete(table, rows)
        return 0

    def forget_keys(self, keep_s: float, limit: int) -> int:
        opened = [
            row["keys_revision"] for row in self._db.run if row["state"] == "running" and row["keys_revision"] > 0
        ]
        old = [
            row
            for row in self._db.dynamic_key
            if row["ended"] is not None
            and (self._now - row["ended_at"]).total_seconds() >= keep_s
            and row["ended"] <= min(opened, default=row["ended"])
        ]
        old.sort(key=lambda row: (row["ended_at"], row["scheme"], row["key"], row["revision"]))
        return _delete(self._db.dynamic_key, old[:limit])

    def _finished(self, day: date) -> list[Row]:
        return [row for row in self._db.run if row["finished_at"] is not None and _date(row["finished_at"]) == day]

    def _delete_of_tasks(self, ids: set[int]) -> None:
        db = self._db
        attempts = {row["id"] for row in db.attempt if row["task_id"] in ids}
        _delete(db.check_result, (row for row in db.check_result if row["attempt_id"] in attempts))
        for table in (db.attempt, db.task_cell, db.cell_cause, db.wait):
            _delete(table, (row for row in table if row["task_id"] in ids))
        _delete(db.task_edge, (row for row in db.task_edge if {row["upstream_id"], row["downstream_id"]} & ids))
        _delete(db.task, (row for row in db.task if row["id"] in ids))

    def _move(self, day: date, before: str, **columns: Any) -> None:
        known = self._db.archive_day.get(day)
        if known is None or known["state"] != before:
            raise self._conflict(f"{day} is not {before}")
        self._db.archive_day.change(day, **columns)


def _delete(table: Table, rows: Iterable[Row]) -> int:
    chosen = list(rows)
    for row in chosen:
        table.delete(table.key_of(row))
    return len(chosen)


def _date(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _signed(digest: int) -> int:
    return digest - (1 << 64) if digest >= 1 << 63 else digest


def _day(row: Row) -> ArchiveDay:
    return ArchiveDay(
        row["day"], ArchiveState(row["state"]), row["rows"], row["started_at"], row["exported_at"], row["done_at"]
    )
