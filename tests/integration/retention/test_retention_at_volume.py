"""S-231 on Postgres with volume: the shipped export, its files read by DuckDB, deletion in bounded visits by indexes."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from partita.core.retention import Archive, export, retain
from partita.core.store.open import open_store
from partita.core.store.postgres import PostgresStore
from partita.core.store.values_retention import ArchiveState

FIRST = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=100)
DAYS, RUNS, TASKS = 3, 10, 200  # of each day so many runs, of each run so many tasks
ALL = DAYS * RUNS * TASKS

FILL = """
    INSERT INTO run (state, cause, request, plan_hash, as_of, task_count, created_at, finished_at)
    SELECT 'success', '{"kind": "person"}', '{}', 'h', %(first)s, %(tasks)s,
           %(first)s + make_interval(days => d, mins => r), %(first)s + make_interval(days => d, mins => r + 1)
    FROM generate_series(0, %(days)s - 1) d, generate_series(1, %(runs)s) r;
    INSERT INTO run_tag SELECT id, 'why', 'a, "b"' || chr(10) || 'c' FROM run;
    INSERT INTO task (run_id, step, state, lane, error, finished_at)
    SELECT r.id, 's', 'success', 'interactive', CASE WHEN n = 1 THEN '' END, r.finished_at
    FROM run r, generate_series(1, %(tasks)s) n;
    INSERT INTO task_edge SELECT id, id + 1 FROM task WHERE id < (SELECT max(id) FROM task);
    INSERT INTO task_cell (task_id, asset_id, partition, state, reason) SELECT id, 1, 'p' || id, 'published', 'missing' FROM task;
    INSERT INTO attempt (task_id, run_id, number, worker_id, snapshot_id, fence, started_at, finished_at, outcome, usage)
    SELECT id, run_id, 1, 'w', 1, id, finished_at, finished_at, 'success', '{"cpu_s": 0.5}' FROM task;
    INSERT INTO check_result (attempt_id, asset_id, partition, name, passed, blocking)
    SELECT id, 1, 'p' || task_id, 'c', true, false FROM attempt;
    INSERT INTO event (at, kind, asset_id, partition, run_id, task_id)
    SELECT finished_at, 'materialized', 1, 'p' || id, run_id, id FROM task;
    INSERT INTO cell (asset_id, partition, fence, data_version, published_attempt)
    SELECT 1, 'p' || task_id, id, 'v' || id, id FROM attempt;
    INSERT INTO automation_request SELECT 1, 'p' || id, id, run_id, '{}', finished_at FROM task;
    INSERT INTO automation_request VALUES (1, 'refused', 1, NULL, '{"kind": "rejected"}', %(first)s);
