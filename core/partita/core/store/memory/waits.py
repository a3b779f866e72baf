"""Waits and triggerers in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from partita.core.store.encode import as_stored, clean_text, optional_text
from partita.core.store.memory.base import MemoryPart, distinct, task_of
from partita.core.store.memory.tables import Row
from partita.core.store.values import WAITING, CellRef, LocationId, SnapshotId, Task, TaskId
from partita.core.store.values_definitions import QueuedPin
from partita.core.store.values_waits import (
    NewWait,
    Triggerer,
    TriggererId,
    Wait,
    WaitKey,
    WaitState,
    WaitUpdate,
)

_NEW = {"stint": 0, "since": None, "deadline_at": None, "triggerer_id": None, "watched": None}


def _wait_of(row: Row) -> Wait:
    return Wait(
        task_id=row["task_id"],
        place=row["place"],
        stint=row["stint"],
        state=WaitState(row["state"]),
        location_id=row["location_id"],
        snapshot_id=row["snapshot_id"],
        trigger=row["trigger"],
        args=row["args"],
        label=row["label"],
        deadline_s=row["deadline_s"],
        poll_s=row["poll_s"],
        cell=None if row["asset_id"] is None else CellRef(row["asset_id"], row["partition"]),
        newer=row["newer"],
        since=row["since"],
        deadline_at=row["deadline_at"],
        triggerer_id=row["triggerer_id"],
        payload=row["payload"],
        error=row["error"],
        asks=row["asks"],
    )


def _pin(row: Row) -> tuple[LocationId, SnapshotId]:
    return row["location_id"], row["snapshot_id"]


class WaitsPart(MemoryPart):
    def put_waits(self, waits: Iterable[NewWait]) -> None:
        rows = sorted(waits, key=lambda wait: (wait.task_id, wait.place))
        distinct(((wait.task_id, wait.place) for wait in rows), "put_waits")
        for wait in rows:
            before = self._db.wait.get((wait.task_id, wait.place)) or _NEW
            self._db.wait.put(
                {
                    **before,
                    "task_id": wait.task_id,
                    "place": wait.place,
                    "state": "dormant",
                    "location_id": wait.location_id,
                    "snapshot_id": wait.snapshot_id,
                    "trigger": clean_text(wait.trigger),
                    "args": as_stored(wait.args),
                    "label": clean_text(wait.label),
                    "deadline_s": wait.deadline_s,
                    "poll_s": wait.poll_s,
                    "asset_id": None if wait.cell is None else wait.cell.asset_id,
                    "partition": None if wait.cell is None else wait.cell.partition,
                    "newer": wait.newer,
                    "asks": wait.asks,
                    "fired_at": None,
                    "payload": None,
                    "error": None,
                }
            )

    def open_waits(self, task_ids: Sequence[TaskId]) -> None:
        for row in self._waits(task_ids):
            if row["state"] == "dormant":
                since = row["since"] or self._now
                self._db.wait.put(
                    row
                    | {
                        "state": "open",
                        "stint": row["stint"] + 1,
                        "since": since,
                        "error": None,
                        "deadline_at": since + timedelta(seconds=row["deadline_s"]),
                    }
                )

    def waits_of(self, task_ids: Sequence[TaskId]) -> list[Wait]:
        return [_wait_of(row) for row in self._waits(task_ids)]

    def _waits(self, task_ids: Sequence[TaskId]) -> Iterator[Row]:
        for task_id in sorted(set(task_ids)):
            yield from self._db.wait.find("task", task_id)

    def write_waits(self, updates: Sequence[WaitUpdate]) -> None:
        distinct(((one.key.task_id, one.key.place) for one in updates), "write_waits")
        for one in updates:
            row = self._db.wait.get((one.key.task_id, one.key.place))
            if row is None or (row["state"], row["stint"]) != ("open", one.key.stint):
                raise self._conflict(f"wait {one.key} is not open")
        for one in updates:
            self._db.wait.change(
                (one.key.task_id, one.key.place),
                state=one.state.value,
                payload=as_stored(one.payload),
                error=optional_text(one.error),
                fired_at=self._now if one.state is WaitState.FIRED else None,
            )

    def end_waits(self, task_ids: Sequence[TaskId]) -> None:
        for row in self._waits(task_ids):
            if row["state"] in ("open", "dormant"):
                self._db.wait.put(row | {"state": "ended"})

    def lock_overdue_skip(self, limit: int) -> list[Task]:
        rows = [row for row in self._open() if row["deadline_at"] <= self._now]
        rows.sort(key=lambda row: (row["deadline_at"], row["task_id"], row["place"]))
        return self._that_wait({row["task_id"] for row in rows[:limit]})

    def lock_met_skip(self, limit: int) -> list[Task]:
        met = sorted({row["task_id"] for row in self._open() if self._version_met(row) is not None})
        return self._that_wait(met[:limit])

    def met_cells(self, task_ids: Sequence[TaskId]) -> dict[WaitKey, str]:
        found: dict[WaitKey, str] = {}
        for row in self._waits(task_ids):
            version = self._version_met(row) if row["state"] == "open" else None
            if version is not None:
                found[WaitKey(row["task_id"], row["place"], row["stint"])] = version
        return found

    def _open(self) -> list[Row]:
        return self._db.wait.find("state", "open")

    def _that_wait(self, ids: Iterable[TaskId]) -> list[Task]:
        tasks = [task_of(self._db.task.rows[task_id]) for task_id in sorted(ids)]
        return [task for task in tasks if task.state in WAITING]

    def _version_met(self, row: Row) -> str | None:
        cell = None if row["asset_id"] is None else self._db.cell.get((row["asset_id"], row["partition"]))
        if cell is None or cell["data_version"] is None or (row["newer"] and cell["published_at"] <= row["since"]):
            return None
        version: str = cell["data_version"]
        return version

    def waiting_pins(self) -> list[QueuedPin]:
        pins = {_pin(row) for row in self._open() if row["triggerer_id"] is None and row["asset_id"] is None}
        return [QueuedPin(pin[0], *self._names(*pin)) for pin in sorted(pin for pin in pins if None not in pin)]

    def _names(self, location_id: LocationId, snapshot_id: SnapshotId) -> tuple[str, SnapshotId, str]:
        location, snapshot = self._db.location.get(location_id), self._db.snapshot.get(snapshot_id)
        return "" if location is None else location["name"], snapshot_id, "" if snapshot is None else snapshot["hash"]

    # -- triggerers
    def put_triggerer(self, triggerer_id: TriggererId, host: str, pid: int, lease_s: float) -> None:
        self._db.triggerer.put(
            {
                "id": triggerer_id,
                "host": host,
                "pid": pid,
                "started_at": self._now,
                "lease_expires_at": self._now + timedelta(seconds=lease_s),
                "state": "live",
            }
        )

    def renew_triggerer(self, triggerer_id: TriggererId, lease_s: float) -> bool:
        row = self._db.triggerer.get(triggerer_id)
        if row is None or row["state"] != "live":
            return False
        self._db.triggerer.change(triggerer_id, lease_expires_at=self._now + timedelta(seconds=lease_s))
        return True

    def retire_triggerer(self, triggerer_id: TriggererId) -> None:
        row = self._db.triggerer.get(triggerer_id)
        if row is not None and row["state"] == "live":
            self._db.triggerer.change(triggerer_id, lease_expires_at=self._now)

    def lock_lapsed_triggerers_skip(self, limit: int) -> list[Triggerer]:
        rows = [row for row in self._db.triggerer if row["state"] == "live" and row["lease_expires_at"] <= self._now]
        rows.sort(key=lambda row: (row["lease_expires_at"], row["id"]))
        return [
            Triggerer(row["id"], row["host"], row["pid"], row["lease_expires_at"], row["state"]) for row in rows[:limit]
        ]

    def release_waits(self, triggerers: Sequence[TriggererId]) -> int:
        released = 0
        for triggerer_id in set(triggerers):
            if triggerer_id in self._db.triggerer:
                self._db.triggerer.change(triggerer_id, state="gone")
            for row in self._db.wait.find("triggerer", triggerer_id):
                self._db.wait.put(row | {"triggerer_id": None, "watched": None})
                released += 1
        return released

    def claim_waits_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int
    ) -> list[Wait]:
        wanted = set(pins)
        rows = [
            row
            for row in self._open()
            if row["triggerer_id"] is None
            and row["asset_id"] is None
            and (row["location_id"], row["snapshot_id"]) in wanted
        ]
        rows.sort(key=lambda row: (row["deadline_at"], row["task_id"], row["place"]))
        claimed = [row | {"triggerer_id": triggerer_id, "watched": row["stint"]} for row in rows[:limit]]
        for row in claimed:
            self._db.wait.put(row)
        return [_wait_of(row) for row in claimed]

    def disown_waits(self, triggerer_id: TriggererId, keep: Sequence[WaitKey]) -> int:
        kept = set(keep)
        rows = [
            row
            for row in self._db.wait.find("triggerer", triggerer_id)
            if WaitKey(row["task_id"], row["place"], row["watched"]) not in kept
        ]
        for row in rows:
            self._db.wait.put(row | {"triggerer_id": None, "watched": None})
        return len(rows)

    def drop_waits(self, triggerer_id: TriggererId) -> list[WaitKey]:
        dropped: list[WaitKey] = []
        for row in self._db.wait.find("triggerer", triggerer_id):
            if row["state"] != "open" or row["watched"] != row["stint"]:
                self._db.wait.put(row | {"triggerer_id": None, "watched": None})
                dropped.append(WaitKey(row["task_id"], row["place"], row["watched"]))
        return dropped
