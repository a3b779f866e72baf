"""Automatic requests that wait for a person, and faults of automation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from partita.core.store.encode import clean_text, to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values_ids import AssetId, RunId
from partita.core.store.values_requests import Fault, FaultKind, HeldContent, HeldRequest, RequestId, RequestState

_HELD = """id, state, revision, assets, cells, cell_limit, preview, cause, merged, body, created_at, updated_at, expires_at,
    ended_at, ended_by, end_reason, run_id"""

# Class 3 of our advisory locks: there is no row to lock before the first request of a consumer.
LOCK_REQUESTS = text("SELECT pg_advisory_xact_lock(3, 0)")

HELD_REQUESTS = text(f"""
    SELECT {_HELD} FROM held_request
    WHERE state = 'awaiting_input' AND assets && CAST(:assets AS bigint[]) ORDER BY id
""")  # noqa: S608 - a constant of this module

READ_HELD_REQUEST = text(f"SELECT {_HELD} FROM held_request WHERE id = :id")  # noqa: S608 - as above

INSERT_HELD_REQUEST = text("""
    INSERT INTO held_request (assets, cells, cell_limit, preview, cause, merged, body, expires_at)
    VALUES (CAST(:assets AS bigint[]), :cells, :cell_limit, CAST(:preview AS jsonb), CAST(:cause AS jsonb), :merged, :body,
            now() + make_interval(secs => :keep_s))
    RETURNING id
""")

REPLACE_HELD_REQUEST = text("""
    UPDATE held_request
    SET revision = revision + 1, assets = CAST(:assets AS bigint[]), cells = :cells, cell_limit = :cell_limit,
        preview = CAST(:preview AS jsonb), cause = CAST(:cause AS jsonb), merged = :merged, body = :body, updated_at = now(),
        expires_at = now() + make_interval(secs => :keep_s)
    WHERE id = :id AND state = 'awaiting_input'
""")

END_HELD_REQUEST = text("""
    UPDATE held_request
    SET state = :state, body = NULL, ended_at = now(), ended_by = :by, end_reason = :reason, run_id = :run_id
    WHERE id = :id AND state = 'awaiting_input'
""")

OVERDUE_HELD_REQUESTS = text(f"""
    SELECT {_HELD} FROM held_request WHERE state = 'awaiting_input' AND expires_at <= now() ORDER BY id
""")  # noqa: S608 - as above

FORGET_HELD_REQUESTS = text("""
    DELETE FROM held_request WHERE ended_at < now() - make_interval(secs => :keep_s)
""")

CAUSED_CELLS = text("""
    SELECT c.run_id, c.asset_id, c.cells
    FROM unnest(CAST(:runs AS bigint[]), CAST(:assets AS bigint[])) AS u(run_id, asset_id)
    JOIN caused_cells c ON c.run_id = u.run_id AND c.asset_id = u.asset_id
""")

# In order of the key: two that add to the same rows wait for each other, never in a circle.
ADD_CAUSED_CELLS = text("""
    INSERT INTO caused_cells AS c (run_id, asset_id, cells)
    SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:assets AS bigint[]), CAST(:cells AS integer[])) ORDER BY 1, 2
    ON CONFLICT (run_id, asset_id) DO UPDATE SET cells = c.cells + excluded.cells, at = now()
    RETURNING c.run_id, c.asset_id, c.cells
""")

FORGET_CAUSED_CELLS = text("DELETE FROM caused_cells WHERE at < now() - make_interval(secs => :keep_s)")

FAULTS = text("SELECT kind, id, error, tries, since, last_at, next_at FROM automation_fault ORDER BY kind, id")

WRITE_FAULTS = text("""
    INSERT INTO automation_fault (kind, id, error, tries, since, last_at, next_at)
    SELECT * FROM unnest(CAST(:kinds AS text[]), CAST(:ids AS bigint[]), CAST(:errors AS text[]), CAST(:tries AS integer[]),
                         CAST(:sinces AS timestamptz[]), CAST(:lasts AS timestamptz[]), CAST(:nexts AS timestamptz[]))
    ON CONFLICT (kind, id) DO UPDATE
    SET error = excluded.error, tries = excluded.tries, since = excluded.since, last_at = excluded.last_at,
        next_at = excluded.next_at
""")

CLEAR_FAULTS = text("""
    DELETE FROM automation_fault f USING unnest(CAST(:kinds AS text[]), CAST(:ids AS bigint[])) AS u(kind, id)
    WHERE f.kind = u.kind AND f.id = u.id
""")

RELEASE_FAULTS = text("UPDATE automation_fault SET next_at = now() WHERE next_at > now()")

RELEASE_TODO = text("""
    UPDATE event_todo SET created_at = now()
    WHERE consumer = ANY(ARRAY['automation', 'keys', 'rebuild', 'replan']) AND created_at > now()
