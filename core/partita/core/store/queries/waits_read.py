"""What a waiting task waits for, as evidence for people: what, since when, until when, who watches it."""

# ruff: noqa: S608 - the fragments are constants of this package; values are always parameters
from __future__ import annotations

_SHOWN = 5

# A column of `task t`. The open waits are read when somebody looks: who watches one changes without its task.
REASON_DETAIL = f"""CASE WHEN t.state IN ('deferred', 'awaiting_input') THEN (
        SELECT jsonb_build_object('waits', coalesce(jsonb_agg(jsonb_build_object(
                   'for', w.label, 'since', w.since, 'until', w.deadline_at, 'triggerer', w.triggerer_id,
                   'watched', w.triggerer_id IS NOT NULL OR w.asset_id IS NOT NULL, 'asks', w.asks,
                   'lacks', CASE
                       WHEN w.triggerer_id IS NOT NULL OR w.asset_id IS NOT NULL OR w.asks THEN NULL
                       WHEN NOT EXISTS (SELECT 1 FROM triggerer r WHERE r.state = 'live' AND r.lease_expires_at > now())
                           THEN 'triggerer'
                       WHEN NOT EXISTS (SELECT 1 FROM code_server c
                                        WHERE c.location_id = w.location_id AND c.lease_expires_at > now())
                           THEN 'server'
                       WHEN EXISTS (SELECT 1 FROM version_gone g WHERE g.snapshot_id = w.snapshot_id) THEN 'version'
                   END, 'gone_since', (SELECT g.since FROM version_gone g WHERE g.snapshot_id = w.snapshot_id))
                   ORDER BY w.asks DESC, w.deadline_at, w.place)
                   FILTER (WHERE w.rank <= {_SHOWN}), '[]'), 'count', count(*))
        FROM (SELECT o.*, row_number() OVER (ORDER BY o.asks DESC, o.deadline_at, o.place) AS rank FROM wait o
              WHERE o.task_id = t.id AND o.state = 'open') w)
    ELSE t.reason_detail END AS reason_detail"""
