"""Observers, schedules and sensors: who evaluates them, their ends, and what they asked for."""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from partita.assets.condition_specs import CatchUp
from partita.core.store.encode import clean_text, optional_json, optional_text, to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
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

_COLUMNS = """e.id, e.location_id, e.name, e.kind, e.snapshot_id, e.spec, e.cursor, e.position, e.tick_at, e.due_at, e.failures,
    e.token, e.triggerer_id, e.paused_at IS NOT NULL, e.retired_at IS NOT NULL, e.catch_up, e.pace"""

LOCK_EVALUATORS_OF = text(f"""
    SELECT {_COLUMNS} FROM evaluator e WHERE e.location_id = :location ORDER BY e.id FOR UPDATE
""")

_SAID = """unnest(CAST(:names AS text[]), CAST(:kinds AS text[]), CAST(:snapshots AS bigint[]), CAST(:specs AS jsonb[]),
                CAST(:ticks AS timestamptz[]), CAST(:dues AS timestamptz[]), CAST(:retired AS boolean[]))
         AS u(name, kind, snapshot_id, spec, tick_at, due_at, retired)"""

CHANGE_EVALUATORS = text(f"""
    UPDATE evaluator e
    SET kind = u.kind, snapshot_id = u.snapshot_id, spec = u.spec, tick_at = u.tick_at, due_at = u.due_at,
        retired_at = CASE WHEN u.retired THEN now() END
    FROM {_SAID}
    WHERE e.location_id = :location AND e.name = u.name
""")

INSERT_EVALUATORS = text(f"""
    INSERT INTO evaluator (location_id, name, kind, snapshot_id, spec, tick_at, due_at, retired_at, position)
    SELECT :location, u.name, u.kind, u.snapshot_id, u.spec, u.tick_at, u.due_at, CASE WHEN u.retired THEN now() END, p.position
    FROM {_SAID}
    JOIN unnest(CAST(:names AS text[]), CAST(:positions AS text[])) AS p(name, position) ON p.name = u.name
    WHERE NOT EXISTS (SELECT 1 FROM evaluator e WHERE e.location_id = :location AND e.name = u.name)
    ORDER BY u.name COLLATE "C"
""")

_FREE = "e.triggerer_id IS NULL AND e.paused_at IS NULL AND e.retired_at IS NULL"

# Grouped by walking the versions that are active: there is an entry of each in the index, however many are due.
DUE_EVALUATOR_PINS = text(f"""
    SELECT e.location_id, l.name, e.snapshot_id, s.hash
    FROM evaluator e JOIN location l ON l.id = e.location_id JOIN snapshot s ON s.id = e.snapshot_id
    WHERE {_FREE} AND e.due_at <= now()
    GROUP BY e.location_id, l.name, e.snapshot_id, s.hash ORDER BY e.location_id, e.snapshot_id
""")

CLAIM_EVALUATORS = text(f"""
    WITH due AS (
        SELECT e.id FROM unnest(CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[])) AS pin(location_id, snapshot_id)
        CROSS JOIN LATERAL (
            SELECT e.id, e.due_at FROM evaluator e
            WHERE e.location_id = pin.location_id AND e.snapshot_id = pin.snapshot_id AND {_FREE} AND e.due_at <= now()
              AND (e.failures > 0) = :failing
            ORDER BY e.due_at, e.id LIMIT :limit FOR UPDATE SKIP LOCKED
        ) e ORDER BY e.due_at, e.id LIMIT :limit
    )
    UPDATE evaluator e SET triggerer_id = :triggerer, token = e.token + 1, started_at = now()
    FROM due WHERE e.id = due.id
    RETURNING {_COLUMNS}
""")

RELEASE_EVALUATORS = text("""
    UPDATE evaluator SET triggerer_id = NULL WHERE triggerer_id = ANY(CAST(:triggerers AS text[]))
""")

DROP_EVALUATORS = text("""
    UPDATE evaluator SET triggerer_id = NULL WHERE triggerer_id = :triggerer AND id <> ALL(CAST(:running AS bigint[]))
""")

LOCK_EVALUATOR = text(f"SELECT {_COLUMNS} FROM evaluator e WHERE e.id = :id FOR UPDATE")

READ_EVALUATOR = text(f"SELECT {_COLUMNS} FROM evaluator e WHERE e.id = :id")

WRITE_EVALUATOR = text("""
    UPDATE evaluator
    SET cursor = :cursor, position = :position, tick_at = :tick, due_at = :due, failures = :failures,
        triggerer_id = CASE WHEN :free THEN NULL ELSE triggerer_id END
    WHERE id = :id
""")

PAUSE_EVALUATOR = text("""
    UPDATE evaluator SET paused_by = :by, paused_at = CASE WHEN CAST(:by AS text) IS NULL THEN NULL ELSE now() END
    WHERE id = :id
""")

