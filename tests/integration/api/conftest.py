"""A deployment without processes: real Postgres, real duties, and attempts whose outcome the test chooses."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from partita.assets import (
    AssetSpec,
    CheckSpec,
    Daily,
    InputSpec,
    ModuleSpec,
    Multi,
    PartitionsDef,
    Snapshot,
    SourceRef,
    Static,
    StepSpec,
    asset_key,
    canonical_json,
    default_mapping,
    dependency_hash,
    snapshot_hash,
    to_spec,
)
from partita.assets.specs import EagerSpec, RetrySpec
from partita.core.catalog import Catalog, CatalogCache, CatalogInputs
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.leases import register
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, CheckResult, Claimed
from partita.core.logs import LogStore
from partita.core.runtime.activate import activate
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import AttemptId, AttemptOutcome, LocationId, SnapshotId, Task, TaskCell, WorkerId
from partita.core.store.values_definitions import LocationState
from partita.ui.api.server import listen, server_of
from partita.ui.api.services import Services, services_of
from partita.ui.cli import run

DAYS = Daily("2013-01-01", end="2013-02-01", tz="America/New_York")
ORIGINS = Static("EWR", "JFK", "LGA", 'odd "one", [x]..y')
GRID = Multi(day=DAYS, origin=ORIGINS)
WORKER = WorkerId("w1")


def spec(
    key: str,
    partitions: PartitionsDef | None = None,
    inputs: Mapping[str, PartitionsDef | None] | None = None,
    **more: Any,
) -> AssetSpec:
    module = more.pop("module", "flights.assets")
    code = more.pop("code", "1")
    found = tuple(
        InputSpec(
            name=up.rsplit("/", 1)[-1], upstream=asset_key(up), mapping=to_spec(default_mapping(partitions, up_scheme))
        )
        for up, up_scheme in (inputs or {}).items()
    )
    return AssetSpec(
        key=asset_key(key),
        step="" if more.get("kind") == "external" else key,
        partitions=to_spec(partitions) if partitions is not None else None,
        inputs=found,
        fingerprint=f"{key}-{code}",
        dependency_hash=dependency_hash(found),
        source=SourceRef(module=module, file="flights/assets.py", line=12),
        **more,
    )


FLIGHTS = (
    spec("source/flights", DAYS, kind="external"),
    spec("raw/flights", DAYS, {"source/flights": DAYS}, owner="team:ops", group="raw", description="All departures"),
    spec("weather", GRID, kinds=("parquet",), tags={"tier": "gold"}),
    spec(
        "delays",
        DAYS,
        {"raw/flights": DAYS, "weather": GRID},
        retries=RetrySpec(max_retries=2),
        params_schema={"properties": {"floor": {"type": "integer"}}},
    ),
    spec("health", None, {"delays": DAYS}, automation=EagerSpec()),
)
CHECKS = (CheckSpec(name="possible", asset=asset_key("delays"), blocking=True, description="Delays are possible"),)


class World:
    """One location, and attempts that end as `result` says. What tests need of this file hangs on it: it is not imported."""

    assets = FLIGHTS
    spec = staticmethod(spec)
    written: Callable[..., AttemptResult]
    failed: Callable[[Claimed], AttemptResult]

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.store: PostgresStore = open_store(url)
        self.logs = LogStore(folder)
        self.catalogs = CatalogCache(self.store.read)
        self.woken: list[str] = []
        self.services: Services = self.new_services()

    def new_services(self, **more: Any) -> Services:
        return services_of(
            self.store,
            self.logs,
            wake=more.get("wake", lambda names: self.woken.extend(str(name) for name in names)),
            on_wake=more.get("on_wake", lambda callback: None),
            who="ann",
            kind="api",
            routing=more.get("routing"),
        )

    @property
    def catalog(self) -> Catalog:
        return self.catalogs.active()

    def activate(
        self,
        assets: Sequence[AssetSpec] = FLIGHTS,
        *,
        location: str = "flights",
        checks: Sequence[CheckSpec] = CHECKS,
        modules: Sequence[ModuleSpec] = (ModuleSpec(name="flights.assets"),),
        state: LocationState = LocationState.SERVING,
    ) -> None:
        """Makes these the active definitions of the location, as a scheduler does."""
        snapshot = Snapshot(
            location=location,
            assets=tuple(assets),
            steps=tuple(
                StepSpec(id=one.step, assets=(one.key,), function=f"flights.assets:{one.key.rsplit('/', 1)[-1]}")
                for one in assets
                if one.kind == "asset"
            ),
            checks=tuple(checks),
            modules=tuple(modules),
        )
        with self.store.begin() as tx:
            done = activate(tx, location, snapshot, snapshot_hash(snapshot), canonical_json(snapshot))
            assert not done.problem, done.problem
            location_id = tx.put_location(location)
            errors = [{"name": one.name, "ok": one.ok, "error": one.error, "import_s": 0.1} for one in modules]
            tx.set_location_state(location_id, state, error=None, modules=errors)
            tx.put_code_server(f"server-{location}", location_id, "127.0.0.1:1", [snapshot_hash(snapshot)], 60)

    def work(self, *, limit: int = 10_000, result: Callable[[Claimed], AttemptResult] | None = None) -> int:
        """Admits, claims and finishes until nothing is left or `limit` attempts have ended; returns how many."""
        done = 0
        while done < limit:
            claimed = self.claim(limit - done)
            if not claimed:
                break
            self.finish([(result or written)(one) for one in claimed])
            done += len(claimed)
        while fold_tallies(self.store).more:
            pass
        return done

    def claim(self, limit: int = 1) -> list[Claimed]:
        register_once(self)
        with self.store.read() as reader:
            pins: list[tuple[LocationId, SnapshotId]] = list(reader.active_vector())
        while admit(self.store).more:
            pass
        claims = claim(self.store, WORKER, pins, limit, CatalogInputs(self.catalogs.of_run), self._log)
        return list(claims.claimed)

    def finish(self, results: Sequence[AttemptResult]) -> None:
        finish(self.store, results)

    def launch(self, selection: str, **asked: Any) -> int:
        """Plans and launches; returns the run's id."""
        from partita.ui.api.models import LaunchRequest, PlanRequest

        view = self.services.plans.create(PlanRequest(selection=selection, **asked))
        return self.services.plans.launch(view.id, LaunchRequest(confirm_cells=view.cell_count)).run_id

    def asset_id(self, key: str) -> int:
        return self.catalog.asset(key).id

    def _log(self, task: Task, cells: Sequence[TaskCell], attempt_id: AttemptId) -> str:
        return self.logs.name(
            asset=task.step,
            partition=cells[0].cell.partition,
            run_id=task.run_id,
            task_id=task.id,
            attempt_id=attempt_id,
        )


