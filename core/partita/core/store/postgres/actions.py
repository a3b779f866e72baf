"""What people did by hand: the audit, and what they paused."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from partita.core.store.encode import clean_text, optional_json, pool_set_text, to_json
from partita.core.store.postgres.base import TASK_COLUMNS, TERMINAL, PostgresPart
from partita.core.store.sql import text
from partita.core.store.values_actions import AuditId, Pause, Told
from partita.core.store.values_ids import AssetId, PoolUse, RunId, TaskId
from partita.core.store.values_tasks import Task

AUDIT = text("""
    INSERT INTO audit (who, action, detail, reason, undo_of)
    VALUES (:who, :action, CAST(:detail AS jsonb), :reason, :undo_of) RETURNING id
""")

TAG_RUNS = text("""
    INSERT INTO run_tag (run_id, name, value)
    SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:names AS text[]), CAST(:values AS text[]))
""")

LOCK_ASSETS = text("SELECT id FROM asset WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE")

PAUSES = text("SELECT asset_id, paused_by, paused_at, reason FROM pause ORDER BY asset_id")
PUT_PAUSES = text("""
    INSERT INTO pause (asset_id, paused_by, reason)
    SELECT u.id, :by, :reason FROM unnest(CAST(:ids AS bigint[])) AS u(id) ORDER BY u.id
    ON CONFLICT DO NOTHING RETURNING asset_id
""")
END_PAUSES = text("DELETE FROM pause WHERE asset_id = ANY(CAST(:ids AS bigint[])) RETURNING asset_id")

# ANY(ARRAY(...)): the ids are found first, by the assets' part of the key of open_cell.
LOCK_OPEN_TASKS_OF = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT DISTINCT o.task_id FROM open_cell o WHERE o.asset_id = ANY(CAST(:assets AS bigint[]))))
      AND t.kind = 'step' AND t.state NOT IN {TERMINAL}
    ORDER BY t.id FOR NO KEY UPDATE OF t
""")
# Every open step owns a cell.
LOCK_OPEN_TASKS = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT DISTINCT o.task_id FROM open_cell o)) AND t.kind = 'step' AND t.state NOT IN {TERMINAL}
    ORDER BY t.id FOR NO KEY UPDATE OF t
""")
ASSETS_OF_OPEN_TASKS = text("""
    SELECT DISTINCT o.task_id, o.asset_id FROM open_cell o WHERE o.task_id = ANY(CAST(:ids AS bigint[]))
""")
SET_TASK_POOLS = text("""
    UPDATE task t
    SET pool_set = u.pool_set, reason = CASE WHEN u.told THEN u.reason ELSE t.reason END,
        reason_detail = CASE WHEN u.told THEN u.reason_detail ELSE t.reason_detail END
    FROM unnest(CAST(:ids AS bigint[]), CAST(:pool_sets AS text[]), CAST(:told AS boolean[]), CAST(:reasons AS text[]),
                CAST(:details AS jsonb[])) AS u(id, pool_set, told, reason, reason_detail)
    WHERE t.id = u.id
""")


class ActionsPart(PostgresPart):
    def audit(
        self,
        who: str,
        action: str,
        detail: Mapping[str, Any],
        *,
        reason: str = "",
        undo_of: AuditId | None = None,
    ) -> AuditId:
        [row] = self._rows(
            AUDIT,
            who=clean_text(who),
            action=action,
            detail=to_json(detail),
            reason=clean_text(reason),
            undo_of=undo_of,
        )
        return AuditId(row[0])

    def tag_runs(self, tags: Mapping[RunId, Mapping[str, str]]) -> None:
        rows = [(run_id, name, value) for run_id, own in sorted(tags.items()) for name, value in sorted(own.items())]
        if rows:
            self._execute(
                TAG_RUNS,
                runs=[row[0] for row in rows],
                names=[clean_text(row[1]) for row in rows],
                values=[clean_text(row[2]) for row in rows],
            )

    def lock_assets(self, ids: Collection[AssetId]) -> None:
        self._rows(LOCK_ASSETS, ids=sorted(set(ids)))

    def pauses(self) -> dict[AssetId, Pause]:
        return {row[0]: Pause(*row) for row in self._rows(PAUSES)}

    def put_pauses(self, ids: Collection[AssetId], by: str, reason: str) -> list[AssetId]:
        rows = self._rows(PUT_PAUSES, ids=sorted(set(ids)), by=clean_text(by), reason=clean_text(reason))
        return sorted(row[0] for row in rows)

    def end_pauses(self, ids: Collection[AssetId]) -> list[AssetId]:
        return sorted(row[0] for row in self._rows(END_PAUSES, ids=sorted(set(ids))))

    def lock_open_tasks_of(self, assets: Collection[AssetId] | None) -> list[Task]:
        if assets is None:
            return self._tasks(LOCK_OPEN_TASKS)
        return self._tasks(LOCK_OPEN_TASKS_OF, assets=sorted(set(assets)))

    def assets_of_open_tasks(self, ids: Collection[TaskId]) -> dict[TaskId, frozenset[AssetId]]:
        found: dict[TaskId, set[AssetId]] = defaultdict(set)
        for task_id, asset_id in self._rows(ASSETS_OF_OPEN_TASKS, ids=sorted(set(ids))):
            found[task_id].add(asset_id)
        return {task_id: frozenset(assets) for task_id, assets in found.items()}

    def set_task_pools(self, pools: Mapping[TaskId, tuple[PoolUse, ...]], told: Mapping[TaskId, Told]) -> None:
        if not pools:
            return
        ids = sorted(pools)
        says = [told.get(one, (None, None)) for one in ids]
        texts = {id(detail): optional_json(detail) for _, detail in says}  # nearly all say the same
        self._execute(
            SET_TASK_POOLS,
            ids=ids,
            pool_sets=[pool_set_text(pools[one]) for one in ids],
            told=[one in told for one in ids],
            reasons=[reason and reason.value for reason, _ in says],
            details=[texts[id(detail)] for _, detail in says],
        )
