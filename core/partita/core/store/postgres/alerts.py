"""Signals, alerts, the outbox of notices, maintenance windows."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from partita.core.store.encode import clean_text, optional_text, to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
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

ALERT_COLUMNS = """a.id, a.cause, a.kind, a.severity, a.subject, a.asset_id, a.partition, a.run_id, a.task_id, a.owners, a.rules,
    a.detail, a.since, a.first_at, a.last_at, a.times, a.round, a.acked_at, a.acked_by,
    a.snoozed_until, a.snoozed_by, a.note, a.ended_at"""

APPEND_SIGNALS = text("""
    INSERT INTO alert_signal (kind, asset_id, partition, run_id, task_id, detail)
    SELECT u.kind, u.asset_id, u.partition, u.run_id, u.task_id, u.detail
    FROM unnest(CAST(:kinds AS text[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:runs AS bigint[]),
                CAST(:tasks AS bigint[]), CAST(:details AS jsonb[]))
         WITH ORDINALITY AS u(kind, asset_id, partition, run_id, task_id, detail, place)
    ORDER BY u.place
""")

TAKE_SIGNALS = text("""
    WITH taken AS (SELECT id FROM alert_signal ORDER BY id LIMIT :n FOR UPDATE SKIP LOCKED)
    DELETE FROM alert_signal s USING taken WHERE s.id = taken.id
    RETURNING s.id, s.kind, s.asset_id, s.partition, s.run_id, s.task_id, s.detail, s.at
""")

# In the order of causes, so that two that raise the same ones wait for each other at the first. `xmax` is 0 of a row that is new.
PUT_ALERTS = text(f"""
    INSERT INTO alert AS a (cause, kind, severity, subject, asset_id, partition, run_id, task_id, owners, rules, detail, since,
                            snoozed_until, snoozed_by)
    SELECT u.* FROM unnest(
        CAST(:causes AS text[]), CAST(:kinds AS text[]), CAST(:severities AS text[]), CAST(:subjects AS text[]),
        CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:runs AS bigint[]), CAST(:tasks AS bigint[]),
        CAST(:owners AS jsonb[]), CAST(:rules AS jsonb[]), CAST(:details AS jsonb[]), CAST(:since AS timestamptz[]),
        CAST(:snoozed AS timestamptz[]), CAST(:snoozers AS text[])
    ) AS u(cause, kind, severity, subject, asset_id, partition, run_id, task_id, owners, rules, detail, since, snoozed_until,
           snoozed_by)
    ORDER BY u.cause COLLATE "C"
    ON CONFLICT (cause) WHERE ended_at IS NULL DO UPDATE
    SET times = a.times + 1, last_at = now(), detail = excluded.detail, run_id = excluded.run_id, task_id = excluded.task_id,
        since = greatest(a.since, excluded.since)
    RETURNING {ALERT_COLUMNS}, xmax = 0
""")

OPEN_CAUSES = text("SELECT cause FROM alert WHERE ended_at IS NULL AND cause = ANY(CAST(:causes AS text[]))")

LOCK_ALERTS = text(f"""
    SELECT {ALERT_COLUMNS} FROM alert a WHERE a.id = ANY(CAST(:ids AS bigint[])) ORDER BY a.id FOR UPDATE
