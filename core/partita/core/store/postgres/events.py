"""The outbox: events, one todo row per consumer, automation requests once per cause."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from partita.core.store.encode import texts_of, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, to_signed
from partita.core.store.sql import text
from partita.core.store.values import AutomationRequest, CellRef, NewEvent, RunId, TodoEvent

# Ids are drawn in the order given; the todo rows are in the same statement, so no consumer can miss an event.
APPEND_EVENTS = text("""
    WITH given AS (
        SELECT nextval('event_id_seq') AS id, u.*
        FROM (SELECT * FROM unnest(CAST(:kinds AS text[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]),
                                   CAST(:runs AS bigint[]), CAST(:tasks AS bigint[]), CAST(:bodies AS jsonb[]))
                   WITH ORDINALITY AS v(kind, asset_id, partition, run_id, task_id, body, place)
              ORDER BY place) u
    ), todo AS (
        INSERT INTO event_todo (event_id, consumer, asset_id, partition, run_id)
        SELECT given.id, c.consumer, given.asset_id, given.partition, given.run_id
        FROM unnest(CAST(:places AS bigint[]), CAST(:consumers AS text[])) AS c(place, consumer)
        JOIN given ON given.place = c.place
    )
    INSERT INTO event (id, kind, asset_id, partition, run_id, task_id, body)
    SELECT id, kind, asset_id, partition, run_id, task_id, body FROM given
""")

PEEK_TODO = text("""
    SELECT event_id, asset_id, partition, run_id FROM event_todo WHERE consumer = :consumer
    ORDER BY created_at, event_id LIMIT :n
""")

TAKE_TODO = text("""
    WITH taken AS (
        SELECT event_id FROM event_todo WHERE consumer = :consumer AND created_at <= now()
        ORDER BY created_at, event_id LIMIT :n FOR UPDATE SKIP LOCKED
    )
    DELETE FROM event_todo t USING taken WHERE t.consumer = :consumer AND t.event_id = taken.event_id
    RETURNING t.created_at, t.event_id, t.asset_id, t.partition, t.run_id
""")

TRACEPARENTS = text("""
    SELECT DISTINCT body ->> 'traceparent' FROM event WHERE id = ANY(CAST(:events AS bigint[])) AND body ? 'traceparent'
""")

PUT_BACK_TODO = text("""
    INSERT INTO event_todo (event_id, consumer, asset_id, partition, run_id, created_at)
    SELECT u.event_id, :consumer, u.asset_id, u.partition, u.run_id, coalesce(CAST(:until AS timestamptz), now())
    FROM unnest(CAST(:events AS bigint[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:runs AS bigint[]))
         AS u(event_id, asset_id, partition, run_id)
    ON CONFLICT DO NOTHING
""")

# In key order: two deciders with the same cells wait for each other at the first of them, and once per cause holds.
INSERT_AUTOMATION_REQUESTS = text("""
    INSERT INTO automation_request (asset_id, partition, state_digest, run_id, cause, verdict)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:digests AS bigint[]),
                         CAST(:runs AS bigint[]), CAST(:causes AS jsonb[]), CAST(:verdicts AS jsonb[]))
    ON CONFLICT DO NOTHING
    RETURNING asset_id, partition
""")

WITHDRAW_REQUESTS = text("""
    DELETE FROM automation_request q
    USING unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    WHERE q.asset_id = u.asset_id AND q.partition = u.partition AND q.run_id = :run
""")

KNOWN_REQUESTS = text("""
    SELECT u.asset_id, u.partition
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:digests AS bigint[]))
         AS u(asset_id, partition, state_digest)
    JOIN automation_request q
      ON q.asset_id = u.asset_id AND q.partition = u.partition AND q.state_digest = u.state_digest
""")


class EventsPart(PostgresPart):
    def append_events(self, events: Sequence[NewEvent]) -> None:
        for event in events:
            if event.for_consumers and (event.asset_id is None or event.partition is None):
                raise ValueError(
                    f"the {event.kind} event is for consumers and names no cell: give asset_id and partition"
                )
        if not events:
            return
        texts = texts_of(event.body for event in events)
        consumers = [
            (place, name) for place, event in enumerate(events, 1) for name in sorted(set(event.for_consumers))
        ]
        self._execute(
            APPEND_EVENTS,
            kinds=[event.kind for event in events],
            assets=[event.asset_id for event in events],
            partitions=[event.partition for event in events],
            runs=[event.run_id for event in events],
            tasks=[event.task_id for event in events],
            bodies=[texts[id(event.body)] for event in events],
            places=[place for place, _ in consumers],
            consumers=[name for _, name in consumers],
        )

    def peek_todo(self, consumer: str, limit: int) -> list[TodoEvent]:
        rows = self._rows(PEEK_TODO, consumer=consumer, n=limit)
        return [TodoEvent(row[0], CellRef(row[1], row[2]), row[3]) for row in rows]

    def take_todo_skip(self, consumer: str, limit: int) -> list[TodoEvent]:
        rows = sorted(self._rows(TAKE_TODO, consumer=consumer, n=limit), key=lambda row: (row[0], row[1]))
        return [TodoEvent(row[1], CellRef(row[2], row[3]), row[4]) for row in rows]

    def traceparents(self, events: Collection[int]) -> set[str]:
        return {row[0] for row in self._rows(TRACEPARENTS, events=sorted(events))} if events else set()

    def put_back_todo(self, consumer: str, events: Sequence[TodoEvent], *, until: datetime | None = None) -> None:
        if events:
            self._execute(
                PUT_BACK_TODO,
                consumer=consumer,
                events=[event.event_id for event in events],
                **cell_arrays([event.cell for event in events]),
                runs=[event.run_id for event in events],
                until=until,
            )

    def insert_automation_requests(self, requests: Sequence[AutomationRequest]) -> set[CellRef]:
        rows = sorted(requests, key=lambda request: (request.cell, to_signed(request.state_digest)))
        if not rows:
            return set()
        causes = texts_of(request.cause for request in rows)  # one cause asks for many cells
        new = self._rows(
            INSERT_AUTOMATION_REQUESTS,
            **cell_arrays([request.cell for request in rows]),
            digests=[to_signed(request.state_digest) for request in rows],
            runs=[request.run_id for request in rows],
            causes=[causes[id(request.cause)] for request in rows],
            verdicts=[None if request.verdict is None else to_json(request.verdict) for request in rows],
        )
        return {CellRef(row[0], row[1]) for row in new}

    def withdraw_requests(self, run_id: RunId, cells: Collection[CellRef]) -> None:
        if cells:
            self._execute(WITHDRAW_REQUESTS, run=run_id, **cell_arrays(sorted(cells)))

    def known_requests(self, states: Mapping[CellRef, int]) -> set[CellRef]:
        if not states:
            return set()
        cells = sorted(states)
        rows = self._rows(KNOWN_REQUESTS, **cell_arrays(cells), digests=[to_signed(states[cell]) for cell in cells])
        return {CellRef(row[0], row[1]) for row in rows}
