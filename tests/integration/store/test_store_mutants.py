"""The differential test would notice: statements with one thing wrong differ from the twin within a few seeds."""

from __future__ import annotations

from importlib import import_module

import pytest
from tests.integration.store.test_store_differential import compare, empty

from partita.core.store.sql import text

_MUTANTS = [
    ("cells", "PUBLISH_CELLS", "AND c.fence = u.fence", ""),
    (
        "cells",
        "PUBLISH_CELLS",
        "version_at = CASE WHEN u.confirms THEN c.version_at ELSE now() END",
        "version_at = now()",
    ),
    ("cells", "NOTE_ATTEMPTS", "AND c.fence = u.fence", ""),
    ("cells", "RAISE_FENCES", "greatest(c.fence, locked.fence)", "locked.fence + 0 * c.fence - 1"),
    ("tasks", "WRITE_TASKS", "AND t.fence = u.expect_fence", ""),
    ("tasks", "WRITE_TASKS", "coalesce(u.started_at, t.started_at)", "u.started_at"),
    ("tasks", "LOCK_SCHEDULED", "t.priority *", "0 *"),
    ("tasks", "LOCK_SCHEDULED", "(t.lane, t.fair_key) >", "(t.lane, '') >"),
    ("tasks", "LOCK_QUEUED", "t.critical_path DESC", "t.critical_path"),
    ("tasks", "LOCK_QUEUED", "AND t.queue = p.queue AND t.lane", "AND t.lane"),
    ("tasks", "LOCK_SCHEDULED", "AND t.queue = p.queue AND t.lane", "AND t.lane"),
    (
        "definitions",
        "QUEUED_PINS",
        "(t.location_id, t.snapshot_id, t.queue) >",
        "(t.location_id, t.snapshot_id, 'z') >",
    ),
    ("workers", "LAST_SERVED", "max(w.lease_expires_at)", "min(w.lease_expires_at)"),
    ("lanes", "CONFIGURE_LANES", "IS DISTINCT FROM", "="),
    ("tasks", "LOCK_ALL_BELOW", "JOIN task_edge e ON e.upstream_id = b.id", "JOIN task_edge e ON false"),
    ("pools", "HELD_SLOTS", "sum(slots)", "count(*)"),
    ("launch", "TAKE_WAITING_CAUSES", "AND waits", ""),
    ("runs", "WRITE_RUNS", "AND b.state = 'running'", ""),
    ("workers", "LOCK_LAPSED", "lease_expires_at <= now()", "state = 'live'"),
    (
        "accept",
        "REBASE_CELLS",
        "AND c.consumed_digest IS NOT DISTINCT FROM u.was_digest",
        "",
    ),
    ("accept", "REBASE_CELLS", "AND c.fingerprint_id IS NOT DISTINCT FROM u.was_fingerprint_id", ""),
    ("accept", "REBASE_CELLS", "AND c.fence = u.fence", ""),
    ("accept", "REBASE_CELLS", "AND c.data_version IS NOT NULL", ""),
    ("accept", "ACCEPTED_CELLS", "wf.id = a.was_fingerprint_id", "wf.id = a.fingerprint_id"),
    ("accept", "END_ACCEPTANCE", "AND undone_at IS NULL", ""),
    ("dynamic", "COUNT_KEYS", "AND (expires_at IS NULL OR expires_at > now())", ""),
    ("dynamic", "READ_KEYS", "AND ended IS NULL", ""),
    ("dynamic", "DUE_KEYS", "AND expires_at <= now()", ""),
    ("dynamic", "RENEW_KEYS", "AND k.ended IS NULL", ""),
    ("dynamic", "END_KEYS", "AND k.ended IS NULL", ""),
    ("dynamic", "SET_REVISION", "AND revision < :revision", ""),
    ("events", "TAKE_TODO", "ORDER BY created_at, event_id", "ORDER BY event_id"),
    ("events", "TAKE_TODO", "AND created_at <= now()", ""),
    ("requests", "END_HELD_REQUEST", "AND state = 'awaiting_input'", ""),
    ("requests", "HELD_REQUESTS", "assets && CAST(:assets AS bigint[])", "CAST(:assets AS bigint[]) IS NOT NULL"),
    ("requests", "RELEASE_TODO", "AND created_at > now()", ""),
    ("evaluators", "TRIM_ASKED", "token <= :before", "token < :before"),
    ("evaluators", "TRIM_ASKED", "AND key IS NULL", ""),
    ("evaluators", "TRIM_ASKED", "AND state <> 'open'", ""),
]
_SEEDS = 40


@pytest.mark.prove
@pytest.mark.parametrize(("module", "name", "right", "wrong"), _MUTANTS)
def test_the_comparison_notices(
    pg_url: str, monkeypatch: pytest.MonkeyPatch, module: str, name: str, right: str, wrong: str
) -> None:
    statements = import_module(f"partita.core.store.postgres.{module}")
    source = str(getattr(statements, name))
    assert right in source
    monkeypatch.setattr(statements, name, text(source.replace(right, wrong)))
    for seed in range(_SEEDS):
        try:
            compare(pg_url, seed)
        except AssertionError:
            return
        empty(pg_url)
    pytest.fail(f"{name} without {right!r} was not noticed in {_SEEDS} seeds")
