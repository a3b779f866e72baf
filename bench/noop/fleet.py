"""A location of three root assets, and of two in a row, whose tasks nobody runs; their launches, and the workers that claim and
report them.

Schedulers and the code-location server are the shipped commands; `worker.py` stands for `partita worker`, so that what is
measured is the coordination.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from partita.assets import AssetKey
from partita.core.catalog import CatalogAsset, CatalogCache
from partita.core.duties.launch import launch_all
from partita.core.duties.values import Launch, LaunchCell, LaunchTask
from partita.core.runtime.deployed import Deployed
from partita.core.runtime.wake import WakeHub
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import CellRef, PoolUse

ROOTS = 3
LAUNCHED_AT_ONCE = 100
_MODULE = """
from partita.sdk import Context, Output, Static, asset

keys = Static(*(f"p{i:05}" for i in range(%d)))

def root(n: int, pool: str) -> None:
    @asset(key=f"root_{n}", partitions=keys, io=None, pool=pool, owner="team:bench", deadline=%r)
    def made(context: Context) -> Output:
        return Output(data_version="1")

for n, pool in enumerate(["warehouse", "warehouse", "lake"]):
    root(n, pool)

@asset(partitions=keys, io=None, pool="warehouse", owner="team:bench")
def first(context: Context) -> Output:
    return Output(data_version="1")

@asset(partitions=keys, io=None, pool="warehouse", owner="team:bench", deps=[first])
def second(context: Context) -> Output:
    return Output(data_version="1")
"""
_CONFIG = """
[[location]]
name = "noop"
modules = ["noop"]

[pools]
warehouse = {warehouse}
lake = {lake}
"""


def files(runs: int, pools: Mapping[str, int], *, deadline: str | None = None) -> dict[str, str]:
    """The project: so many partitions of each asset, the slots of the pools `warehouse` and `lake`, a deadline of the roots."""
    return {"partita.toml": _CONFIG.format(**pools), "noop.py": _MODULE % (runs, deadline)}


def start(deployment: Deployed, schedulers: Sequence[str]) -> None:
    """The schedulers of these names and the code-location server; returns when the location serves."""
    deployment.env.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in schedulers:
        deployment.start("scheduler", name=name)
    deployment.start("code-server", "--location", "noop")
    deployment.wait_serving()


def launches(store: PostgresStore, runs: int, *, chains: int = 0) -> list[Launch]:
    """One run a partition: its cell of each of the roots. Among them, evenly, so many runs of two tasks in a row."""
    catalog = CatalogCache(store.read).active()
    roots = [catalog.assets[AssetKey(f"root_{n}")] for n in range(ROOTS)]
    chain = [catalog.assets[AssetKey(name)] for name in ("first", "second")]
    now = datetime.now(UTC)

    def run(name: str, tasks: tuple[LaunchTask, ...]) -> Launch:
        return Launch(
            tasks=tasks,
            request={"selection": "*"},
            plan_hash=f"noop-{name}",
            as_of=now,
            cause={"kind": "schedule", "by": "bench"},
            pins=catalog.vector,
            lane="scheduled",
        )

    asked: list[Launch] = []
    for n in range(runs):
        key = f"p{n:05}"
        asked.append(run(key, tuple(_task(root, key) for root in roots)))
        if chains and n % (runs // chains) == 0 and n // (runs // chains) < chains:
            asked.append(run(f"chain-{key}", (_task(chain[0], key), _task(chain[1], key, upstream=(0,)))))
    return asked


def _task(asset: CatalogAsset, key: str, *, upstream: tuple[int, ...] = ()) -> LaunchTask:
    return LaunchTask(
        "step",
        asset.step.id,
        asset.location_id,
        asset.snapshot_id,
        cells=(LaunchCell(CellRef(asset.id, key), "missing", None),),
        upstream=upstream,
        pools=tuple(PoolUse(use.name, use.slots) for use in asset.spec.pools),
        owner=asset.spec.owner or "",
        deadline_s=asset.spec.deadline_s,
    )


@contextmanager
def launching(deployment: Deployed, store: PostgresStore, asked: Sequence[Launch]) -> Iterator[None]:
    """Launches on a thread of its own, and waits for its end."""
    hub = WakeHub(deployment.database_url)

    def work() -> None:
        for first in range(0, len(asked), LAUNCHED_AT_ONCE):
            for launched in launch_all(store, asked[first : first + LAUNCHED_AT_ONCE]):
                hub.wake(launched.channels)

    thread = threading.Thread(target=work, daemon=True)
    hub.start()
    thread.start()
    yield
    thread.join()
    hub.stop()


@contextmanager
def workers(deployment: Deployed, count: int, capacity: int, *options: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many workers that run nothing, up to `capacity` attempts each; see `worker.py` for the options."""
    script = Path(__file__).with_name("worker.py")
    with deployment.log.open("ab") as log:
        started = [
            subprocess.Popen(
                [sys.executable, str(script), str(deployment.folder), str(capacity), *options],
                env=deployment.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
            for _ in range(count)
        ]  # fmt: skip
    try:
        deployment.wait(
            "the workers are there",
            lambda: deployment.query("SELECT count(*) FROM worker WHERE state = 'live'") == [(count,)],
        )
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait(30)


def count(deployment: Deployed, runs: int, *, chains: int = 0) -> None:
    """Every task one attempt, every cell published once, no slot held and no cell owned."""
    [(tasks, attempts, cells, slots, owners)] = deployment.query(
        "SELECT (SELECT count(*) FROM task WHERE state = 'success'), (SELECT count(*) FROM attempt WHERE outcome = 'success'),"
        " (SELECT count(*) FROM cell WHERE last_outcome = 'published'), (SELECT count(*) FROM pool_slot),"
        " (SELECT count(*) FROM open_cell)"
    )
    wanted = ROOTS * runs + 2 * chains
    assert (tasks, attempts, cells, slots, owners) == (wanted, wanted, wanted, 0, 0), (
        f"{tasks} tasks, {attempts} attempts, {cells} cells for {wanted}; {slots} slots and {owners} owners left"
    )
