"""Freshness policies, late spans, and the story of cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from partita.core.store.encode import optional_text, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, ordered
from partita.core.store.sql import text
from partita.core.store.values_freshness import (
    AttemptStory,
    Freshness,
    FreshnessUpdate,
    FreshState,
    LateSpan,
    TaskStory,
)
from partita.core.store.values_ids import AssetId, CellRef, TaskId
from partita.core.store.values_tasks import TaskState

_FRESHNESS = (
    "asset_id, policy, since, state, state_since, due_at, fresh_to, awaited, burn, burn_since, looked_at, next_at"
)
_SPAN = "asset_id, from_at, until_at, counted_from, partition, spent"

SET_FRESHNESS = text("""
    INSERT INTO freshness AS f (asset_id, policy, since, state_since, next_at)
    SELECT u.asset_id, u.policy, now(), now(), now()
    FROM unnest(CAST(:assets AS bigint[]), CAST(:policies AS text[])) AS u(asset_id, policy)
    ORDER BY u.asset_id
    ON CONFLICT (asset_id) DO UPDATE
    SET policy = excluded.policy, since = now(), state = 'unknown', state_since = now(), burn = NULL, burn_since = NULL,
        due_at = NULL, awaited = NULL, next_at = now()
    WHERE f.policy <> excluded.policy
""")

# Another policy begins anew; what was late by the one before was late until now.
END_CHANGED_SPANS = text("""
    UPDATE late_span s SET until_at = now()
    FROM unnest(CAST(:assets AS bigint[]), CAST(:policies AS text[])) AS u(asset_id, policy)
    JOIN freshness f ON f.asset_id = u.asset_id AND f.policy <> u.policy
    WHERE s.asset_id = u.asset_id AND s.until_at IS NULL
""")

DELETE_FRESHNESS = text("DELETE FROM freshness WHERE asset_id = ANY(CAST(:assets AS bigint[]))")

# Of an asset that nobody watches any more the lateness ends, too.
END_LATE_SPANS = text("""
    UPDATE late_span SET until_at = now() WHERE asset_id = ANY(CAST(:assets AS bigint[])) AND until_at IS NULL
""")

TAKE_DUE_FRESHNESS = text(f"""
    SELECT {_FRESHNESS} FROM freshness WHERE next_at <= now() OR state = 'late'
    ORDER BY looked_at NULLS FIRST, asset_id LIMIT :limit FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - a constant of this module

FRESHNESS_OF = text(f"SELECT {_FRESHNESS} FROM freshness WHERE asset_id = ANY(CAST(:assets AS bigint[]))")  # noqa: S608 - as above

LATE_SPANS = text(f"""
    SELECT {_SPAN} FROM late_span
    WHERE asset_id = ANY(CAST(:assets AS bigint[])) AND (until_at IS NULL OR until_at > :after) ORDER BY asset_id, from_at
""")  # noqa: S608 - as above

WRITE_FRESHNESS = text("""
    UPDATE freshness f
    SET state = u.state, state_since = u.state_since, due_at = u.due_at, fresh_to = u.fresh_to, awaited = u.awaited,
        burn = u.burn, burn_since = u.burn_since, next_at = u.next_at, looked_at = now()
    FROM unnest(CAST(:assets AS bigint[]), CAST(:states AS text[]), CAST(:sinces AS timestamptz[]), CAST(:dues AS timestamptz[]),
                CAST(:fresh AS timestamptz[]), CAST(:awaited AS text[]), CAST(:burns AS text[]),
                CAST(:burn_sinces AS timestamptz[]), CAST(:nexts AS timestamptz[]))
         AS u(asset_id, state, state_since, due_at, fresh_to, awaited, burn, burn_since, next_at)
    WHERE f.asset_id = u.asset_id
""")

PUT_LATE_SPANS = text("""
    INSERT INTO late_span AS s (asset_id, from_at, until_at, counted_from, partition, spent)
    SELECT u.* FROM unnest(CAST(:assets AS bigint[]), CAST(:froms AS timestamptz[]), CAST(:untils AS timestamptz[]),
                           CAST(:counted AS timestamptz[]), CAST(:partitions AS text[]), CAST(:spent AS jsonb[]))
                    AS u(asset_id, from_at, until_at, counted_from, partition, spent)
    ORDER BY u.asset_id, u.from_at
    ON CONFLICT (asset_id, from_at) DO UPDATE SET until_at = excluded.until_at, spent = excluded.spent
""")

PRUNE_LATE_SPANS = text("""
    DELETE FROM late_span WHERE asset_id = ANY(CAST(:assets AS bigint[])) AND until_at <= :before
""")

# Each part goes by an index from one cell, or one task: what a story costs does not grow with history.
STORY_TASKS = text("""
    SELECT u.asset_id, u.partition, t.id, t.created_at, t.ready_at, t.finished_at, t.state
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    CROSS JOIN LATERAL (
        SELECT o.task_id FROM task_cell o WHERE o.asset_id = u.asset_id AND o.partition = u.partition
        ORDER BY o.task_id DESC LIMIT :n
    ) AS o
    JOIN task t ON t.id = o.task_id
    ORDER BY t.id
""")
STORY_ATTEMPTS = text("""
    SELECT task_id, queued_at, started_at, finished_at, outcome FROM attempt WHERE task_id = ANY(CAST(:tasks AS bigint[]))
    ORDER BY task_id, number, id
""")
STORY_WAITS = text("""
    SELECT task_id, since, CASE WHEN state = 'open' THEN NULL ELSE coalesce(fired_at, since) END FROM wait
    WHERE task_id = ANY(CAST(:tasks AS bigint[])) AND since IS NOT NULL ORDER BY task_id, place
""")


