"""A store on a fresh database, and a small world in it: a location, a snapshot, an asset, a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from partita.core.store.open import open_store
from partita.core.store.port import Tx
from partita.core.store.postgres import PostgresStore
from partita.core.store.values import (
    AssetId,
    CellRef,
    LocationId,
    NewRun,
    NewTask,
    NewTaskCell,
    Pool,
    PoolUse,
    RetryPolicy,
    RunId,
    SnapshotId,
    TaskId,
    TaskState,
)


@dataclass(frozen=True)
class Place:
    """Where tests put their tasks."""

    location_id: LocationId
    snapshot_id: SnapshotId
    asset_id: AssetId
    run_id: RunId

    def cell(self, partition: str) -> CellRef:
        return CellRef(self.asset_id, partition)

    def add_tasks(
        self, tx: Tx, n: int, *, state: TaskState = TaskState.SCHEDULED, pool: str = "default", waiting_on: int = 0
    ) -> list[TaskId]:
        """`n` tasks of one cell each (`k000`, `k001` ...) that use one slot of `pool`."""
        ids = tx.reserve_task_ids(n)
        tx.insert_tasks([(self.run_id, self._task(task_id, state, pool, waiting_on)) for task_id in ids])
        tx.insert_task_cells([NewTaskCell(task_id, self.cell(f"k{task_id:03}"), "missing") for task_id in ids])
        return ids

    def _task(self, task_id: TaskId, state: TaskState, pool: str, waiting_on: int) -> NewTask:
        return NewTask(
            id=task_id,
            kind="step",
            step="orders",
            location_id=self.location_id,
            snapshot_id=self.snapshot_id,
            state=state,
            waiting_on=waiting_on,
            pools=(PoolUse(pool, 1),),
            lane="interactive",
            priority=0,
            wave=0,
            retry=RetryPolicy(),
            timeout_s=None,
            cell_count=1,
        )


@pytest.fixture
def store(pg_url: str) -> Iterator[PostgresStore]:
    store = open_store(pg_url, pool_size=12)
    yield store
    store.close()


@pytest.fixture
def place(store: PostgresStore) -> Place:
    with store.begin() as tx:
        location_id = tx.put_location("shop")
        snapshot_id, _ = tx.put_snapshot(location_id, "v1", body=b"{}", effective=b"{}", kept=[])
        tx.activate_snapshot(location_id, snapshot_id)
        asset_id = tx.define_assets(location_id, snapshot_id, ["orders"])["orders"]
        tx.set_pool(Pool("warehouse", 100))
        run = NewRun(None, "interactive", 0, {}, {}, "h", datetime.now(UTC), {}, 1, ((location_id, snapshot_id),))
        (run_id,) = tx.insert_runs([run])
    return Place(location_id, snapshot_id, asset_id, run_id)
