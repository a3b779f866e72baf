"""Locations, pools, the queue, automation, components, the home page, live events."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from partita.ui.api.models.base import Counts, Model
from partita.ui.api.models.runs import RunSummary, TaskRow


class ModuleView(Model):
    """`warnings` do not keep it from loading: threads at import, steps that ask the clock."""

    name: str
    ok: bool
    error: str | None
    import_s: float | None
    warnings: list[str]


class ServerView(Model):
    server_id: str
    address: str
    versions: list[str]
    live: bool


class LocationView(Model):
    """`kept_assets` are the keys that stand on their last good definitions, because their module does not load."""

    name: str
    address: str | None
    state: Literal["serving", "loading", "down", "broken"]
    active_version: str | None
    loaded_at: datetime | None
    error: str | None
    modules: list[ModuleView]
    asset_count: int
    kept_assets: list[str]
    servers: list[ServerView]


class ReloadView(Model):
    """A reload was asked for; the new version becomes active when it has loaded. `broken`: the modules that do not load, each
    with its error, and under the name of the location what is not one module's."""

    location: str
    requested: bool
    text: str
    broken: dict[str, str]


class HolderView(Model):
    task_id: int
    run_id: int
    step: str
    lane: str
    slots: int
    since: datetime


class PoolView(Model):
    """A pool or a cap. `kind` says what a cap limits, `limits` says it in words; a pool has neither limits nor owner."""

    name: str
    kind: Literal["pool", "all", "location", "asset", "backfill", "run"]
    limits: str | None
    slots: int
    held: int
    holders: list[HolderView]
    waiting: int


class PoolSize(Model):
    """How many slots a pool shall have; `reason` is kept in the audit."""

    slots: int = Field(ge=0, le=1_000_000)
    reason: str = Field(default="", max_length=2000)


class PartyView(Model):
    """Who shares a lane: `by:` a person, `backfill:` an id, or `owner:` of assets; "" for what has none of these."""

    key: str
    active: int
    waiting: int


class LaneView(Model):
    """`active` tasks hold slots, `waiting` ones are ready and have none. `share` is what the lane is due of each pool in which
    all lanes wait that wait now."""

    name: str
    weight: int
    reserved: float
    share: float
    active: int
    waiting: int
    parties: list[PartyView]


class LaneSetting(Model):
    """What shall change; null leaves it as it is."""

    weight: int | None = Field(default=None, ge=1, le=1_000)
    reserved: float | None = Field(default=None, ge=0, lt=1)


class QueueView(Model):
    by_state: Counts
    oldest_ready_at: datetime | None
    waiting: list[TaskRow]


class ComponentView(Model):
    """`symptom` says what is seen when this component is sick; null while it is well."""

    kind: str
    name: str
    state: Literal["ok", "late", "down"]
    last_seen_at: datetime | None
    symptom: str | None


class DutyView(Model):
    name: str
    holder: str | None
    last_ran_at: datetime | None
    last_ms: float | None
    failures: int
    last_error: str | None


class WorkerView(Model):
    """A worker that has not been given up. `queues`: whose tasks it runs, `*` for all; `running` of its `capacity` attempts.
    `renewed_at`: when it was last heard of; null, as its `version`, of workers that are older than these fields."""

    id: str
    host: str
    pid: int
    queues: list[str]
    capacity: int
    running: int
    live: bool
    started_at: datetime
    renewed_at: datetime | None
    version: str | None


class SystemView(Model):
    components: list[ComponentView]
    workers: list[WorkerView]
    db_pulse_at: datetime | None
    version: str
    duties: list[DutyView]


class Need(Model):
    """Something that waits for a person; `link` is a path of the UI."""

    severity: Literal["bad", "warn", "info"]
    text: str
    link: str


class SummaryView(Model):
    needs_me: list[Need]
    counts: Counts
    running_runs: list[RunSummary]
    recent_runs: list[RunSummary]


class LiveEvent(Model):
    """One message of `/events/stream`; `id` is its position in the stream."""

    id: int
    at: datetime
    kind: Literal[
        "materialized",
        "observed",
        "task",
        "run",
        "backfill",
        "location",
        "plan",
        "deadline_missed",
        "pause",
        "alert",
        "freshness",
        "job",
    ]
    asset: str | None
    partition: str | None
    run_id: int | None
    trace_id: str | None
    task_id: int | None
    state: str | None


class Health(Model):
    ok: bool
    version: str
