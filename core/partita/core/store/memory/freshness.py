"""Freshness policies, late spans and the story of cells, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from partita.core.store.encode import as_stored, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values_freshness import (
    AttemptStory,
    Freshness,
    FreshnessUpdate,
    FreshState,
    LateSpan,
    TaskStory,
)
from partita.core.store.values_ids import AssetId, CellRef
from partita.core.store.values_tasks import TaskState


class FreshnessPart(MemoryPart):
    def set_freshness(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        for asset_id in set(unwanted):
            if asset_id in self._db.freshness:
                self._db.freshness.delete(asset_id)
            self._end_late(asset_id)
        for asset_id, policy in sorted(wanted.items()):
            known = self._db.freshness.get(asset_id)
            if known is None:
                self._db.freshness.put(
                    {
                        "asset_id": asset_id,
                        "policy": policy,
                        "since": self._now,
                        "state": "unknown",
                        "state_since": self._now,
                        **dict.fromkeys(("due_at", "fresh_to", "awaited", "burn", "burn_since", "looked_at")),
                        "next_at": self._now,
                    }
                )
            elif known["policy"] != policy:
                self._end_late(asset_id)
                gone = dict.fromkeys(("burn", "burn_since", "due_at", "awaited"))
                now = dict.fromkeys(("since", "state_since", "next_at"), self._now)
                self._db.freshness.change(asset_id, policy=policy, state="unknown", **now, **gone)

    def _end_late(self, asset_id: AssetId) -> None:
        for row in self._db.late_span:
            if row["asset_id"] == asset_id and row["until_at"] is None:
                self._db.late_span.put(row | {"until_at": self._now})

    def take_due_freshness_skip(self, limit: int) -> list[Freshness]:
        due = [
            row
            for row in self._db.freshness
            if row["state"] == "late" or (row["next_at"] is not None and row["next_at"] <= self._now)
        ]
        due.sort(key=lambda row: (row["looked_at"] is not None, row["looked_at"] or self._now, row["asset_id"]))
        return [_freshness(row) for row in due[:limit]]

    def freshness_of(self, assets: Collection[AssetId]) -> dict[AssetId, Freshness]:
        rows = (self._db.freshness.get(asset_id) for asset_id in sorted(set(assets)))
        return {row["asset_id"]: _freshness(row) for row in rows if row is not None}

    def late_spans(self, assets: Collection[AssetId], after: datetime) -> dict[AssetId, list[LateSpan]]:
        wanted = set(assets)
        found: dict[AssetId, list[LateSpan]] = {}
        for row in self._db.late_span.sorted_rows():
            if row["asset_id"] in wanted and (row["until_at"] is None or row["until_at"] > after):
                found.setdefault(row["asset_id"], []).append(LateSpan(**row))
        return found

    def write_freshness(self, updates: Sequence[FreshnessUpdate]) -> None:
        distinct((one.asset_id for one in updates), "write_freshness")
        for one in updates:
            if one.asset_id not in self._db.freshness:
                raise self._conflict("the policies of a look")
            self._db.freshness.change(
                one.asset_id,
                state=one.state.value,
                state_since=one.state_since,
                due_at=one.due_at,
                fresh_to=one.fresh_to,
                awaited=optional_text(one.awaited),
                burn=one.burn,
                burn_since=one.burn_since,
                next_at=one.next_at,
                looked_at=self._now,
            )

    def put_late_spans(self, spans: Sequence[LateSpan]) -> None:
        distinct(((one.asset_id, one.from_at) for one in spans), "put_late_spans")
        for one in spans:
            known = self._db.late_span.get((one.asset_id, one.from_at))
            row = {
                "asset_id": one.asset_id,
                "from_at": one.from_at,
                "counted_from": one.counted_from,
                "partition": optional_text(one.partition),
            }
            self._db.late_span.put((known or row) | {"until_at": one.until_at, "spent": as_stored(dict(one.spent))})

    def prune_late_spans(self, assets: Collection[AssetId], before: datetime) -> None:
        wanted = set(assets)
        for row in self._db.late_span:
            if row["asset_id"] in wanted and row["until_at"] is not None and row["until_at"] <= before:
                self._db.late_span.delete(self._db.late_span.key_of(row))

    def read_began(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        found: dict[CellRef, datetime] = {}
        for cell in sorted(set(cells)):
            row = self._db.cell.get((cell.asset_id, cell.partition))
            made = None if row is None else self._db.attempt.get(row["published_attempt"])
            if made is not None:
                found[cell] = made["started_at"]
        return found

    def failed_checks(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        found: dict[CellRef, datetime] = {}
        for cell in sorted(set(cells)):
            row = self._db.cell.get((cell.asset_id, cell.partition))
            at = [
                check["at"]
                for check in self._db.check_result
                if row is not None
                and (check["attempt_id"], check["asset_id"], check["partition"])
                == (row["last_attempt"], cell.asset_id, cell.partition)
                and not check["passed"]
            ]
            if at:
                found[cell] = max(at)
        return found

    def stories(self, cells: Collection[CellRef], tasks: int) -> dict[CellRef, list[TaskStory]]:
        found: dict[CellRef, list[TaskStory]] = {}
        for cell in sorted(set(cells)):
            ids = sorted(
                row["task_id"]
                for row in self._db.task_cell
                if (row["asset_id"], row["partition"]) == (cell.asset_id, cell.partition)
            )
            if ids:
                found[cell] = [self._story(self._db.task.rows[one]) for one in ids[-tasks:]]
        return found

    def _story(self, task: Row) -> TaskStory:
        attempts = sorted(
            (row for row in self._db.attempt if row["task_id"] == task["id"]),
            key=lambda row: (row["number"], row["id"]),
        )
        waits = [row for row in self._db.wait.find("task", task["id"]) if row["since"] is not None]
        return TaskStory(
            task["id"],
            task["created_at"],
            task["ready_at"],
            task["finished_at"],
            TaskState(task["state"]),
            tuple(
                AttemptStory(row["queued_at"], row["started_at"], row["finished_at"], row["outcome"])
                for row in attempts
            ),
            tuple((row["since"], None if row["state"] == "open" else row["fired_at"] or row["since"]) for row in waits),
        )


def _freshness(row: Row) -> Freshness:
    return Freshness(**{**row, "state": FreshState(row["state"])})
