"""Whether anything waits for a duty: one cheap statement a second in place of every duty's own look."""

from __future__ import annotations

from dataclasses import dataclass

from partita.core.store.queries.base import Queries
from partita.core.store.sql import text

# Each part ends at the first row of a partial or small index: the cost does not grow with history.
PENDING = text("""
    SELECT EXISTS (SELECT 1 FROM task WHERE state = 'scheduled'),
           EXISTS (SELECT 1 FROM task WHERE state = 'up_for_retry' AND not_before <= now()),
           EXISTS (SELECT 1 FROM run_tally),
           EXISTS (SELECT 1 FROM event_todo WHERE consumer IN ('automation', 'keys') AND created_at <= now()),
           EXISTS (SELECT 1 FROM event_todo WHERE consumer = 'replan' AND created_at <= now()),
           EXISTS (SELECT 1 FROM event_todo WHERE consumer = 'rebuild' AND created_at <= now()),
           EXISTS (SELECT 1 FROM cell_change),
           EXISTS (SELECT 1 FROM task WHERE state = 'queued'),
           EXISTS (SELECT 1 FROM worker WHERE state <> 'gone' AND lease_expires_at < now()),
           EXISTS (SELECT 1 FROM dynamic_key WHERE ended IS NULL AND expires_at <= now()),
           EXISTS (SELECT 1 FROM deadline WHERE missed_at IS NULL AND due_at <= now()),
           EXISTS (SELECT 1 FROM run WHERE times_out_at <= now() AND times_out_at IS NOT NULL AND timed_out_at IS NULL
                   AND state = 'running'),
           EXISTS (SELECT 1 FROM version_gone),
           EXISTS (SELECT 1 FROM automation_clock WHERE next_at <= now()),
           EXISTS (SELECT 1 FROM run WHERE cancelled_from IS NOT NULL),
           EXISTS (SELECT 1 FROM alert_signal),
           EXISTS (SELECT 1 FROM notice WHERE state = 'pending' AND due_at <= now()
                   AND (lease_until IS NULL OR lease_until <= now())),
           EXISTS (SELECT 1 FROM wait WHERE state = 'open' AND deadline_at <= now()),
           EXISTS (SELECT 1 FROM wait WHERE state = 'open' AND asset_id IS NOT NULL),
           EXISTS (SELECT 1 FROM freshness WHERE next_at <= now()),
           EXISTS (SELECT 1 FROM triggerer WHERE state = 'live' AND lease_expires_at < now()),
           EXISTS (SELECT 1 FROM asked WHERE state = 'open' AND due_at <= now()),
           EXISTS (SELECT 1 FROM wait WHERE state = 'open' AND triggerer_id IS NULL AND asset_id IS NULL
                   AND location_id IS NOT NULL)
""")


@dataclass(frozen=True, slots=True)
class Pending:
    """What there is to do, by the duty that does it."""

    scheduled: bool
    due_retries: bool
    tallies: bool
    automation: bool
    replans: bool
    rebuilds: bool
    cell_changes: bool
    queued: bool
    lapsed: bool
    expired_keys: bool
    due_deadlines: bool
    overdue_runs: bool
    stranded: bool
    clocks: bool
    cancelling: bool
    signals: bool
    notices: bool
    overdue_waits: bool
    cell_waits: bool
    freshness: bool
    lapsed_triggerers: bool
    asked: bool
    unwatched: bool


class PendingQueries(Queries):
    """A part of `Reader`."""

    def pending(self) -> Pending:
        return Pending(*self._row(PENDING))