""")


class RequestsPart(PostgresPart):
    def lock_requests(self) -> None:
        self._execute(LOCK_REQUESTS)

    def held_requests(self, assets: Collection[AssetId]) -> list[HeldRequest]:
        return [_held(row) for row in self._rows(HELD_REQUESTS, assets=sorted(set(assets)))]

    def read_held_request(self, request_id: RequestId) -> HeldRequest | None:
        rows = self._rows(READ_HELD_REQUEST, id=request_id)
        return _held(rows[0]) if rows else None

    def insert_held_request(self, content: HeldContent, keep_s: float) -> RequestId:
        return RequestId(self._rows(INSERT_HELD_REQUEST, **_columns(content), keep_s=keep_s)[0][0])

    def replace_held_request(self, request_id: RequestId, content: HeldContent, keep_s: float) -> None:
        written = self._execute(REPLACE_HELD_REQUEST, id=request_id, **_columns(content), keep_s=keep_s)
        self._expect(written, 1, f"request {request_id}")

    def end_held_request(
        self, request_id: RequestId, state: RequestState, *, by: str, reason: str, run_id: RunId | None = None
    ) -> None:
        written = self._execute(
            END_HELD_REQUEST,
            id=request_id,
            state=state.value,
            by=clean_text(by),
            reason=clean_text(reason),
            run_id=run_id,
        )
        self._expect(written, 1, f"request {request_id}")

    def overdue_held_requests(self) -> list[HeldRequest]:
        return [_held(row) for row in self._rows(OVERDUE_HELD_REQUESTS)]

    def forget_held_requests(self, keep_s: float) -> int:
        return self._execute(FORGET_HELD_REQUESTS, keep_s=keep_s)

    def caused_cells(self, of: Collection[tuple[RunId, AssetId]]) -> dict[tuple[RunId, AssetId], int]:
        pairs = sorted(set(of))
        if not pairs:
            return {}
        rows = self._rows(CAUSED_CELLS, runs=[run for run, _ in pairs], assets=[asset for _, asset in pairs])
        return {(RunId(row[0]), AssetId(row[1])): row[2] for row in rows}

    def add_caused_cells(self, counts: Mapping[tuple[RunId, AssetId], int]) -> dict[tuple[RunId, AssetId], int]:
        pairs = sorted(counts)
        if not pairs:
            return {}
        rows = self._rows(
            ADD_CAUSED_CELLS,
            runs=[run for run, _ in pairs],
            assets=[asset for _, asset in pairs],
            cells=[counts[one] for one in pairs],
        )
        return {(RunId(row[0]), AssetId(row[1])): row[2] for row in rows}

    def forget_caused_cells(self, keep_s: float) -> int:
        return self._execute(FORGET_CAUSED_CELLS, keep_s=keep_s)

    def faults(self) -> list[Fault]:
        return [Fault(FaultKind(row[0]), *row[1:]) for row in self._rows(FAULTS)]

    def write_faults(self, faults: Sequence[Fault]) -> None:
        rows: list[Fault] = ordered(faults, lambda fault: (fault.kind.value, fault.id), "write_faults")
        if rows:
            self._execute(
                WRITE_FAULTS,
                kinds=[fault.kind.value for fault in rows],
                ids=[fault.id for fault in rows],
                errors=[clean_text(fault.error) for fault in rows],
                tries=[fault.tries for fault in rows],
                sinces=[fault.since for fault in rows],
                lasts=[fault.last_at for fault in rows],
                nexts=[fault.next_at for fault in rows],
            )

    def clear_faults(self, keys: Collection[tuple[FaultKind, int]]) -> None:
        rows = sorted({(kind.value, one) for kind, one in keys})
        if rows:
            self._execute(CLEAR_FAULTS, kinds=[kind for kind, _ in rows], ids=[one for _, one in rows])

    def release_faults(self) -> None:
        self._execute(RELEASE_FAULTS)
        self._execute(RELEASE_TODO)


def _columns(content: HeldContent) -> dict[str, Any]:
    return {
        "assets": sorted(content.assets),
        "cells": content.cells,
        "cell_limit": content.cell_limit,
        "preview": to_json(list(content.preview)),
        "cause": to_json(content.cause),
        "merged": content.merged,
        "body": content.body,
    }


def _held(row: Any) -> HeldRequest:
    request_id, state, revision, assets, cells, cell_limit, preview, cause, merged, body, *rest = row
    return HeldRequest(
        request_id,
        RequestState(state),
        revision,
        tuple(assets),
        cells,
        cell_limit,
        preview,
        cause,
        merged,
        None if body is None else bytes(body),
        *rest,
    )
