"""Signals, alerts, notices and maintenance windows in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from partita.core.store.encode import as_stored, clean_text, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import AssetId, CellRef, RunId
from partita.core.store.values_alerts import (
    Alert,
    AlertId,
    AlertKind,
    AlertUpdate,
    NewAlert,
    NewSignal,
    Severity,
    SickLocation,
    Signal,
    WaitingStep,
)

_WAITS = frozenset({"none", "scheduled", "queued", "deferred", "awaiting_input"})


def _place(cell: CellRef | None) -> dict[str, Any]:
    if cell is None:
        return {"asset_id": None, "partition": None}
    return {"asset_id": cell.asset_id, "partition": cell.partition}


def _cell(row: Row) -> CellRef | None:
    return None if row["asset_id"] is None else CellRef(row["asset_id"], row["partition"])


def alert_of(row: Row) -> Alert:
    rest = {name: row[name] for name in Alert.__slots__ if name not in ("kind", "severity", "cell", "rules", "owners")}
    return Alert(
        kind=AlertKind(row["kind"]),
        severity=Severity(row["severity"]),
        cell=_cell(row),
        rules=tuple(row["rules"]),
        owners=tuple(row["owners"]),
        **rest,
    )


def _broken(location: Row) -> tuple[str, ...]:
    return tuple(one.get("name", "?") for one in location["modules"] if one.get("ok") is False)


class AlertsPart(MemoryPart):
    def append_signals(self, signals: Sequence[NewSignal]) -> None:
        for one in signals:
            self._db.alert_signal.put(
                {
                    "id": self._db.next("alert_signal"),
                    "kind": one.kind.value,
                    **_place(one.cell),
                    "run_id": one.run_id,
                    "task_id": one.task_id,
                    "detail": as_stored(one.detail),
                    "at": self._now,
                }
            )

    def take_signals_skip(self, limit: int) -> list[Signal]:
        taken = self._db.alert_signal.sorted_rows()[:limit]
        for row in taken:
            self._db.alert_signal.delete(row["id"])
        return [
            Signal(
                row["id"],
                AlertKind(row["kind"]),
                _cell(row),
                row["run_id"],
                row["task_id"],
                row["detail"],
                row["at"],
            )
            for row in taken
        ]

    # -- alerts
    def put_alerts(self, alerts: Sequence[NewAlert]) -> tuple[list[Alert], list[Alert]]:
        distinct((one.cause for one in alerts), "put_alerts")
        new: list[Alert] = []
        again: list[Alert] = []
        for one in sorted(alerts, key=lambda one: one.cause):
            known = next((row for row in self._open_alerts() if row["cause"] == one.cause), None)
            row = self._new_alert(one) if known is None else self._met_again(known, one)
            self._db.alert.put(row)
            (new if known is None else again).append(alert_of(row))
        return new, again

    def _new_alert(self, one: NewAlert) -> Row:
        return {
            "id": self._db.next("alert"),
            "cause": one.cause,
            "kind": one.kind.value,
            "severity": one.severity.value,
            "subject": clean_text(one.subject),
            **_place(one.cell),
            "run_id": one.run_id,
            "task_id": one.task_id,
            "owners": list(one.owners),
            "rules": list(one.rules),
            "detail": as_stored(one.detail),
            "since": one.since,
            "first_at": self._now,
            "last_at": self._now,
            "times": 1,
            "round": 1,
            "acked_at": None,
            "acked_by": None,
            "snoozed_until": one.snoozed_until,
            "snoozed_by": one.snoozed_by,
            "note": "",
            "ended_at": None,
        }

    def _met_again(self, row: Row, one: NewAlert) -> Row:
        self._db.next("alert")  # as the insert that meets it in Postgres
        return row | {
            "times": row["times"] + 1,
            "last_at": self._now,
            "detail": as_stored(one.detail),
            "run_id": one.run_id,
            "task_id": one.task_id,
            "since": max(row["since"], one.since),
        }

    def _open_alerts(self) -> list[Row]:
        return [row for row in self._db.alert.sorted_rows() if row["ended_at"] is None]

    def open_causes(self, causes: Collection[str]) -> set[str]:
        return {row["cause"] for row in self._open_alerts()} & set(causes)

    def lock_alerts(self, ids: Collection[AlertId]) -> list[Alert]:
        rows = (self._db.alert.get(one) for one in sorted(set(ids)))
        return [alert_of(row) for row in rows if row is not None]

    def lock_over_alerts_skip(self, limit: int) -> list[Alert]:
        return [alert_of(row) for row in self._open_alerts() if self._over(row)][:limit]

    def _over(self, row: Row) -> bool:
        kind = AlertKind(row["kind"])
        if kind in (AlertKind.LOCATION_DOWN, AlertKind.LOAD_ERROR):
            return any(self._well(one, kind) for one in self._db.location if one["name"] == row["subject"])
        if kind is AlertKind.BLOCKED:
            step = row["detail"].get("step")
            return not any(
                task["run_id"] == row["run_id"]
                and task["step"] == step
                and task["kind"] == "step"
                and task["state"] in _WAITS
                for task in self._db.task
            )
        if kind is AlertKind.RUN_FAILED:
            tasks = {task["id"] for task in self._db.task if task["run_id"] == row["run_id"]}
            return not any(
                own["task_id"] in tasks
                and own["state"] in ("failed", "upstream_failed")
                and not self._published_after(own["asset_id"], own["partition"], row["since"])
                for own in self._db.task_cell
            )
        if kind in (AlertKind.LATE, AlertKind.SLO_BURN) and row["asset_id"] is None:
            fresh = self._db.freshness.get(row["detail"].get("asset"))
            return fresh is None or (fresh["state"] != "late" if kind is AlertKind.LATE else fresh["burn"] is None)
        waits = any(
            one["asset_id"] == row["asset_id"] and one["partition"] == row["partition"] and row["asset_id"] is not None
            for one in self._db.alert_signal
        )
        return not waits and self._published_after(row["asset_id"], row["partition"], row["since"])

    @staticmethod
    def _well(location: Row, kind: AlertKind) -> bool:
        if kind is AlertKind.LOCATION_DOWN:
            return bool(location["state"] != "down")
        return location["state"] == "serving" and not _broken(location)

    def _published_after(self, asset_id: int | None, partition: str | None, since: datetime) -> bool:
        cell = self._db.cell.get((asset_id, partition))
        return cell is not None and cell["published_at"] is not None and cell["published_at"] > since

    def lock_unsnoozed_skip(self, limit: int) -> list[Alert]:
        rows = [
            row for row in self._open_alerts() if row["snoozed_until"] is not None and row["snoozed_until"] <= self._now
        ]
        return [alert_of(row) for row in sorted(rows, key=lambda row: (row["snoozed_until"], row["id"]))[:limit]]

    def write_alerts(self, updates: Sequence[AlertUpdate]) -> None:
        distinct((one.id for one in updates), "write_alerts")
        for one in updates:
            row = self._db.alert.get(one.id)
            if row is not None and row["ended_at"] is None:
                self._db.alert.change(
                    one.id,
                    round=one.round,
                    acked_at=one.acked_at,
                    acked_by=optional_text(one.acked_by),
                    snoozed_until=one.snoozed_until,
                    snoozed_by=optional_text(one.snoozed_by),
                    note=clean_text(one.note),
                    ended_at=one.ended_at,
                )

    # -- facts
    def waiting_steps(self, before: datetime, limit: int) -> list[WaitingStep]:
        groups: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for task in self._db.task.sorted_rows():
            run = self._db.run.rows[task["run_id"]]
            if (
                run["state"] == "running"
                and run["created_at"] < before
                and task["kind"] == "step"
                and task["created_at"] < before
                and task["state"] in _WAITS
            ):
                groups[task["run_id"], task["step"]].append(task)
        found = [one for tasks in groups.values() if (one := self._waiting_step(tasks)) is not None]
        return sorted(found, key=lambda one: (one.since, one.run_id, one.step))[:limit]

    def _waiting_step(self, tasks: Sequence[Row]) -> WaitingStep | None:
        first = tasks[0]
        assets = [own["asset_id"] for own in self._db.task_cell if own["task_id"] == first["id"]]
        if not assets:
            return None
        since = min(task["created_at"] for task in tasks)
        return WaitingStep(first["run_id"], first["step"], min(assets), len(tasks), since, first["reason"])

    def sick_locations(self) -> list[SickLocation]:
        return [
            SickLocation(
                row["id"],
                row["name"],
                row["state"],
                row["state_since"],
                row["error"],
                _broken(row),
            )
            for row in self._db.location.sorted_rows()
            if row["state"] in ("broken", "down") or _broken(row)
        ]

    def failed_assets(self, run_id: RunId) -> list[AssetId]:
        tasks = {task["id"] for task in self._db.task if task["run_id"] == run_id}
        return sorted(
            {own["asset_id"] for own in self._db.task_cell if own["task_id"] in tasks and own["state"] == "failed"}
        )