CATCH_UP_EVALUATOR = text("UPDATE evaluator SET catch_up = :catch_up, pace = :pace WHERE id = :id")

# Both are few: what is open has a partial index each.
ACTIVE_OF_EVALUATOR = text("""
    SELECT (SELECT count(*) FROM run WHERE state = 'running' AND cause ->> 'evaluator' = CAST(CAST(:id AS bigint) AS text))
         + (SELECT count(*) FROM asked WHERE state = 'open' AND evaluator_id = :id)
""")

END_EVALUATION = text("""
    UPDATE evaluator SET ended_at = now(), outcome = :outcome, error = :error, detail = CAST(:detail AS jsonb) WHERE id = :id
""")

TRIM_EVALUATIONS = text("DELETE FROM evaluation WHERE evaluator_id = :id AND token <= :before")

# A key is kept for good: it is what makes a request one. What has none, and has ended, goes with its evaluation.
TRIM_ASKED = text("""
    DELETE FROM asked WHERE evaluator_id = :id AND token <= :before AND key IS NULL AND state <> 'open'
""")

INSERT_EVALUATION = text("""
    INSERT INTO evaluation (evaluator_id, token, tick_at, started_at, ended_at, outcome, error, traceback, detail, log)
    SELECT :id, :token, :tick, e.started_at, now(), :outcome, :error, :traceback, CAST(:detail AS jsonb), :log
    FROM evaluator e WHERE e.id = :id
""")

# Final is what lies below the oldest transaction that still runs: ids alone become visible out of order.
NEWS_END = text("SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)")

READ_NEWS = text("""
    SELECT id, at, kind, asset_id, partition, run_id, task_id, body, CAST(xid AS text) FROM event
    WHERE (xid, id) > (CAST(:xid AS xid8), CAST(:id AS bigint)) AND xid < CAST(:end AS xid8)
      AND kind = ANY(CAST(:kinds AS text[])) AND (asset_id IS NULL OR asset_id = ANY(CAST(:assets AS bigint[])))
      AND (kind <> 'task' OR (body ->> 'step' = ANY(CAST(:steps AS text[])) AND body ->> 'state' = ANY(CAST(:states AS text[]))))
    ORDER BY xid, id LIMIT :limit
""")

INSERT_ASKED = text("""
    INSERT INTO asked (evaluator_id, token, key, request)
    SELECT u.evaluator_id, u.token, u.key, u.request
    FROM unnest(CAST(:evaluators AS bigint[]), CAST(:tokens AS bigint[]), CAST(:keys AS text[]), CAST(:requests AS jsonb[]))
         WITH ORDINALITY AS u(evaluator_id, token, key, request, place)
    ORDER BY u.place
    ON CONFLICT (evaluator_id, key) WHERE key IS NOT NULL DO NOTHING
""")

TAKE_ASKED = text("""
    SELECT id, evaluator_id, token, key, request, asked_at FROM asked
    WHERE state = 'open' AND due_at <= now() ORDER BY due_at, id LIMIT :limit FOR UPDATE SKIP LOCKED
""")

END_ASKED = text("""
    UPDATE asked a
    SET state = u.state, run_id = u.run_id, error = u.error, due_at = coalesce(u.until, a.due_at),
        done_at = CASE WHEN u.until IS NULL THEN now() END
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:runs AS bigint[]), CAST(:errors AS text[]),
                CAST(:untils AS timestamptz[])) AS u(id, state, run_id, error, until)
    WHERE a.id = u.id
""")