""")

_STATES_THAT_WAIT = "('none', 'scheduled', 'queued', 'deferred', 'awaiting_input')"

LOCK_OVER_ALERTS = text(f"""
    SELECT {ALERT_COLUMNS} FROM alert a
    WHERE a.ended_at IS NULL AND CASE
        WHEN a.kind = 'location_down'
            THEN EXISTS (SELECT 1 FROM location l WHERE l.name = a.subject AND l.state <> 'down')
        WHEN a.kind = 'load_error'
            THEN EXISTS (SELECT 1 FROM location l WHERE l.name = a.subject AND l.state = 'serving'
                         AND NOT jsonb_path_exists(l.modules, '$[*] ? (@.ok == false)'))
        WHEN a.kind = 'blocked'
            THEN NOT EXISTS (SELECT 1 FROM task t WHERE t.run_id = a.run_id AND t.step = a.detail ->> 'step' AND t.kind = 'step'
                             AND t.state IN {_STATES_THAT_WAIT})
        WHEN a.kind = 'run_failed'
            THEN NOT EXISTS (SELECT 1 FROM task t
                             JOIN task_cell o ON o.task_id = t.id AND o.state IN ('failed', 'upstream_failed')
                             LEFT JOIN cell c ON c.asset_id = o.asset_id AND c.partition = o.partition
                             WHERE t.run_id = a.run_id AND (c.published_at IS NULL OR c.published_at <= a.since))
        WHEN a.kind IN ('late', 'slo_burn') AND a.asset_id IS NULL
            THEN NOT EXISTS (SELECT 1 FROM freshness f WHERE f.asset_id = CAST(a.detail ->> 'asset' AS bigint)
                             AND CASE a.kind WHEN 'late' THEN f.state = 'late' ELSE f.burn IS NOT NULL END)
        ELSE EXISTS (SELECT 1 FROM cell c
                     WHERE c.asset_id = a.asset_id AND c.partition = a.partition AND c.published_at > a.since)
             AND NOT EXISTS (SELECT 1 FROM alert_signal s WHERE s.asset_id = a.asset_id AND s.partition = a.partition)
    END
    ORDER BY a.id LIMIT :n FOR UPDATE SKIP LOCKED
""")

LOCK_UNSNOOZED = text(f"""
    SELECT {ALERT_COLUMNS} FROM alert a WHERE a.ended_at IS NULL AND a.snoozed_until <= now()
    ORDER BY a.snoozed_until, a.id LIMIT :n FOR UPDATE SKIP LOCKED
""")

WRITE_ALERTS = text("""
    UPDATE alert a SET round = u.round, acked_at = u.acked_at, acked_by = u.acked_by, snoozed_until = u.snoozed_until,
        snoozed_by = u.snoozed_by, note = u.note, ended_at = u.ended_at
    FROM unnest(CAST(:ids AS bigint[]), CAST(:rounds AS integer[]), CAST(:acked AS timestamptz[]), CAST(:ackers AS text[]),
                CAST(:snoozed AS timestamptz[]), CAST(:snoozers AS text[]), CAST(:notes AS text[]), CAST(:ended AS timestamptz[]))
         AS u(id, round, acked_at, acked_by, snoozed_until, snoozed_by, note, ended_at)
    WHERE a.id = u.id AND a.ended_at IS NULL
""")

WAITING_STEPS = text(f"""
    SELECT w.run_id, w.step, o.asset_id, w.n, w.since, w.reason
    FROM (SELECT t.run_id, t.step, min(t.id) AS id, count(*) AS n, min(t.created_at) AS since,
                 (array_agg(t.reason ORDER BY t.id))[1] AS reason
          FROM run r JOIN task t ON t.run_id = r.id
          WHERE r.state = 'running' AND r.created_at < :before AND t.kind = 'step' AND t.created_at < :before
            AND t.state IN {_STATES_THAT_WAIT}
          GROUP BY t.run_id, t.step) AS w
    CROSS JOIN LATERAL (SELECT min(c.asset_id) AS asset_id FROM task_cell c WHERE c.task_id = w.id) AS o
    WHERE o.asset_id IS NOT NULL ORDER BY w.since, w.run_id, w.step COLLATE "C" LIMIT :n
""")

SICK_LOCATIONS = text("""
    SELECT l.id, l.name, l.state, l.state_since, l.error, l.modules FROM location l
    WHERE l.state IN ('broken', 'down') OR jsonb_path_exists(l.modules, '$[*] ? (@.ok == false)') ORDER BY l.id
""")

FAILED_ASSETS = text("""
    SELECT DISTINCT o.asset_id FROM task t JOIN task_cell o ON o.task_id = t.id
    WHERE t.run_id = :run_id AND o.state = 'failed' ORDER BY o.asset_id
