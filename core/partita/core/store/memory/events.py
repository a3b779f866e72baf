"""The outbox in memory: events, one todo row per consumer, requests once per cause, owners."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from partita.core.store.encode import as_stored
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row
from partita.core.store.values import AutomationRequest, CellRef, NewEvent, RunId, TaskId, TodoEvent


class EventsPart(MemoryPart):
    def append_events(self, events: Sequence[NewEvent]) -> None:
        for event in events:
            if event.for_consumers and (event.asset_id is None or event.partition is None):
                raise ValueError(
                    f"the {event.kind} event is for consumers and names no cell: give asset_id and partition"
                )
        for event in events:
            event_id = self._db.next("event")
            self._db.event.put(
                {
                    "id": event_id,
                    "at": self._now,
                    "kind": event.kind,
                    "asset_id": event.asset_id,
                    "partition": event.partition,
                    "run_id": event.run_id,
                    "task_id": event.task_id,
                    "body": as_stored(event.body),
                }
            )
            for consumer in set(event.for_consumers):
                self._db.event_todo.put(self._todo(consumer, event_id, event.asset_id, event.partition, event.run_id))

    def _todo(
        self, consumer: str, event_id: int, asset_id: int | None, partition: str | None, run_id: int | None
    ) -> Row:
        return {
            "event_id": event_id,
            "consumer": consumer,
            "asset_id": asset_id,
            "partition": partition,
            "run_id": run_id,
            "created_at": self._now,
        }

    def peek_todo(self, consumer: str, limit: int) -> list[TodoEvent]:
        rows = [row for row in self._db.event_todo if row["consumer"] == consumer]
        rows.sort(key=lambda row: (row["created_at"], row["event_id"]))
        return [
            TodoEvent(row["event_id"], CellRef(row["asset_id"], row["partition"]), row["run_id"])
            for row in rows[:limit]
        ]

    def take_todo_skip(self, consumer: str, limit: int) -> list[TodoEvent]:
        rows = [row for row in self._db.event_todo if row["consumer"] == consumer and row["created_at"] <= self._now]
        rows.sort(key=lambda row: (row["created_at"], row["event_id"]))
        for row in rows[:limit]:
            self._db.event_todo.delete((consumer, row["event_id"]))
        return [
            TodoEvent(row["event_id"], CellRef(row["asset_id"], row["partition"]), row["run_id"])
            for row in rows[:limit]
        ]

    def traceparents(self, events: Collection[int]) -> set[str]:
        rows = (self._db.event.get(event_id) for event_id in events)
        return {row["body"]["traceparent"] for row in rows if row is not None and "traceparent" in row["body"]}

    def put_back_todo(self, consumer: str, events: Sequence[TodoEvent], *, until: datetime | None = None) -> None:
        for event in events:
            if (consumer, event.event_id) not in self._db.event_todo:
                cell = event.cell
                self._db.event_todo.put(
                    self._todo(consumer, event.event_id, cell.asset_id, cell.partition, event.run_id)
                    | {"created_at": until or self._now}
                )

    def insert_automation_requests(self, requests: Sequence[AutomationRequest]) -> set[CellRef]:
        new: set[CellRef] = set()
        for request in requests:
            row = {
                "asset_id": request.cell.asset_id,
                "partition": request.cell.partition,
                "state_digest": request.state_digest,
                "run_id": request.run_id,
                "cause": as_stored(request.cause),
                "verdict": None if request.verdict is None else as_stored(request.verdict),
                "at": self._now,
            }
            if self._db.automation_request.key_of(row) not in self._db.automation_request:
                self._db.automation_request.put(row)
                new.add(request.cell)
        return new

    def known_requests(self, states: Mapping[CellRef, int]) -> set[CellRef]:
        known = self._db.automation_request
        return {cell for cell, state in states.items() if (cell.asset_id, cell.partition, state) in known}

    def withdraw_requests(self, run_id: RunId, cells: Collection[CellRef]) -> None:
        known = self._db.automation_request
        wanted = {(cell.asset_id, cell.partition) for cell in cells}
        for row in known.sorted_rows():
            if row["run_id"] == run_id and (row["asset_id"], row["partition"]) in wanted:
                known.delete(known.key_of(row))

    def open_owners(self, cells: Sequence[CellRef]) -> dict[CellRef, TaskId]:
        owners: dict[CellRef, TaskId] = {}
        for cell in sorted(set(cells)):
            row = self._db.open_cell.get((cell.asset_id, cell.partition))
            if row is not None:
                owners[cell] = row["task_id"]
        return owners
