"""Whether anything waits for a duty: one cheap statement a second in place of every duty's own look."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

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
           EXISTS (SELECT 1 FROM dynamic_key WHERE ended IS NULL AND expires_at <= now())
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


class PendingQueries:
    """A part of `Reader`."""

    _connection: Connection

    def pending(self) -> Pending:
        return Pending(*self._connection.execute(PENDING).one())
