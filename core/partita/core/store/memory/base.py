"""What every part of the in-memory transaction shares: the tables, the instant, and rows read as values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from partita.core.store.encode import pool_set_of, retry_of, to_json
from partita.core.store.memory.tables import Database, Row
from partita.core.store.port import Conflict, Violation
from partita.core.store.values import CellFact, CellRef, Task, TaskState, WaitReason, WaitStage

T = TypeVar("T")


def task_of(row: Row) -> Task:
    return Task(
        id=row["id"],
        run_id=row["run_id"],
        kind=row["kind"],
        step=row["step"],
        location_id=row["location_id"],
        snapshot_id=row["snapshot_id"],
        state=TaskState(row["state"]),
        outcome=row["outcome"],
        rule=row["rule"],
        waiting_on=row["waiting_on"],
        good_upstream=row["good_upstream"],
        bad_upstream=row["bad_upstream"],
        skip_upstream=row["skip_upstream"],
        pools=pool_set_of(row["pool_set"]),
        lane=row["lane"],
        fair_key=row["fair_key"],
        priority=row["priority"],
        critical_path=row["critical_path"],
        conditional=row["conditional"],
        attempt_number=row["attempt_number"],
        user_failures=row["user_failures"],
        infra_losses=row["infra_losses"],
        retry=retry_of(to_json(row["retry"])),
        timeout_s=row["timeout_s"],
        not_before=row["not_before"],
        worker_id=row["worker_id"],
        attempt_id=row["attempt_id"],
        fence=row["fence"],
        cell_count=row["cell_count"],
        cancel_requested=row["cancel_requested"],
        ready_at=row["ready_at"],
        queued_at=row["queued_at"],
        reason=None if row["reason"] is None else WaitReason(row["reason"]),
        reason_detail=row["reason_detail"],
        waits=None if row["waits"] is None else WaitStage(row["waits"]),
        queue=row["queue"],
    )


class MemoryPart:
    """The base of the parts of `MemoryTx`."""

    def __init__(self, db: Database, now: datetime) -> None:
        self._db = db
        self._now = now
        self.poisoned: str | None = None
        self._last_event = db.last("event")
        """Events beyond it are this transaction's own."""

    def now(self) -> datetime:
        return self._now

    def _conflict(self, what: str) -> Conflict:
        self.poisoned = what
        return Conflict(what)

    def _violation(self, what: str) -> Violation:
        self.poisoned = what
        return Violation(what)

    def _fact(self, row: Row) -> CellFact:
        def text(fingerprint_id: int | None) -> str | None:
            return None if fingerprint_id is None else self._db.fingerprint.rows[fingerprint_id]["text"]

        return CellFact(
            cell=CellRef(row["asset_id"], row["partition"]),
            fence=row["fence"],
            data_version=row["data_version"],
            fingerprint=text(row["fingerprint_id"]),
            dependency_hash=text(row["dependency_hash_id"]),
            consumed_digest=row["consumed_digest"],
            location=row["location"],
            last_outcome=row["last_outcome"],
            published_at=row["published_at"],
            version_at=row["version_at"],
            last_attempt_at=row["last_attempt_at"],
        )

    def _append_change(self, cell: CellRef) -> None:
        self._db.cell_change.put(
            {"seq": self._db.next("cell_change"), "asset_id": cell.asset_id, "partition": cell.partition}
        )

    def intern(self, texts: Iterable[str]) -> dict[str, int]:
        ids: dict[str, int] = {}
        for text in sorted(set(texts)):
            found = self._db.fingerprint.find("text", text)
            if not found:
                found = [{"id": self._db.next("fingerprint"), "text": text}]
                self._db.fingerprint.put(found[0])
            ids[text] = found[0]["id"]
        return ids


def last(value: Any) -> tuple[bool, Any]:
    """A sort key that puts None last, as ascending order does in Postgres."""
    return (value is None, value)


def distinct(keys: Iterable[Any], what: str) -> None:
    """Refuses a set write that names one row twice (Postgres would write one of the two)."""
    seen: set[Any] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{what} names {key!r} twice in one write: merge the two before writing")
        seen.add(key)
