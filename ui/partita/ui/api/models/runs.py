"""Runs, tasks, attempts, their logs, and backfills."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from partita.ui.api.models.base import Counts, Model
from partita.ui.api.models.shared import AttemptSummary, CheckResult, Reason


class CauseView(Model):
    kind: str
    text: str
    by: str | None


class CellTally(Model):
    published: int
    unchanged: int
    skipped: int
    failed: int
    total: int


class RunSummary(Model):
    id: int
    state: str
    cause: CauseView
    backfill_id: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    task_count: int
    tags: dict[str, str]
    trace_id: str
    tallies: Counts
    cells: CellTally
    asset_keys: list[str]


class RunList(Model):
    runs: list[RunSummary]
    total: int


class RunSettings(Model):
    """`max_active` null: no limit but the pools'."""

    model_config = ConfigDict(extra="forbid")

    max_active: int | None = Field(ge=1)
    reason: str = Field(default="", max_length=2000)


class PinView(Model):
    location: str
    version: str


class RunWait(Model):
    """Tasks of a run that do not run for one reason. `side`: who keeps them: `limits` what is scheduled, `workers` what is queued
    (S-151). `state` is `in_progress` for cells that another run makes. `task` is one of them."""

    state: str
    side: Literal["limits", "workers", "upstream", "time", "outside", "person"]
    code: str | None
    tasks: int
    text: str
    task: int | None
    run: int | None


class RunDetail(RunSummary):
    """At most `max_active` tasks of it are queued or running at once; null: as many as the pools admit, or as its backfill
    says. `times_out_at` is when what has not ended by then is stopped; null: it may take as long as it does."""

    waits: list[RunWait]
    params: dict[str, Any]
    plan_hash: str
    snapshots: list[PinView]
    critical_path: list[int]
    max_active: int | None
    times_out_at: datetime | None
    timed_out_at: datetime | None


class TaskRow(Model):
    """`outcome_text` says why a task that succeeded published nothing new; null for all others."""

    id: int
    run_id: int
    step: str
    assets: list[str]
    partitions_text: str
    cell_count: int
    state: str
    outcome: str | None
    outcome_text: str | None
    reason: Reason | None
    wave: int
    attempt_number: int
    max_attempts: int
    ready_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    not_before: datetime | None
    worker: str | None
    error: str | None
    attempts: list[AttemptSummary]


class TaskList(Model):
    total: int
    tasks: list[TaskRow]


class TaskCellView(Model):
    """`text` says why a cell is unchanged: no attempt was needed, or one came out the same; null for all others."""

    asset: str
    partition: str
    state: str
    text: str | None
    data_version: str | None
    error: str | None


class TaskDetail(TaskRow):
    cells: list[TaskCellView]


class CancelRequest(Model):
    """Why; kept in the audit. May be left out."""

    reason: str = Field(default="", max_length=2000)


class CancelPreview(Model):
    """What cancelling would meet now, or pausing a backfill: `at_once` tasks end (or wait), `running` ones are asked to stop (or
    go on), `below` wait for a task that is cancelled alone and hear of it by their trigger rule. `cli` does the same."""

    sentence: str
    at_once: int
    running: int
    below: int
    cli: str


class AttemptDetail(AttemptSummary):
    """`traceparent` is the W3C trace context that its process got."""

    task_id: int
    run_id: int
    traceparent: str
    inputs: list[dict[str, Any]]
    checks: list[CheckResult]
    traceback: str | None


class LogLineView(Model):
    n: int
    at: datetime
    stream: str
    level: str
    text: str


class LogPageView(Model):
    trace_id: str
    lines: list[LogLineView]
    next_offset: int
    complete: bool


class AssetProgress(Model):
    asset: str
    counts: Counts
    total: int


class BackfillView(Model):
    """`run_ids` in order: the first, and one for each retry; `run_id` is the last. `pausable` is false for backfills of older
    versions. `unmade` cells failed, could not start or were cancelled: a retry makes them. `cells_per_s` is the rate of the last
    ten minutes, `eta_s` the rest at that rate; null while paused and while there is nothing to tell by."""

    id: int
    name: str
    run_id: int | None
    state: str
    selection: str
    partitions_text: str
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    max_active: int | None
    priority: int
    order: Literal["oldest", "newest"]
    pausable: bool
    paused_by: str | None
    paused_at: datetime | None
    cancelling: bool
    run_ids: list[int]
    cells: int
    pending: int
    unmade: int
    cells_per_s: float | None
    progress: list[AssetProgress]
    eta_s: float | None


class BackfillSettings(Model):
    """What to change; what is left out stays. `max_active` null: no limit but the pools'."""

    model_config = ConfigDict(extra="forbid")

    max_active: int | None = Field(default=None, ge=1)
    priority: int = Field(default=0, ge=-1000, le=1000)
    reason: str = Field(default="", max_length=2000)


class MatrixRow(Model):
    """Per partition of the page the state, and the task that it is of; null where the asset has no such cell here."""

    asset: str
    states: list[str | None]
    tasks: list[int | None]


class BackfillMatrix(Model):
    """A page of the cells of a backfill: partitions (of all assets, oldest first) by assets. `total` partitions match."""

    total: int
    offset: int
    partitions: list[str]
    rows: list[MatrixRow]


class BackfillList(Model):
    backfills: list[BackfillView]
    total: int
