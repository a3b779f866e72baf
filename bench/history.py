"""What history costs the present: the pages that every hot statement touches, without and with millions of finished attempts.

In a database of its own each, the same work is done by the duties themselves (launch, admit, claim, report, fold, leases, the
scheduler's look), and every statement that they run is explained with its very parameters (EXPLAIN ANALYZE, BUFFERS) before it
runs. History is made by generate_series: finished attempts with their runs, tasks, cells of tasks and events. Both databases are
vacuumed and analyzed first, as they are in life. Afterwards every task must have one attempt and every cell its publication.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from unittest.mock import patch

import harness
import psycopg
from planner_rows.publish import database
from planner_rows.world import served

import partita.core.store.postgres
import partita.core.store.queries
from partita.assets import (
    AssetSpec,
    Daily,
    Identity,
    InputSpec,
    Snapshot,
    StepSpec,
    asset_key,
    canonical_json,
    snapshot_hash,
    to_spec,
)
from partita.core.catalog import Catalog, CatalogInputs, load_catalog
from partita.core.cells.fold import fold_pages
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Launch
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, Claimed
from partita.core.planner import PlanRequest, plan, to_launch
from partita.core.store.open import migrate, open_store
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.queries.base import Queries
from partita.core.store.sql import Statement
from partita.core.store.values import AttemptOutcome, LocationId, Pool, SnapshotId, WorkerId

DAYS = 250
LAYERS = 4
WORKER = WorkerId("bench")
Pages = Counter[str]

# Per thousand attempts a run; each attempt a task of its own with its cell, and three events, as a success leaves them.
HISTORY = (
    """
    INSERT INTO run (state, cause, request, plan_hash, as_of, created_at, finished_at, tallies, task_count)
    SELECT 'success', '{{}}', '{{}}', 'history', now(), now() - interval '1 day', now() - interval '1 day',
           '{{"success": 1000}}', 1000
    FROM generate_series(1, {n} / 1000)
    """,
    """
    INSERT INTO task (run_id, step, location_id, snapshot_id, state, outcome, lane, attempt_number, attempt_id, fence, worker_id,
                      cell_count, created_at, ready_at, queued_at, started_at, finished_at)
    SELECT 1 + (i - 1) / 1000, 'layer_0', 1, 1, 'success', 'published', 'interactive', 1, i, i, 'gone', 1,
           t.at, t.at, t.at, t.at, t.at
    FROM generate_series(1, {n}) AS i, LATERAL (SELECT now() - interval '1 day' + i * interval '1 ms' AS at) t
    """,
    """
    INSERT INTO task_cell (task_id, asset_id, partition, state, reason, data_version)
    SELECT i, 1, 'old-' || i % 1000, 'published', 'missing', '1' FROM generate_series(1, {n}) AS i
    """,
    """
    INSERT INTO attempt (task_id, run_id, number, worker_id, snapshot_id, fence, queued_at, started_at, finished_at, outcome)
    SELECT i, 1 + (i - 1) / 1000, 1, 'gone', 1, i, t.at, t.at, t.at, 'success'
    FROM generate_series(1, {n}) AS i, LATERAL (SELECT now() - interval '1 day' + i * interval '1 ms' AS at) t
    """,
    """
    INSERT INTO event (at, kind, asset_id, partition, run_id, task_id)
    SELECT now() - interval '1 day', kind, 1, 'old-' || i % 1000, 1 + (i - 1) / 1000, i
    FROM generate_series(1, {n}) AS i, unnest(ARRAY['task', 'materialized', 'task']) AS kind
    """,
    "SELECT setval('fence_seq', {n})",
)


def main() -> None:
    options = harness.options(__doc__ or "")
    attempts = 200_000 if options.quick else 30_000_000
    bench = harness.Bench("history", {"finished_attempts": attempts, "tasks": LAYERS * DAYS})
    with served() as (_, url):
        without = touched(database(url, "without"), 0)
        with_history = touched(database(url, "with_history"), attempts)
    for pages in (without, with_history):
        del pages["EXTEND_LEASES"]  # runs when a pulse was late, on a busy machine
    assert without.keys() == with_history.keys(), f"other statements: {without.keys() ^ with_history.keys()}"
    ratio = with_history.total() / without.total()
    what = f"pages touched by {len(without)} statements with {attempts:,} finished attempts over those without"
    bench.below("buffers", f"{what} ({with_history.total():,} over {without.total():,})", ratio, "x", 1.1)
    for name, more in Counter({name: with_history[name] - without[name] for name in without}).most_common(3):
        bench.plain(f"more_{name.lower()}", f"pages more of {without[name]:,} that it touched", more, "pages")
    bench.print(as_json=options.json)


def touched(url: str, attempts: int) -> Pages:
    """The pages that each statement of the work touches in a database with so many finished attempts."""
    migrate(url)
    store = open_store(url)
    try:
        pins = _defined(store)
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in HISTORY if attempts else ():
                connection.execute(statement.format(n=attempts).encode())
            connection.execute("VACUUM (ANALYZE)")
            _wait_for_autovacuum(connection)
        catalog, launched = _planned(store)
        pulse(store)
        with _explained() as pages:
            _work(store, catalog, launched, pins)
        _count(url, attempts)
        return pages
    finally:
        store.close()


def _wait_for_autovacuum(connection: psycopg.Connection) -> None:
    """While it looks at what was loaded its snapshot keeps dead rows of all tables: that comes with a load, not with history."""
    busy = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND datname = current_database()"
    while connection.execute(busy).fetchone():
        time.sleep(0.5)


def _planned(store: PostgresStore) -> tuple[Catalog, Launch]:
    """A chain of assets, to be launched. Planning reads a sample of history, by which it estimates: it is not measured here."""
    with store.read() as reader:
        catalog = load_catalog(reader)
        made = plan(catalog, reader, PlanRequest(selection="*", as_of=reader.now()))
    return catalog, to_launch(made, catalog, cause={"kind": "person", "by": "bench", "text": "all"})


def _work(store: PostgresStore, catalog: Catalog, launched: Launch, pins: list[tuple[LocationId, SnapshotId]]) -> None:
    """From launched to folded, and what the loops of a scheduler and a worker ask besides."""
    launch(store, launched)
    left = len(launched.tasks)
    register(store, WORKER, host="bench", pid=1, capacity=left)
    while left:
        pulse(store)
        admit(store)
        assert renew(store, WORKER).live
        with store.read() as reader:
            reader.pending()
        claimed = _claimed(store, catalog, pins)
        assert claimed, f"{left} tasks are left and none can be claimed"
        assert len(finish(store, [_written(one) for one in claimed]).applied) == len(claimed)
        left -= len(claimed)
        fold_tallies(store)
        fold_pages(store)
        wake_retries(store)
    sweep(store)


def _claimed(store: PostgresStore, catalog: Catalog, pins: list[tuple[LocationId, SnapshotId]]) -> tuple[Claimed, ...]:
    return tuple(claim(store, WORKER, pins, DAYS, CatalogInputs(lambda run: catalog), lambda *names: "log").claimed)


def _written(one: Claimed) -> AttemptResult:
    return AttemptResult(
        task_id=one.task.id,
        attempt_id=one.attempt_id,
        fence=one.fence,
        outcome=AttemptOutcome.SUCCESS,
        cells=tuple(CellResult(own.cell, CellOutcome.WRITTEN, data_version=f"v{one.attempt_id}") for own in one.cells),
        digests=one.digests,
        versions=one.versions,
    )


def _defined(store: PostgresStore) -> list[tuple[LocationId, SnapshotId]]:
    days, same = to_spec(Daily("2025-01-01", end="2025-09-08")), to_spec(Identity())
    keys = [asset_key(f"layer_{n}") for n in range(LAYERS)]
    assets = tuple(
        AssetSpec(
            key=key,
            step=key,
            partitions=days,
            fingerprint="1",
            inputs=tuple(InputSpec(name=above, upstream=above, mapping=same) for above in keys[:n][-1:]),
        )
        for n, key in enumerate(keys)
    )
    steps = tuple(StepSpec(id=key, assets=(key,), function="shop:f") for key in keys)
    snapshot = Snapshot(location="shop", assets=assets, steps=steps)
    body = canonical_json(snapshot)
    with store.begin() as tx:
        location = tx.put_location(snapshot.location)
        stored, _ = tx.put_snapshot(location, snapshot_hash(snapshot), body=body, effective=body, kept=[])
        tx.activate_snapshot(location, stored)
        tx.define_assets(location, stored, keys)
        tx.set_pool(Pool("default", DAYS))
    return [(location, stored)]


@contextmanager
def _explained() -> Iterator[Pages]:
    """Every statement of the block is explained and rolled back before it runs; the pages it touched, by its name."""
    names = _names()
    pages: Pages = Counter()
    run, rows = PostgresPart._run, Queries._rows

    def explained_run(part: PostgresPart, statement: Statement, parameters: Mapping[str, Any], *, binary: bool) -> int:
        pages[names[statement.whole or statement]] += _pages(part._cursor.connection, statement, parameters)
        return run(part, statement, parameters, binary=binary)

    def explained_rows(queries: Queries, statement: Statement, **parameters: Any) -> list[tuple[Any, ...]]:
        pages[names[statement.whole or statement]] += _pages(queries._connection, statement, parameters)
        return rows(queries, statement, **parameters)

    with patch.object(PostgresPart, "_run", explained_run), patch.object(Queries, "_rows", explained_rows):
        yield pages


def _pages(connection: psycopg.Connection, statement: Statement, parameters: Mapping[str, Any]) -> int:
    """The pages of one execution, which leaves nothing behind."""
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT explained")
        cursor.execute(b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.driver, parameters)
        ((found,),) = cursor.fetchall()
        cursor.execute("ROLLBACK TO explained")
    top = found[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def _names() -> dict[Statement, str]:
    found: dict[Statement, str] = {}
    for package in (partita.core.store.postgres, partita.core.store.queries):
        for module in iter_modules(package.__path__):
            for name, value in vars(import_module(f"{package.__name__}.{module.name}")).items():
                if isinstance(value, Statement):
                    found.setdefault(value, name)
    return found


def _count(url: str, attempts: int) -> None:
    wanted = LAYERS * DAYS
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM task WHERE state = 'success'),"
            " (SELECT count(*) FROM attempt WHERE outcome = 'success'),"
            " (SELECT count(*) FROM cell WHERE last_outcome = 'published'), (SELECT count(*) FROM pool_slot),"
            " (SELECT count(*) FROM open_cell), (SELECT count(*) FROM run WHERE state = 'running')"
        ).fetchone()
    assert found == (attempts + wanted, attempts + wanted, wanted, 0, 0, 0), f"rows afterwards: {found}"


if __name__ == "__main__":
    main()
