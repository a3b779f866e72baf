"""The outbox of notices, maintenance windows, and what is forgotten."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from partita.core.store.encode import clean_text, optional_text
from partita.core.store.postgres.alerts import ALERT_COLUMNS, alert_of
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values_alerts import (
    Alert,
    AlertId,
    Maintenance,
    NewNotice,
    Notice,
    NoticeEnd,
    NoticeId,
    NoticeItem,
    NoticeKind,
)

_NOTICE = "n.id, n.rule, n.target, n.kind, n.created_at, n.due_at, n.tries"

TOLD_OF = text("""
    SELECT DISTINCT i.alert_id, n.rule, i.target FROM notice_item i JOIN notice n ON n.id = i.notice_id
    WHERE i.alert_id = ANY(CAST(:ids AS bigint[])) AND i.kind = 'problem' AND n.state = 'sent'
""")

LOCK_FORMING = text(f"""
    SELECT {_NOTICE} FROM notice n
    JOIN unnest(CAST(:rules AS text[]), CAST(:targets AS text[])) AS u(rule, target) ON n.rule = u.rule AND n.target = u.target
    WHERE n.state = 'pending' AND n.tries = 0 AND n.kind <> 'test' ORDER BY n.id FOR UPDATE OF n SKIP LOCKED
""")

LAST_NOTICES = text("""
    SELECT u.rule, u.target, l.due_at
    FROM unnest(CAST(:rules AS text[]), CAST(:targets AS text[])) AS u(rule, target)
    CROSS JOIN LATERAL (SELECT n.due_at FROM notice n WHERE n.rule = u.rule AND n.target = u.target AND n.kind <> 'test'
                        ORDER BY n.id DESC LIMIT 1) AS l
""")

INSERT_NOTICES = text("""
    INSERT INTO notice (rule, target, kind, due_at)
    SELECT u.rule, u.target, u.kind, u.due_at
    FROM unnest(CAST(:rules AS text[]), CAST(:targets AS text[]), CAST(:kinds AS text[]), CAST(:due AS timestamptz[]))
         WITH ORDINALITY AS u(rule, target, kind, due_at, place)
    ORDER BY u.place RETURNING id
""")

INSERT_NOTICE_ITEMS = text("""
    INSERT INTO notice_item (alert_id, target, kind, round, notice_id)
    SELECT * FROM unnest(CAST(:alerts AS bigint[]), CAST(:targets AS text[]), CAST(:kinds AS text[]), CAST(:rounds AS integer[]),
                         CAST(:notices AS bigint[]))
