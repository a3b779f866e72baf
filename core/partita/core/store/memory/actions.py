"""What people did by hand, in memory: the audit, and what they paused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from partita.core.store.encode import as_stored, clean_text, pool_set_text
from partita.core.store.memory.base import MemoryPart, task_of
from partita.core.store.values_actions import AuditId, Pause, Told
from partita.core.store.values_ids import AssetId, PoolUse, RunId, TaskId
from partita.core.store.values_tasks import Task


class ActionsPart(MemoryPart):
    def audit(
        self,
        who: str,
        action: str,
        detail: Mapping[str, Any],
        *,
        reason: str = "",
        undo_of: AuditId | None = None,
    ) -> AuditId:
        audit_id = AuditId(self._db.next("audit"))
        if undo_of is not None and self._db.audit.find("undo_of", undo_of):
            raise self._violation(f"the audit's entry {undo_of} was taken back before")
        self._db.audit.put(
            {
                "id": audit_id,
                "at": self._now,
                "who": clean_text(who),
                "action": action,
                "detail": as_stored(detail),
                "reason": clean_text(reason),
                "undo_of": undo_of,
            }
        )
        return audit_id

    def tag_runs(self, tags: Mapping[RunId, Mapping[str, str]]) -> None:
        for run_id, own in sorted(tags.items()):
            for name, value in sorted(own.items()):
                row = {"run_id": run_id, "name": clean_text(name), "value": clean_text(value)}
                if self._db.run_tag.key_of(row) in self._db.run_tag:
                    raise self._violation(f"run {run_id} has the tag {name!r} already")
                self._db.run_tag.put(row)

    def lock_assets(self, ids: Collection[AssetId]) -> None:
        """Nothing: transactions are serial."""

    def pauses(self) -> dict[AssetId, Pause]:
        rows = self._db.pause.sorted_rows()
        return {
            row["asset_id"]: Pause(row["asset_id"], row["paused_by"], row["paused_at"], row["reason"]) for row in rows
        }

    def put_pauses(self, ids: Collection[AssetId], by: str, reason: str) -> list[AssetId]:
        new = [one for one in sorted(set(ids)) if one not in self._db.pause]
        for asset_id in new:
            self._db.pause.put(
                {
                    "asset_id": asset_id,
                    "paused_by": clean_text(by),
                    "paused_at": self._now,
                    "reason": clean_text(reason),
                }
            )
        return new

    def end_pauses(self, ids: Collection[AssetId]) -> list[AssetId]:
        ended = [one for one in sorted(set(ids)) if one in self._db.pause]
        for asset_id in ended:
            self._db.pause.delete(asset_id)
        return ended

    def lock_open_tasks_of(self, assets: Collection[AssetId] | None) -> list[Task]:
        owned = (row for row in self._db.open_cell if assets is None or row["asset_id"] in assets)
        rows = (self._db.task.get(task_id) for task_id in sorted({row["task_id"] for row in owned}))
        tasks = (task_of(row) for row in rows if row is not None and row["kind"] == "step")
        return [task for task in tasks if not task.state.terminal]

    def assets_of_open_tasks(self, ids: Collection[TaskId]) -> dict[TaskId, frozenset[AssetId]]:
        found = {one: frozenset(row["asset_id"] for row in self._db.open_cell.find("task", one)) for one in set(ids)}
        return {task_id: assets for task_id, assets in found.items() if assets}

    def set_task_pools(self, pools: Mapping[TaskId, tuple[PoolUse, ...]], told: Mapping[TaskId, Told]) -> None:
        for task_id, uses in pools.items():
            if task_id not in self._db.task:
                continue
            self._db.task.change(task_id, pool_set=pool_set_text(uses))
            if task_id in told:
                reason, detail = told[task_id]
                self._db.task.change(task_id, reason=reason and reason.value, reason_detail=as_stored(detail))
