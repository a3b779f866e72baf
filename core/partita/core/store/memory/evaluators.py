"""Observers, schedules and sensors, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from partita.assets.condition_specs import CatchUp
from partita.core.store.encode import as_stored, clean_text, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values_definitions import QueuedPin
from partita.core.store.values_evaluators import (
    Asked,
    AskedUpdate,
    EvaluationEnd,
    EvaluationOutcome,
    Evaluator,
    EvaluatorId,
    EvaluatorRow,
    EvaluatorUpdate,
    NewAsked,
    News,
)
from partita.core.store.values_ids import AssetId, LocationId, SnapshotId
from partita.core.store.values_waits import TriggererId


class EvaluatorsPart(MemoryPart):
    def lock_evaluators_of(self, location_id: LocationId) -> list[Evaluator]:
        rows = [row for row in self._db.evaluator.sorted_rows() if row["location_id"] == location_id]
        return [_evaluator(row) for row in rows]

    def put_evaluators(self, location_id: LocationId, rows: Sequence[EvaluatorRow]) -> None:
        distinct((one.name for one in rows), "put_evaluators")
        known = {row["name"]: row for row in self._db.evaluator if row["location_id"] == location_id}
        for one in sorted(rows, key=lambda one: clean_text(one.name)):
            name = clean_text(one.name)
            said: Row = {
                "kind": one.kind,
                "snapshot_id": one.snapshot_id,
                "spec": as_stored(one.spec),
                "tick_at": one.tick_at,
                "due_at": one.due_at,
                "retired_at": self._now if one.retired else None,
            }
            if name in known:
                self._db.evaluator.change(known[name]["id"], **said)
            else:
                self._db.evaluator.put(
                    {
                        "id": self._db.next("evaluator"),
                        "location_id": location_id,
                        "name": name,
                        **said,
                        **dict.fromkeys(_EMPTY),
                        "position": one.position,
                        "failures": 0,
                        "token": 0,
                        "created_at": self._now,
                    }
                )

    def due_evaluator_pins(self) -> list[QueuedPin]:
        found = []
        for pin in sorted({(row["location_id"], row["snapshot_id"]) for row in self._due_evaluators()}):
            location, snapshot = self._db.location.get(pin[0]), self._db.snapshot.get(pin[1])
            name = "" if location is None else location["name"]
            found.append(QueuedPin(pin[0], name, pin[1], "" if snapshot is None else snapshot["hash"]))
        return found

    def claim_evaluators_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, *, failing: bool
    ) -> list[Evaluator]:
        wanted = set(pins)
        due = [row for row in self._due_evaluators() if (row["failures"] > 0) == failing]
        rows = [row for row in due if (row["location_id"], row["snapshot_id"]) in wanted]
        rows.sort(key=lambda row: (row["due_at"], row["id"]))
        claimed = []
        for row in rows[:limit]:
            begun = row | {"triggerer_id": triggerer_id, "token": row["token"] + 1, "started_at": self._now}
            self._db.evaluator.put(begun)
            claimed.append(_evaluator(begun))
        return claimed

    def drop_evaluators(self, triggerer_id: TriggererId, running: Collection[EvaluatorId]) -> int:
        held = [row for row in self._db.evaluator if row["triggerer_id"] == triggerer_id and row["id"] not in running]
        for row in held:
            self._db.evaluator.put(row | {"triggerer_id": None})
        return len(held)

    def release_evaluators(self, triggerers: Sequence[TriggererId]) -> int:
        held = [row for row in self._db.evaluator if row["triggerer_id"] in set(triggerers)]
        for row in held:
            self._db.evaluator.put(row | {"triggerer_id": None})
        return len(held)

    def lock_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        row = self._db.evaluator.get(evaluator_id)
        return None if row is None else _evaluator(row)

    def read_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        return self.lock_evaluator(evaluator_id)

    def write_evaluator(self, update: EvaluatorUpdate) -> None:
        row = self._db.evaluator.get(update.id)
        if row is None:
            raise self._conflict(f"evaluator {update.id}")
        self._db.evaluator.put(
            row
            | {
                "cursor": optional_text(update.cursor),
                "position": update.position,
                "tick_at": update.tick_at,
                "due_at": update.due_at,
                "failures": update.failures,
            }
            | ({"triggerer_id": None} if update.free else {})
        )

    def pause_evaluator(self, evaluator_id: EvaluatorId, by: str | None) -> None:
        if evaluator_id in self._db.evaluator:
            at = None if by is None else self._now
            self._db.evaluator.change(evaluator_id, paused_by=optional_text(by), paused_at=at)

    def catch_up_evaluator(self, evaluator_id: EvaluatorId, catch_up: CatchUp | None, pace: int | None) -> None:
        if evaluator_id in self._db.evaluator:
            self._db.evaluator.change(evaluator_id, catch_up=catch_up, pace=pace)

    def active_of_evaluator(self, evaluator_id: EvaluatorId) -> int:
        causes = [row["cause"] for row in self._db.run if row["state"] == "running"]
        planned = [one for one in causes if one.get("evaluator") == evaluator_id]
        asked = [row for row in self._db.asked if row["state"] == "open" and row["evaluator_id"] == evaluator_id]
        return len(planned) + len(asked)

    def end_evaluation(self, end: EvaluationEnd, *, kept: int) -> None:
        row = self._db.evaluator.get(end.evaluator_id)
        if row is None:
            raise self._conflict(f"evaluator {end.evaluator_id}")
        told: Row = {
            "ended_at": self._now,
            "outcome": end.outcome.value,
            "error": optional_text(end.error),
            "detail": None if end.detail is None else as_stored(end.detail),
        }
        self._db.evaluator.put(row | told)
        for old in [one for one in self._db.evaluation if one["evaluator_id"] == end.evaluator_id]:
            if old["token"] <= end.token - kept:
                self._db.evaluation.delete((old["evaluator_id"], old["token"]))
        for one in [one for one in self._db.asked if one["evaluator_id"] == end.evaluator_id and one["key"] is None]:
            if one["token"] <= end.token - kept and one["state"] != "open":
                self._db.asked.delete(one["id"])
        if end.outcome is EvaluationOutcome.NOTHING and end.tick_at is None:
            return
        self._refuse_twice(end)
        self._db.evaluation.put(
            {
                "evaluator_id": end.evaluator_id,
                "token": end.token,
                "tick_at": end.tick_at,
                "started_at": row["started_at"],
                **told,
                "traceback": optional_text(end.traceback),
                "log": optional_text(end.log),
            }
        )

    def _refuse_twice(self, end: EvaluationEnd) -> None:
        if (end.evaluator_id, end.token) in self._db.evaluation:
            raise self._violation(f"evaluation {end.token} of evaluator {end.evaluator_id} has ended already")
        if end.tick_at is None or end.outcome is EvaluationOutcome.FAILED:
            return
        for row in self._db.evaluation:
            same = row["evaluator_id"] == end.evaluator_id and row["tick_at"] == end.tick_at
            if same and row["outcome"] != EvaluationOutcome.FAILED.value:
                raise self._violation(f"tick {end.tick_at} of evaluator {end.evaluator_id} was evaluated already")

    def read_news(
        self,
        position: str | None,
        kinds: Collection[str],
        assets: Collection[AssetId],
        limit: int,
        *,
        steps: Collection[str] = (),
        states: Collection[str] = (),
    ) -> tuple[list[News], str]:
        end = f"0:{self._last_event}"
        if position is None:
            return [], end
        after = int(position.partition(":")[2])
        rows = [
            row
            for row in self._db.event.sorted_rows()
            if after < row["id"] <= self._last_event
            and row["kind"] in kinds
            and (row["asset_id"] is None or row["asset_id"] in assets)
            and (row["kind"] != "task" or (row["body"].get("step") in steps and row["body"].get("state") in states))
        ]
        names = ("id", "at", "kind", "asset_id", "partition", "run_id", "task_id", "body")
        found = [News(**{name: row[name] for name in names}) for row in rows[:limit]]
        return found, f"0:{found[-1].id}" if len(found) == limit else end

    # -- what they asked for
    def insert_asked(self, asked: Sequence[NewAsked]) -> int:
        keys = {(row["evaluator_id"], row["key"]) for row in self._db.asked if row["key"] is not None}
        new = 0
        for one in asked:
            key = optional_text(one.key)
            asked_id = self._db.next("asked")  # a conflict draws one, too
            if key is not None and (one.evaluator_id, key) in keys:
                continue
            keys.add((one.evaluator_id, key))
            new += 1
            self._db.asked.put(
                {
                    "id": asked_id,
                    "evaluator_id": one.evaluator_id,
                    "token": one.token,
                    "key": key,
                    "request": as_stored(one.request),
                    "state": "open",
                    "run_id": None,
                    "error": None,
                    "asked_at": self._now,
                    "due_at": self._now,
                    "done_at": None,
                }
            )
        return new

    def take_asked_skip(self, limit: int) -> list[Asked]:
        rows = [row for row in self._db.asked if row["state"] == "open" and row["due_at"] <= self._now]
        rows.sort(key=lambda row: (row["due_at"], row["id"]))
        names = ("id", "evaluator_id", "token", "key", "request", "asked_at")
        return [Asked(**{name: row[name] for name in names}) for row in rows[:limit]]

    def end_asked(self, updates: Sequence[AskedUpdate]) -> None:
        distinct((one.id for one in updates), "end_asked")
        for one in sorted(updates, key=lambda one: one.id):
            if one.id not in self._db.asked:
                raise self._conflict("what evaluations asked for")
            again = one.until is not None
            self._db.asked.change(
                one.id,
                state=one.state.value,
                run_id=one.run_id,
                error=optional_text(one.error),
                done_at=None if again else self._now,
                **({"due_at": one.until} if again else {}),
            )

    def _due_evaluators(self) -> list[Row]:
        return [
            row
            for row in self._db.evaluator
            if row["triggerer_id"] is None
            and row["paused_at"] is None
            and row["retired_at"] is None
            and row["due_at"] is not None
            and row["due_at"] <= self._now
        ]


_EMPTY = (
    "cursor", "position", "triggerer_id", "started_at", "ended_at", "outcome", "error", "detail", "paused_by", "paused_at",
    "catch_up", "pace",
)  # fmt: skip


def _evaluator(row: Row) -> Evaluator:
    names = (
        "id", "location_id", "name", "kind", "snapshot_id", "spec", "cursor", "position", "tick_at", "due_at", "failures",
        "token", "triggerer_id", "catch_up", "pace",
    )  # fmt: skip
    return Evaluator(
        **{name: row[name] for name in names},
        paused=row["paused_at"] is not None,
        retired=row["retired_at"] is not None,
    )
