"""A small world for the duties: a store with a virtual clock, launches built from a few words, workers that do as told.

Nothing here sleeps or reads a clock: time moves when a test says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import register
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Launch, LaunchCell, Launched, LaunchTask, NewBackfill
from partita.core.duties.values_attempts import (
    AttemptResult,
    CellOutcome,
    CellResult,
    Claimed,
    Claims,
    CodeVersion,
    Finished,
    ResolvedInput,
    ResolvedInputs,
)
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Store
from partita.core.store.values import (
    AssetId,
    AttemptId,
    AttemptOutcome,
    CellRef,
    LocationId,
    PoolUse,
    RetryPolicy,
    SnapshotId,
    Task,
    TaskCell,
    TaskId,
    WorkerId,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
LOCATION = LocationId(1)
SNAPSHOT = SnapshotId(1)
PIN = (LOCATION, SNAPSHOT)
WORKER = WorkerId("w1")


class Clock:
    """Virtual time."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def cell(asset: int, partition: str = "") -> CellRef:
    return CellRef(AssetId(asset), partition)


def step(
    asset: int,
    *upstream: int,
    partitions: Sequence[str] = ("",),
    reason: str = "missing",
    pools: Sequence[tuple[str, int]] = (),
    retries: int = 0,
    **changes: Any,
) -> LaunchTask:
    """A step that makes one asset; `upstream` are indexes in the launch."""
    values: dict[str, Any] = {
        "kind": "step",
        "step": f"s{asset}",
        "location_id": LOCATION,
        "snapshot_id": SNAPSHOT,
        "cells": tuple(LaunchCell(cell(asset, partition), reason) for partition in partitions),
        "upstream": upstream,
        "pools": tuple(PoolUse(name, slots) for name, slots in pools),
        "retry": RetryPolicy(max_retries=retries),
    }
    return LaunchTask(**(values | changes))


def gate(*upstream: int) -> LaunchTask:
    return LaunchTask("gate", "gate", None, None, upstream=upstream)


def plan_of(*tasks: LaunchTask, backfill: NewBackfill | None = None, **changes: Any) -> Launch:
    values: dict[str, Any] = {
        "tasks": tasks,
        "request": {"selection": "*"},
        "plan_hash": "h",
        "as_of": START,
        "cause": {"kind": "person", "by": "ada"},
        "pins": (PIN,),
        "backfill": backfill,
    }
    return Launch(**(values | changes))


@dataclass
class Definitions:
    """What the resolver answers: inputs per asset id, as (name, upstream asset id) on the same partition."""

    inputs: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    externals: set[int] = field(default_factory=set)
    versions: dict[int, CodeVersion] = field(default_factory=dict)
    broken: dict[int, Exception] = field(default_factory=dict)

    def resolve(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        assets = sorted({own.cell.asset_id for own in cells})
        for asset in assets:
            if asset in self.broken:
                raise self.broken[asset]
        inputs = tuple(
            ResolvedInput(
                name,
                "data",
                AssetId(upstream),
                {own.cell: (cell(upstream, own.cell.partition),) for own in cells if own.cell.asset_id == asset},
                external=upstream in self.externals,
            )
            for asset in assets
            for name, upstream in self.inputs.get(asset, [])
        )
        return ResolvedInputs(inputs, {asset: self.version(asset) for asset in assets})

    def version(self, asset: int) -> CodeVersion:
        return self.versions.get(asset, CodeVersion(f"code{asset}", f"deps{asset}"))


def no_log(task: Task, cells: Sequence[TaskCell], attempt_id: AttemptId, /) -> str | None:
    return f"{task.id}/{attempt_id}.log"


def report(
    claimed: Claimed,
    outcome: AttemptOutcome = AttemptOutcome.SUCCESS,
    *,
    version: str | None = None,
    kinds: Mapping[CellRef, CellOutcome] | None = None,
    **changes: Any,
) -> AttemptResult:
    """A report that writes every cell (under SUCCESS) with a version of the attempt's own, or as `kinds` says."""
    default = {own.cell: CellOutcome.WRITTEN for own in claimed.cells} if outcome is AttemptOutcome.SUCCESS else {}
    cells = tuple(
        CellResult(ref, kind, data_version=version or f"v{claimed.attempt_id}", location=f"at/{claimed.attempt_id}")
        for ref, kind in (default if kinds is None else kinds).items()
    )
    values: dict[str, Any] = {
        "task_id": claimed.task.id,
        "attempt_id": claimed.attempt_id,
        "fence": claimed.fence,
        "outcome": outcome,
        "cells": cells,
        "digests": claimed.digests,
        "versions": claimed.versions,
    }
    return AttemptResult(**(values | changes))


class World:
    """One store, one clock, one worker unless a test registers more."""

    def __init__(self, store: Store | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.memory = MemoryStore(self.clock)
        self.store: Store = store or self.memory
        self.definitions = Definitions()
        register(self.store, WORKER, host="h", pid=1, capacity=100)

    # -- duties in short
    def set_caps(self, caps: Mapping[str, int | None]) -> None:
        with self.memory.begin() as tx:
            tx.set_caps(caps)

    def launch(self, *tasks: LaunchTask, **changes: Any) -> Launched:
        return launch(self.store, plan_of(*tasks, **changes))

    def claims(self, limit: int = 100, worker: WorkerId = WORKER, queues: Sequence[str] = (DEFAULT_QUEUE,)) -> Claims:
        return claim(self.store, worker, [PIN], limit, self.definitions.resolve, no_log, queues=queues)

    def start(self, limit: int = 100, worker: WorkerId = WORKER) -> dict[str, Claimed]:
        """Admits and claims; what started, by step."""
        admit(self.store)
        return {claimed.task.step: claimed for claimed in self.claims(limit, worker).claimed}

    def finish(self, *results: AttemptResult) -> Finished:
        return finish(self.store, results)

    def run_all(self) -> None:
        """Everything succeeds until nothing starts any more."""
        while True:
            admit(self.store)
            claims = self.claims()
            if not claims.claimed and not claims.more:
                break
            self.finish(*(report(claimed) for claimed in claims.claimed))
        fold_tallies(self.store)

    # -- looking
    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.memory.rows(table)

    def task(self, task_id: TaskId) -> dict[str, Any]:
        return next(row for row in self.rows("task") if row["id"] == task_id)

    def states(self, run_id: int | None = None) -> dict[str, str]:
        """States by step; gates as `gate<id>`."""
        return {
            row["step"] if row["kind"] == "step" else f"gate{row['id']}": row["state"]
            for row in self.rows("task")
            if run_id is None or row["run_id"] == run_id
        }

    def of_step(self, name: str, run_id: int | None = None) -> dict[str, Any]:
        return next(
            row
            for row in self.rows("task")
            if row["step"] == name and row["kind"] == "step" and run_id in (None, row["run_id"])
        )

    def cell(self, asset: int, partition: str = "") -> dict[str, Any]:
        return next(row for row in self.rows("cell") if (row["asset_id"], row["partition"]) == (asset, partition))

    def run_state(self, run_id: int) -> str:
        return str(next(row["state"] for row in self.rows("run") if row["id"] == run_id))

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.rows("event") if row["kind"] == kind]