"""


class Died(BaseException):
    """The process ends here."""


@pytest.fixture
def store(pg_url: str) -> Iterator[PostgresStore]:
    """Three old days with a history, and one run that is open since yesterday."""
    with psycopg.connect(pg_url.replace("+psycopg", ""), autocommit=True) as connection:
        values = {"first": FIRST, "days": DAYS, "runs": RUNS, "tasks": TASKS}
        with psycopg.ClientCursor(connection) as cursor:  # several statements at once
            cursor.execute(FILL.encode(), values)
            cursor.execute(
                "INSERT INTO run (state, cause, request, plan_hash, as_of, task_count, created_at)"
                " VALUES ('running', '{}', '{}', 'h', now(), 1, now() - interval '1 day')"
            )
            cursor.execute("INSERT INTO task (run_id, step, state, lane) SELECT max(id), 's', 'queued', 'l' FROM run")
            cursor.execute("ANALYZE")
    opened = open_store(pg_url)
    yield opened
    opened.close()


def count(store: PostgresStore, table: str) -> int:
    with psycopg.connect(store.url) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
        assert row is not None
        return int(row[0])


def all_of(store: PostgresStore, archive: Archive, limit: int = 1_000) -> list[int]:
    """Rows that each visit deleted, until nothing is due."""
    visits: list[int] = []
    while (done := retain(store, archive.export, keep_days=90, limit=limit)).more or not visits or _under_way(store):
        visits.append(done.deleted)
    return visits


def _under_way(store: PostgresStore) -> bool:
    with store.begin() as tx:
        return tx.archive_under_way() is not None


def test_days_of_history_become_files_and_leave_the_tables(store: PostgresStore, tmp_path: Path) -> None:
    archive = Archive(store, tmp_path)
    visits = all_of(store, archive)
    assert max(visits) == 1_000, "a visit takes no more"
    for table in ("task_cell", "task_edge", "attempt", "check_result", "event", "run_tag"):
        assert count(store, table) == 0, table
    assert (count(store, "run"), count(store, "task")) == (1, 1), "the open run stays"
    assert (count(store, "cell"), count(store, "automation_request")) == (ALL, 1)
    names = [f"{(FIRST + timedelta(days=n)).date()}.parquet" for n in range(DAYS)]
    assert sorted(file.name for file in (tmp_path / "task").iterdir()) == names, "one file a table and day"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == [], (
        "nothing half-made is left"
    )
    for table, expected in (
        ("run", DAYS * RUNS),
        ("task", ALL),
        ("attempt", ALL),
        ("event", ALL),
        ("check_result", ALL),
    ):
        assert told(f"SELECT count(*) FROM '{tmp_path}/{table}/*.parquet'")[0] == expected
    assert told(f"SELECT count(DISTINCT id) FROM '{tmp_path}/task/*.parquet'") == (ALL,), "none stands in two files"
    with store.begin() as tx:
        found = tx.archive_days(10)
    assert [one.state for one in found] == [ArchiveState.DONE] * DAYS
    assert sum(one.rows["task"] for one in found) == ALL


def test_files_keep_types_and_tell_what_is_absent_from_what_is_empty(store: PostgresStore, tmp_path: Path) -> None:
    written = Archive(store, tmp_path).export(FIRST.date())
    written.publish()
    written.discard()
    task = f"'{tmp_path}/task/{FIRST.date()}.parquet'"
    assert told(f"SELECT count(*) FROM {task} WHERE error = ''") == (RUNS,)
    assert told(f"SELECT count(*) FROM {task} WHERE error IS NULL") == (RUNS * (TASKS - 1),)
    assert told(f"SELECT typeof(id), typeof(finished_at), typeof(error), typeof(cancel_requested) FROM {task}") == (
        "BIGINT",
        "TIMESTAMP WITH TIME ZONE",
        "VARCHAR",
        "BOOLEAN",
    )
    assert told(f"SELECT DISTINCT value FROM '{tmp_path}/run_tag/*.parquet'") == ('a, "b"\nc',)
    assert told(f"SELECT DISTINCT usage FROM '{tmp_path}/attempt/*.parquet'") == ('{"cpu_s": 0.5}',)
    assert told(f"SELECT min(finished_at) >= '{FIRST.isoformat()}' FROM {task}") == (True,)


def test_without_duckdb_the_files_are_compressed_csv(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    all_of(store, Archive(store, tmp_path))
    lines = 0
    for file in (tmp_path / "task").iterdir():
        assert file.name.endswith(".csv.gz")
        with gzip.open(file, "rt") as text:
            lines += sum(1 for _ in text) - 1
    assert lines == ALL


def test_an_export_that_was_cut_off_is_made_again(store: PostgresStore, tmp_path: Path) -> None:
    """The process dies after the files have their names and before that is committed; the next one writes them again."""
    archive = Archive(store, tmp_path)

    def dies(day: date) -> Any:
        archive.export(day).publish()
        raise Died

    with pytest.raises(Died):
        retain(store, dies, keep_days=90)
    assert count(store, "task") == ALL + 1
    all_of(store, archive)
    assert told(f"SELECT count(*), count(DISTINCT id) FROM '{tmp_path}/task/*.parquet'") == (ALL, ALL)


def told(statement: str) -> tuple[Any, ...]:
    with duckdb.connect() as engine:
        row = engine.execute(statement).fetchone()
    assert row is not None
    return row
