"""Runs, tasks, attempts, their logs, and backfills."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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
    tallies: Counts
    cells: CellTally
    asset_keys: list[str]


class RunList(Model):
    runs: list[RunSummary]
    total: int


class PinView(Model):
    location: str
    version: str


class RunDetail(RunSummary):
    plan_hash: str
    snapshots: list[PinView]
    critical_path: list[int]


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


class AttemptDetail(AttemptSummary):
    task_id: int
    run_id: int
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
    lines: list[LogLineView]
    next_offset: int
    complete: bool


class AssetProgress(Model):
    asset: str
    counts: Counts
    total: int


class BackfillView(Model):
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
    progress: list[AssetProgress]
    eta_s: float | None


class BackfillList(Model):
    backfills: list[BackfillView]
    total: int
