"""Publishing cell by cell through the duties, and what keeping the pages up to date costs beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import harness
import psutil
import psycopg
from psycopg.sql import SQL, Identifier

from partita.assets import AssetSpec, Daily, Snapshot, StepSpec, asset_key, canonical_json, snapshot_hash, to_spec
from partita.core.catalog import Catalog, CatalogInputs, load_catalog
from partita.core.cells.fold import FOLD_CHANGES, fold_pages
from partita.core.cells.pages import joined, rows_equal
from partita.core.config import load_config
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import register
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, Claimed
from partita.core.embedded import EmbeddedPostgres
from partita.core.planner import PlanRequest, plan, to_launch
from partita.core.store.open import migrate, open_store
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import AttemptOutcome, LocationId, SnapshotId, WorkerId
from planner_rows.measure import check, growth
from planner_rows.world import served

DAYS = 1_000
AT_ONCE = 1_000
WORKER = WorkerId("bench")


@dataclass(slots=True)
class Took:
    """Seconds by the clock, and of the processors: of this process and of the database's together."""

    clock: float = 0.0
    cpu: float = 0.0


@dataclass(slots=True)
class Spent:
    """What the time went into. `worked` tells the seconds of the processors until now."""

    worked: Callable[[], float]
    publishing: Took = field(default_factory=Took)
    folding: Took = field(default_factory=Took)


def publish_pages(bench: harness.Bench, *, quick: bool) -> None:
    """100,000 cells, each an attempt of its own, finished up to 1,000 at a time; the fold duty visits after as many as it
    takes at once, which is about how often the scheduler lets it."""
    assets = (1, 2, 4) if quick else (10, 32, 100)
    with served() as (folder, url):
        found = [published(folder, database(url, f"size_{count}"), count) for count in assets]
    cells = [count * DAYS for count in assets]
    shown = " / ".join(
        f"{n:,}: {one.publishing.clock:.1f} + {one.folding.clock:.1f} s" for n, one in zip(cells, found, strict=True)
    )
    last = found[-1]
    worked = (
        f"{last.publishing.cpu:.1f} + {last.folding.cpu:.1f} s, {100 * last.folding.cpu / last.publishing.cpu:.1f} %"
    )
    bench.below(
        "publish_pages",
        f"folding beside publishing, {cells[-1]:,} cells one by one ({shown}; growth of folding"
        f" {growth(cells, [one.folding.clock for one in found]):.2f}; processors with the database's {worked})",
        100 * last.folding.clock / last.publishing.clock,
        "%",
        20,
    )


def database(url: str, name: str) -> str:
    """The URL of a new, empty database on the same server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return url.replace("/partita?", f"/{name}?")


def published(folder: Path, url: str, assets: int) -> Spent:
    """Every cell of so many assets published and folded; the pages are what rebuilding them gives."""
    migrate(url)
    store = open_store(url)
    try:
        return _published(store, assets, Spent(_worked(folder)))
    finally:
        store.close()


def _worked(folder: Path) -> Callable[[], float]:
    """Tells the seconds of the processors: of this process, and of the embedded Postgres of a project's folder."""
    server = psutil.Process(EmbeddedPostgres(load_config(folder, environ={}).postgres).pid)
    return lambda: time.process_time() + harness.cpu_seconds([server, *server.children(recursive=True)])


def _published(store: PostgresStore, assets: int, spent: Spent) -> Spent:
    pins = _defined(store, assets)
    with store.read() as reader:
        catalog = load_catalog(reader)
        made = plan(catalog, reader, PlanRequest(selection="*", as_of=reader.now()))
    check(made.task_count == assets * DAYS, "one task a cell")
    launch(store, to_launch(made, catalog, cause={"kind": "person", "by": "bench", "text": "all"}))
    register(store, WORKER, host="bench", pid=1, capacity=made.task_count, lease_s=3_600)
    claimed = _claimed(store, catalog, pins)
    check(len(claimed) == made.task_count, "every task is claimed")
    # Day by day, as they come in life: every batch touches every asset.
    results = [_result(one) for one in sorted(claimed, key=lambda one: one.cells[0].cell.partition)]
    for start in range(0, len(results), AT_ONCE):
        batch = results[start : start + AT_ONCE]
        with _timed(spent.publishing, spent.worked):
            finished = finish(store, batch)
        if (start + AT_ONCE) % FOLD_CHANGES == 0:
            with _timed(spent.folding, spent.worked):
                fold_pages(store)
        check(len(finished.applied) == len(batch), "every attempt is published")
    with _timed(spent.folding, spent.worked):
        while fold_pages(store):
            pass
    _check(store, catalog, made.task_count)
    return spent


def _defined(store: PostgresStore, assets: int) -> list[tuple[LocationId, SnapshotId]]:
    keys = [asset_key(f"table_{index:03}") for index in range(assets)]
    days = to_spec(Daily("2023-01-01", end="2025-09-27"))
    snapshot = Snapshot(
        location="shop",
        assets=tuple(AssetSpec(key=key, step=key, partitions=days, fingerprint="1") for key in keys),
        steps=tuple(StepSpec(id=key, assets=(key,), function="shop:f") for key in keys),
    )
    body = canonical_json(snapshot)
    with store.begin() as tx:
        location = tx.put_location(snapshot.location)
        stored, _ = tx.put_snapshot(location, snapshot_hash(snapshot), body=body, effective=body, kept=[])
        tx.activate_snapshot(location, stored)
        tx.define_assets(location, stored, keys)
    with psycopg.connect(store.url.replace("+psycopg", "")) as connection:
        connection.execute("UPDATE pool SET slots = %s", [assets * DAYS])
    return [(location, stored)]


def _claimed(store: PostgresStore, catalog: Catalog, pins: list[tuple[LocationId, SnapshotId]]) -> list[Claimed]:
    found: list[Claimed] = []
    while True:
        admit(store)
        more = claim(store, WORKER, pins, AT_ONCE, CatalogInputs(lambda run: catalog), lambda *names: "log").claimed
        if not more:
            return found
        found += more


def _result(one: Claimed) -> AttemptResult:
    version = f"v{one.attempt_id}"
    return AttemptResult(
        task_id=one.task.id,
        attempt_id=one.attempt_id,
        fence=one.fence,
        outcome=AttemptOutcome.SUCCESS,
        cells=tuple(
            CellResult(own.cell, CellOutcome.WRITTEN, data_version=version, location="here") for own in one.cells
        ),
        digests=one.digests,
        versions=one.versions,
    )


def _check(store: PostgresStore, catalog: Catalog, cells: int) -> None:
    ids = sorted(catalog.by_id)
    with store.read() as reader:
        pages, rebuilt = reader.blocks(ids), reader.rebuilt(ids)
    check(sum(map(len, rebuilt.values())) == cells, "every cell is published")
    for asset_id in ids:
        check(
            rows_equal(joined(pages[asset_id]), rebuilt[asset_id]), f"the pages of asset {asset_id}, rebuilt, are equal"
        )


@contextmanager
def _timed(took: Took, worked: Callable[[], float]) -> Iterator[None]:
    began, before = time.perf_counter(), worked()
    yield
    took.clock += time.perf_counter() - began
    took.cpu += worked() - before