""")


def alert_of(row: Any) -> Alert:
    asset_id, partition = row[5], row[6]
    return Alert(
        id=row[0],
        cause=row[1],
        kind=AlertKind(row[2]),
        severity=Severity(row[3]),
        subject=row[4],
        cell=None if asset_id is None else CellRef(asset_id, partition),
        run_id=row[7],
        task_id=row[8],
        owners=tuple(row[9]),
        rules=tuple(row[10]),
        detail=row[11],
        since=row[12],
        first_at=row[13],
        last_at=row[14],
        times=row[15],
        round=row[16],
        acked_at=row[17],
        acked_by=row[18],
        snoozed_until=row[19],
        snoozed_by=row[20],
        note=row[21],
        ended_at=row[22],
    )


def _broken(modules: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(one.get("name", "?") for one in modules if one.get("ok") is False)


class AlertsPart(PostgresPart):
    def append_signals(self, signals: Sequence[NewSignal]) -> None:
        if signals:
            self._execute(
                APPEND_SIGNALS,
                kinds=[one.kind.value for one in signals],
                assets=[None if one.cell is None else one.cell.asset_id for one in signals],
                partitions=[None if one.cell is None else one.cell.partition for one in signals],
                runs=[one.run_id for one in signals],
                tasks=[one.task_id for one in signals],
                details=[to_json(one.detail) for one in signals],
            )

    def take_signals_skip(self, limit: int) -> list[Signal]:
        rows = sorted(self._rows(TAKE_SIGNALS, n=limit))
        return [
            Signal(
                row[0], AlertKind(row[1]), None if row[2] is None else CellRef(row[2], row[3]), row[4], row[5], row[6], row[7]
            )
            for row in rows
        ]  # fmt: skip

    # -- alerts
    def put_alerts(self, alerts: Sequence[NewAlert]) -> tuple[list[Alert], list[Alert]]:
        rows: list[NewAlert] = ordered(alerts, lambda one: one.cause, "put_alerts")
        if not rows:
            return [], []
        written = self._rows(
            PUT_ALERTS,
            causes=[one.cause for one in rows],
            kinds=[one.kind.value for one in rows],
            severities=[one.severity.value for one in rows],
            subjects=[clean_text(one.subject) for one in rows],
            assets=[None if one.cell is None else one.cell.asset_id for one in rows],
            partitions=[None if one.cell is None else one.cell.partition for one in rows],
            runs=[one.run_id for one in rows],
            tasks=[one.task_id for one in rows],
            owners=[to_json(list(one.owners)) for one in rows],
            rules=[to_json(list(one.rules)) for one in rows],
            details=[to_json(one.detail) for one in rows],
            since=[one.since for one in rows],
            snoozed=[one.snoozed_until for one in rows],
            snoozers=[one.snoozed_by for one in rows],
        )
        by_cause = sorted(written, key=lambda row: row[1])
        new = [alert_of(row) for row in by_cause if row[23]]
        return new, [alert_of(row) for row in by_cause if not row[23]]

    def open_causes(self, causes: Collection[str]) -> set[str]:
        return {row[0] for row in self._rows(OPEN_CAUSES, causes=sorted(set(causes)))} if causes else set()

    def lock_alerts(self, ids: Collection[AlertId]) -> list[Alert]:
        return [alert_of(row) for row in self._rows(LOCK_ALERTS, ids=sorted(set(ids)))]

    def lock_over_alerts_skip(self, limit: int) -> list[Alert]:
        return [alert_of(row) for row in self._rows(LOCK_OVER_ALERTS, n=limit)]

    def lock_unsnoozed_skip(self, limit: int) -> list[Alert]:
        return [alert_of(row) for row in self._rows(LOCK_UNSNOOZED, n=limit)]

    def write_alerts(self, updates: Sequence[AlertUpdate]) -> None:
        rows: list[AlertUpdate] = ordered(updates, lambda one: one.id, "write_alerts")
        if rows:
            self._execute(
                WRITE_ALERTS,
                ids=[one.id for one in rows],
                rounds=[one.round for one in rows],
                acked=[one.acked_at for one in rows],
                ackers=[optional_text(one.acked_by) for one in rows],
                snoozed=[one.snoozed_until for one in rows],
                snoozers=[optional_text(one.snoozed_by) for one in rows],
                notes=[clean_text(one.note) for one in rows],
                ended=[one.ended_at for one in rows],
            )

    # -- facts
    def waiting_steps(self, before: datetime, limit: int) -> list[WaitingStep]:
        return [WaitingStep(*row) for row in self._rows(WAITING_STEPS, before=before, n=limit)]

    def sick_locations(self) -> list[SickLocation]:
        return [
            SickLocation(row[0], row[1], row[2], row[3], row[4], _broken(row[5])) for row in self._rows(SICK_LOCATIONS)
        ]

    def failed_assets(self, run_id: RunId) -> list[AssetId]:
        return [row[0] for row in self._rows(FAILED_ASSETS, run_id=run_id)]