""")

CLAIM_NOTICES = text(f"""
    WITH due AS (
        SELECT id FROM notice
        WHERE state = 'pending' AND due_at <= now() AND (lease_until IS NULL OR lease_until <= now())
        ORDER BY due_at, id LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    UPDATE notice n SET tries = n.tries + 1, lease_until = now() + CAST(:lease_s AS double precision) * interval '1 second'
    FROM due WHERE n.id = due.id RETURNING {_NOTICE}
""")

ALERTS_OF_NOTICES = text(f"""
    SELECT i.notice_id, {ALERT_COLUMNS} FROM notice_item i JOIN alert a ON a.id = i.alert_id
    WHERE i.notice_id = ANY(CAST(:ids AS bigint[])) ORDER BY i.notice_id, a.id
""")

END_NOTICES = text("""
    UPDATE notice n SET state = u.state, due_at = u.due_at, error = u.error, lease_until = NULL,
        ended_at = CASE WHEN u.state <> 'pending' THEN now() END
    FROM unnest(CAST(:ids AS bigint[]), CAST(:tries AS integer[]), CAST(:states AS text[]), CAST(:due AS timestamptz[]),
                CAST(:errors AS text[])) AS u(id, tries, state, due_at, error)
    WHERE n.id = u.id AND n.tries = u.tries AND n.state = 'pending'
    RETURNING n.id
""")

MAINTENANCES = text("""
    SELECT id, selection, starts_at, ends_at, by_whom, reason FROM maintenance WHERE ends_at > now() ORDER BY id
""")
INSERT_MAINTENANCE = text("""
    INSERT INTO maintenance (selection, starts_at, ends_at, by_whom, reason)
    VALUES (:selection, :starts_at, :ends_at, :by, :reason) RETURNING id
""")
END_MAINTENANCE = text("""
    UPDATE maintenance SET ends_at = now(), starts_at = least(starts_at, now()) WHERE id = :id AND ends_at > now()
""")

END_SNOOZES = text("""
    UPDATE alert SET snoozed_until = now() WHERE ended_at IS NULL AND snoozed_until > now() AND snoozed_by = :by
""")

PRUNE_ALERTS = text("""
    WITH old AS (SELECT id FROM alert WHERE ended_at < :before ORDER BY ended_at, id LIMIT :n FOR UPDATE SKIP LOCKED),
         items AS (DELETE FROM notice_item i USING old WHERE i.alert_id = old.id)
    DELETE FROM alert a USING old WHERE a.id = old.id
""")
PRUNE_NOTICES = text("""
    WITH old AS (
        SELECT o.id FROM notice o
        WHERE o.ended_at < :before AND NOT EXISTS (SELECT 1 FROM notice_item i WHERE i.notice_id = o.id)
        ORDER BY o.ended_at, o.id LIMIT :n FOR UPDATE SKIP LOCKED
    )
    DELETE FROM notice n USING old WHERE n.id = old.id
""")


def _notice_of(row: Any) -> Notice:
    return Notice(row[0], row[1], row[2], NoticeKind(row[3]), row[4], row[5], row[6])


def _lines(lines: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    rows = sorted(set(lines))
    return {"rules": [rule for rule, _ in rows], "targets": [target for _, target in rows]}


class NoticesPart(PostgresPart):
    def told_of(self, ids: Collection[AlertId]) -> Mapping[AlertId, list[tuple[str, str]]]:
        found: dict[AlertId, list[tuple[str, str]]] = {one: [] for one in sorted(set(ids))}
        for alert_id, rule, target in self._rows(TOLD_OF, ids=list(found)) if found else ():
            found[alert_id].append((rule, target))
        return {one: sorted(lines) for one, lines in found.items()}

    def lock_forming_notices_skip(self, lines: Collection[tuple[str, str]]) -> list[Notice]:
        return [_notice_of(row) for row in self._rows(LOCK_FORMING, **_lines(lines))] if lines else []

    def last_notices(self, lines: Collection[tuple[str, str]]) -> dict[tuple[str, str], datetime]:
        return {(row[0], row[1]): row[2] for row in self._rows(LAST_NOTICES, **_lines(lines))} if lines else {}

    def insert_notices(self, notices: Sequence[NewNotice]) -> list[NoticeId]:
        if not notices:
            return []
        rows = self._rows(
            INSERT_NOTICES,
            rules=[one.rule for one in notices],
            targets=[one.target for one in notices],
            kinds=[one.kind.value for one in notices],
            due=[one.due_at for one in notices],
        )
        return sorted(row[0] for row in rows)

    def insert_notice_items(self, items: Sequence[NoticeItem]) -> None:
        rows: list[NoticeItem] = ordered(
            items, lambda one: (one.alert_id, one.target, one.kind.value, one.round), "insert_notice_items"
        )
        if rows:
            self._execute(
                INSERT_NOTICE_ITEMS,
                alerts=[one.alert_id for one in rows],
                targets=[one.target for one in rows],
                kinds=[one.kind.value for one in rows],
                rounds=[one.round for one in rows],
                notices=[one.notice_id for one in rows],
            )

    def claim_notices_skip(self, limit: int, lease_s: float) -> list[Notice]:
        rows = self._rows(CLAIM_NOTICES, limit=limit, lease_s=lease_s)
        return sorted((_notice_of(row) for row in rows), key=lambda one: (one.due_at, one.id))

    def alerts_of_notices(self, ids: Collection[NoticeId]) -> Mapping[NoticeId, list[Alert]]:
        found: dict[NoticeId, list[Alert]] = {one: [] for one in sorted(set(ids))}
        for row in self._rows(ALERTS_OF_NOTICES, ids=list(found)) if found else ():
            found[row[0]].append(alert_of(row[1:]))
        return found

    def end_notices(self, ends: Sequence[NoticeEnd]) -> list[NoticeId]:
        rows: list[NoticeEnd] = ordered(ends, lambda one: one.id, "end_notices")
        if not rows:
            return []
        written = self._rows(
            END_NOTICES,
            ids=[one.id for one in rows],
            tries=[one.tries for one in rows],
            states=[one.state.value for one in rows],
            due=[one.due_at for one in rows],
            errors=[optional_text(one.error) for one in rows],
        )
        return sorted(row[0] for row in written)

    # -- maintenance, retention
    def maintenances(self) -> list[Maintenance]:
        return [Maintenance(*row) for row in self._rows(MAINTENANCES)]

    def insert_maintenance(self, selection: str, starts_at: datetime, ends_at: datetime, by: str, reason: str) -> int:
        ((made,),) = self._rows(
            INSERT_MAINTENANCE,
            selection=selection,
            starts_at=starts_at,
            ends_at=ends_at,
            by=clean_text(by),
            reason=clean_text(reason),
        )
        return int(made)

    def end_maintenance(self, maintenance_id: int) -> bool:
        return self._execute(END_MAINTENANCE, id=maintenance_id) > 0

    def end_snoozes(self, by: str) -> None:
        self._execute(END_SNOOZES, by=by)

    def prune_alerts(self, before: datetime, limit: int) -> int:
        alerts = self._execute(PRUNE_ALERTS, before=before, n=limit)
        return alerts + self._execute(PRUNE_NOTICES, before=before, n=limit)