READ_BEGAN = text("""
    SELECT c.asset_id, c.partition, a.started_at
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
    JOIN attempt a ON a.id = c.published_attempt
""")

FAILED_CHECKS = text("""
    SELECT c.asset_id, c.partition, max(r.at)
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
    JOIN check_result r ON r.attempt_id = c.last_attempt AND r.asset_id = c.asset_id AND r.partition = c.partition
    WHERE NOT r.passed GROUP BY c.asset_id, c.partition
""")


class FreshnessPart(PostgresPart):
    def set_freshness(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        if unwanted:
            gone = sorted(set(unwanted))
            self._execute(DELETE_FRESHNESS, assets=gone)
            self._execute(END_LATE_SPANS, assets=gone)
        if wanted:
            assets = sorted(wanted)
            policies = [wanted[one] for one in assets]
            self._execute(END_CHANGED_SPANS, assets=assets, policies=policies)
            self._execute(SET_FRESHNESS, assets=assets, policies=policies)

    def take_due_freshness_skip(self, limit: int) -> list[Freshness]:
        return [_freshness(row) for row in self._rows(TAKE_DUE_FRESHNESS, limit=limit)]

    def freshness_of(self, assets: Collection[AssetId]) -> dict[AssetId, Freshness]:
        found = [_freshness(row) for row in self._rows(FRESHNESS_OF, assets=sorted(set(assets)))] if assets else []
        return {one.asset_id: one for one in sorted(found, key=lambda one: one.asset_id)}

    def late_spans(self, assets: Collection[AssetId], after: datetime) -> dict[AssetId, list[LateSpan]]:
        found: dict[AssetId, list[LateSpan]] = {}
        for row in self._rows(LATE_SPANS, assets=sorted(set(assets)), after=after) if assets else ():
            found.setdefault(row[0], []).append(LateSpan(*row))
        return found

    def write_freshness(self, updates: Sequence[FreshnessUpdate]) -> None:
        rows: list[FreshnessUpdate] = ordered(updates, lambda one: one.asset_id, "write_freshness")
        if rows:
            written = self._execute(
                WRITE_FRESHNESS,
                assets=[one.asset_id for one in rows],
                states=[one.state.value for one in rows],
                sinces=[one.state_since for one in rows],
                dues=[one.due_at for one in rows],
                fresh=[one.fresh_to for one in rows],
                awaited=[optional_text(one.awaited) for one in rows],
                burns=[one.burn for one in rows],
                burn_sinces=[one.burn_since for one in rows],
                nexts=[one.next_at for one in rows],
            )
            self._expect(written, len(rows), "the policies of a look")

    def put_late_spans(self, spans: Sequence[LateSpan]) -> None:
        rows: list[LateSpan] = ordered(spans, lambda one: (one.asset_id, one.from_at), "put_late_spans")
        if rows:
            self._execute(
                PUT_LATE_SPANS,
                assets=[one.asset_id for one in rows],
                froms=[one.from_at for one in rows],
                untils=[one.until_at for one in rows],
                counted=[one.counted_from for one in rows],
                partitions=[optional_text(one.partition) for one in rows],
                spent=[to_json(dict(one.spent)) for one in rows],
            )

    def prune_late_spans(self, assets: Collection[AssetId], before: datetime) -> None:
        if assets:
            self._execute(PRUNE_LATE_SPANS, assets=sorted(set(assets)), before=before)

    def read_began(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        rows = self._rows(READ_BEGAN, **cell_arrays(sorted(set(cells)))) if cells else []
        return {CellRef(asset_id, partition): at for asset_id, partition, at in sorted(rows)}

    def failed_checks(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        rows = self._rows(FAILED_CHECKS, **cell_arrays(sorted(set(cells)))) if cells else []
        return {CellRef(asset_id, partition): at for asset_id, partition, at in sorted(rows)}

    def stories(self, cells: Collection[CellRef], tasks: int) -> dict[CellRef, list[TaskStory]]:
        wanted = sorted(set(cells))
        rows = self._rows(STORY_TASKS, **cell_arrays(wanted), n=tasks) if wanted else []
        ids = sorted({row[2] for row in rows})
        attempts: dict[TaskId, list[AttemptStory]] = {}
        outside: dict[TaskId, list[tuple[datetime, datetime | None]]] = {}
        for task_id, *attempt in self._rows(STORY_ATTEMPTS, tasks=ids) if ids else ():
            attempts.setdefault(task_id, []).append(AttemptStory(*attempt))
        for task_id, since, until in self._rows(STORY_WAITS, tasks=ids) if ids else ():
            outside.setdefault(task_id, []).append((since, until))
        found: dict[CellRef, list[TaskStory]] = {}
        for asset_id, partition, task_id, created_at, ready_at, finished_at, state in rows:
            found.setdefault(CellRef(asset_id, partition), []).append(
                TaskStory(
                    task_id, created_at, ready_at, finished_at, TaskState(state),
                    tuple(attempts.get(task_id, ())), tuple(outside.get(task_id, ())),
                )
            )  # fmt: skip
        return found


def _freshness(row: Any) -> Freshness:
    asset_id, policy, since, state, *others = row
    return Freshness(asset_id, policy, since, FreshState(state), *others)