class EvaluatorsPart(PostgresPart):
    def lock_evaluators_of(self, location_id: LocationId) -> list[Evaluator]:
        return [Evaluator(*row) for row in self._rows(LOCK_EVALUATORS_OF, location=location_id)]

    def put_evaluators(self, location_id: LocationId, rows: Sequence[EvaluatorRow]) -> None:
        new: list[EvaluatorRow] = ordered(rows, lambda one: one.name, "put_evaluators")
        if new:
            said = {
                "location": location_id,
                "names": [clean_text(one.name) for one in new],
                "kinds": [one.kind for one in new],
                "snapshots": [one.snapshot_id for one in new],
                "specs": [to_json(one.spec) for one in new],
                "ticks": [one.tick_at for one in new],
                "dues": [one.due_at for one in new],
                "retired": [one.retired for one in new],
            }
            if self._execute(CHANGE_EVALUATORS, **said) < len(new):
                self._execute(INSERT_EVALUATORS, **said, positions=[one.position for one in new])

    def due_evaluator_pins(self) -> list[QueuedPin]:
        return [QueuedPin(*row) for row in self._rows(DUE_EVALUATOR_PINS)]

    def claim_evaluators_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, *, failing: bool
    ) -> list[Evaluator]:
        wanted = sorted(set(pins))
        if not wanted:
            return []
        rows = self._rows(
            CLAIM_EVALUATORS,
            triggerer=triggerer_id,
            locations=[one[0] for one in wanted],
            snapshots=[one[1] for one in wanted],
            limit=limit,
            failing=failing,
        )
        found = [Evaluator(*row) for row in rows]
        return sorted(found, key=lambda one: (one.due_at, one.id))

    def drop_evaluators(self, triggerer_id: TriggererId, running: Collection[EvaluatorId]) -> int:
        return self._execute(DROP_EVALUATORS, triggerer=triggerer_id, running=sorted(running))

    def release_evaluators(self, triggerers: Sequence[TriggererId]) -> int:
        return self._execute(RELEASE_EVALUATORS, triggerers=sorted(set(triggerers))) if triggerers else 0

    def lock_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        return _first(self._rows(LOCK_EVALUATOR, id=evaluator_id))

    def read_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        return _first(self._rows(READ_EVALUATOR, id=evaluator_id))

    def write_evaluator(self, update: EvaluatorUpdate) -> None:
        written = self._execute(
            WRITE_EVALUATOR,
            id=update.id,
            cursor=optional_text(update.cursor),
            position=update.position,
            tick=update.tick_at,
            due=update.due_at,
            failures=update.failures,
            free=update.free,
        )
        self._expect(written, 1, f"evaluator {update.id}")

    def pause_evaluator(self, evaluator_id: EvaluatorId, by: str | None) -> None:
        self._execute(PAUSE_EVALUATOR, id=evaluator_id, by=optional_text(by))

    def catch_up_evaluator(self, evaluator_id: EvaluatorId, catch_up: CatchUp | None, pace: int | None) -> None:
        self._execute(CATCH_UP_EVALUATOR, id=evaluator_id, catch_up=catch_up, pace=pace)

    def active_of_evaluator(self, evaluator_id: EvaluatorId) -> int:
        ((active,),) = self._rows(ACTIVE_OF_EVALUATOR, id=evaluator_id)
        return int(active)

    def end_evaluation(self, end: EvaluationEnd, *, kept: int) -> None:
        told = {
            "id": end.evaluator_id,
            "outcome": end.outcome.value,
            "error": optional_text(end.error),
            "detail": optional_json(end.detail),
        }
        self._expect(self._execute(END_EVALUATION, **told), 1, f"evaluator {end.evaluator_id}")
        self._execute(TRIM_EVALUATIONS, id=end.evaluator_id, before=end.token - kept)
        self._execute(TRIM_ASKED, id=end.evaluator_id, before=end.token - kept)
        if end.outcome is EvaluationOutcome.NOTHING and end.tick_at is None:
            return
        self._execute(
            INSERT_EVALUATION,
            **told,
            token=end.token,
            tick=end.tick_at,
            traceback=optional_text(end.traceback),
            log=optional_text(end.log),
        )

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
        ((end,),) = self._rows(NEWS_END)
        if position is None:
            return [], f"{end}:0"
        xid, _, after = position.partition(":")
        rows = self._rows(
            READ_NEWS,
            xid=xid,
            id=int(after),
            end=end,
            kinds=sorted(kinds),
            assets=sorted(assets),
            limit=limit,
            steps=sorted(steps),
            states=sorted(states),
        )
        found = [News(*row[:-1]) for row in rows]
        return found, f"{rows[-1][-1]}:{found[-1].id}" if len(found) == limit else f"{end}:0"

    # -- what they asked for
    def insert_asked(self, asked: Sequence[NewAsked]) -> int:
        if not asked:
            return 0
        return self._execute(
            INSERT_ASKED,
            evaluators=[one.evaluator_id for one in asked],
            tokens=[one.token for one in asked],
            keys=[optional_text(one.key) for one in asked],
            requests=[to_json(one.request) for one in asked],
        )

    def take_asked_skip(self, limit: int) -> list[Asked]:
        return [Asked(*row) for row in self._rows(TAKE_ASKED, limit=limit)]

    def end_asked(self, updates: Sequence[AskedUpdate]) -> None:
        rows: list[AskedUpdate] = ordered(updates, lambda one: one.id, "end_asked")
        if rows:
            written = self._execute(
                END_ASKED,
                ids=[one.id for one in rows],
                states=[one.state.value for one in rows],
                runs=[one.run_id for one in rows],
                errors=[optional_text(one.error) for one in rows],
                untils=[one.until for one in rows],
            )
            self._expect(written, len(rows), "what evaluations asked for")


def _first(rows: Sequence[Any]) -> Evaluator | None:
    return Evaluator(*rows[0]) if rows else None