def register_once(world: World) -> None:
    with world.store.read() as reader:
        if reader.capacity():
            return
    register(world.store, WORKER, host="here", pid=1, capacity=100)


def written(claimed: Claimed, *, version: str = "v1") -> AttemptResult:
    """Every cell published with this data version; the check of `delays` passes."""
    return AttemptResult(
        task_id=claimed.task.id,
        attempt_id=claimed.attempt_id,
        fence=claimed.fence,
        outcome=AttemptOutcome.SUCCESS,
        cells=tuple(
            CellResult(one.cell, CellOutcome.WRITTEN, version, f"lake:{one.cell.partition}", {"rows": 842})
            for one in claimed.cells
        ),
        checks=tuple(
            CheckResult(one.cell, "possible", passed=True, blocking=True, detail={"worst": 3})
            for one in claimed.cells
            if claimed.task.step == "delays"
        ),
        digests=claimed.digests,
        versions=claimed.versions,
    )


def failed(claimed: Claimed) -> AttemptResult:
    return AttemptResult(
        task_id=claimed.task.id,
        attempt_id=claimed.attempt_id,
        fence=claimed.fence,
        outcome=AttemptOutcome.FAILED_FOR_GOOD,
        error="ValueError: no such column 'dep_delay'",
        traceback="Traceback (most recent call last):\n  ...\nValueError: no such column 'dep_delay'",
        digests=claimed.digests,
        versions=claimed.versions,
    )


World.written = staticmethod(written)
World.failed = staticmethod(failed)


@pytest.fixture
def world(pg_url: str, tmp_path: Path) -> Iterator[World]:
    world = World(pg_url, tmp_path / "logs")
    yield world
    world.store.close()


@pytest.fixture
def partita(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs one command line in process; gives exit code, stdout and stderr."""
    (tmp_path / "partita.toml").write_text("")
    monkeypatch.setenv("PARTITA_PROJECT", str(tmp_path))
    monkeypatch.setenv("PARTITA_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_DATABASE_URL", world.url)

    def command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


@contextmanager
def _served(services: Services, **options: Any) -> Iterator[str]:
    """The API on a free port of this host, on an event loop of its own; gives its address."""
    server = server_of(services, **options)
    listening = listen("127.0.0.1", 0)
    started = threading.Event()

    class Started(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "startup complete" in record.getMessage():
                started.set()

    handler = Started()
    uvicorn_log = logging.getLogger("uvicorn.error")
    uvicorn_log.addHandler(handler)
    uvicorn_log.setLevel(logging.INFO)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        assert started.wait(60), "the API did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
        uvicorn_log.removeHandler(handler)
        assert not thread.is_alive(), "the API did not stop"


@pytest.fixture
def address(world: World) -> Iterator[str]:
    with _served(world.services) as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture
def served() -> Callable[..., AbstractContextManager[str]]:
    return _served
