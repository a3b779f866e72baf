"""Read-only statements about alerts and notices, for people."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.postgres.alerts import ALERT_COLUMNS
from partita.core.store.sql import text

# What a state means; the first that fits.
_STATE = """CASE WHEN a.ended_at IS NOT NULL THEN 'ended' WHEN a.acked_at IS NOT NULL THEN 'acknowledged'
    WHEN a.snoozed_until > now() THEN 'snoozed' ELSE 'open' END"""
_CHOSEN = f"""FROM alert a WHERE (CAST(:state AS text) IS NULL OR {_STATE} = :state)
    AND (CAST(:open AS boolean) IS NOT TRUE OR a.ended_at IS NULL)
    AND (CAST(:kind AS text) IS NULL OR a.kind = :kind)
    AND (CAST(:owner AS text) IS NULL OR a.owners @> jsonb_build_array(CAST(:owner AS text)))"""

_SENT = """(SELECT count(*) FROM notice_item i JOIN notice n ON n.id = i.notice_id
            WHERE i.alert_id = a.id AND n.state = 'sent' AND n.kind = 'problem') AS told,
    (SELECT count(*) FROM notice_item i JOIN notice n ON n.id = i.notice_id
            WHERE i.alert_id = a.id AND n.state = 'failed') AS undelivered"""

ALERTS = text(f"""
    SELECT {ALERT_COLUMNS}, {_STATE} AS state, {_SENT} {_CHOSEN}
    ORDER BY (a.ended_at IS NOT NULL), array_position(ARRAY['critical', 'warning', 'info'], a.severity), a.id DESC
    OFFSET :offset LIMIT :limit
""")
COUNT_ALERTS = text(f"SELECT count(*) AS n {_CHOSEN}")
ALERT = text(f"SELECT {ALERT_COLUMNS}, {_STATE} AS state, {_SENT} FROM alert a WHERE a.id = :id")

# What nobody knows of yet, in one line per kind and subject: the list of what needs a person stays short.
OPEN_BY_SUBJECT = text("""
    SELECT a.kind, a.subject, min(a.id) AS id, count(*) AS n,
           min(array_position(ARRAY['critical', 'warning', 'info'], a.severity)) AS severity
    FROM alert a
    WHERE a.ended_at IS NULL AND a.acked_at IS NULL AND (a.snoozed_until IS NULL OR a.snoozed_until <= now())
    GROUP BY a.kind, a.subject ORDER BY severity, n DESC, a.subject, a.kind LIMIT :limit
""")

NOTICES_OF = text("""
    SELECT n.id, n.rule, n.target, n.kind, n.state, n.created_at, n.due_at, n.tries, n.ended_at, n.error
    FROM notice n WHERE n.id IN (SELECT i.notice_id FROM notice_item i WHERE i.alert_id = :id) ORDER BY n.id DESC
""")
NOTICES = text("""
    SELECT n.id, n.rule, n.target, n.kind, n.state, n.created_at, n.due_at, n.tries, n.ended_at, n.error
    FROM notice n WHERE CAST(:ids AS bigint[]) IS NULL OR n.id = ANY(CAST(:ids AS bigint[])) ORDER BY n.id DESC LIMIT :limit
""")
UNDELIVERED = text("""
    SELECT n.rule, n.target, count(*) AS n, max(n.error) AS error FROM notice n
    WHERE n.ended_at > now() - interval '1 day' AND n.state = 'failed' AND n.kind <> 'test'
    GROUP BY n.rule, n.target ORDER BY n.rule, n.target
""")
MAINTENANCES = text("""
    SELECT m.id, m.selection, m.starts_at, m.ends_at, m.by_whom, m.reason FROM maintenance m WHERE m.ends_at > now() ORDER BY m.id
""")

# What a maintenance window would not hold back any more, and what one holds back.
OPEN_OF_ASSETS = text("""
    SELECT count(*) AS n FROM alert a
    WHERE a.ended_at IS NULL AND a.acked_at IS NULL AND (a.snoozed_until IS NULL OR a.snoozed_until <= now())
      AND (CAST(:keys AS text[]) IS NULL
           OR a.subject = ANY(CAST(:keys AS text[])) AND a.kind NOT IN ('load_error', 'location_down'))
""")
HELD_BY = text("""
    SELECT count(*) AS n FROM alert a WHERE a.ended_at IS NULL AND a.snoozed_until > now() AND a.snoozed_by = :by
""")
