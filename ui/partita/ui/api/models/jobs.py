"""Named jobs: what they ask for, when, and what became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from partita.ui.api.models.base import Model
from partita.ui.api.models.plans import Mode, PlanView, TagName, TagValue


class JobRequest(Model):
    """`cron` and `tz` (an IANA zone) go together; without them the job runs by hand. A tick of more than `max_cells` cells asks
    for nothing (null: as the configuration says of automation). At most `max_active` tasks of a run of it are active at once.
    Without `lane`: scheduled."""

    name: str = Field(min_length=1, max_length=100)
    selection: str = Field(min_length=1)
    partitions: str | None = None
    mode: list[Mode] = Field(default=["missing", "failed", "stale"], min_length=1)
    upstream: bool = False
    downstream: bool = False
    params: dict[str, Any] = Field(default_factory=dict)
    tags: dict[TagName, TagValue] = Field(default_factory=dict, max_length=19)
    lane: str | None = None
    cron: str | None = None
    tz: str | None = None
    max_cells: int | None = Field(default=None, ge=0)
    max_active: int | None = Field(default=None, ge=1)


class JobConfirm(JobRequest):
    """`replace`: in the place of one of this name."""

    replace: bool = False


class JobPreview(Model):
    """`plan` is what it would ask for now, `ticks` its next fire times, `clock_changes` those of them on whose local day the
    clocks change; `exists`: there is one of this name."""

    sentence: str
    plan: PlanView
    ticks: list[datetime]
    clock_changes: list[datetime]
    exists: bool
    cli: str


class JobView(Model):
    """`next_at` is null without a schedule and while it is paused; `ticks` are the next fire times whether or not it is, and
    `clock_changes` those of them on whose local day the clocks change. `missed` ticks passed since it was paused."""

    name: str
    selection: str
    partitions: str | None
    mode: list[str]
    upstream: bool
    downstream: bool
    params: dict[str, Any]
    tags: dict[str, str]
    lane: str
    cron: str | None
    tz: str | None
    max_cells: int | None
    max_active: int | None
    created_by: str
    created_at: datetime
    paused_by: str | None
    paused_at: datetime | None
    pause_reason: str | None
    next_at: datetime | None
    ticks: list[datetime]
    clock_changes: list[datetime]
    missed: int
    last_tick: datetime | None
    last_run: int | None
    last_note: str | None


class JobList(Model):
    jobs: list[JobView]


class JobRun(Model):
    """`params` for this time, over those of the job."""

    params: dict[str, Any] = Field(default_factory=dict)


class JobPlan(Model):
    """The plan of a job as of now; launch it with its `tags`, `lane` and `max_active`."""

    plan: PlanView
    tags: dict[str, str]
    lane: str
    max_active: int | None


class JobChange(Model):
    reason: str = Field(default="", max_length=2000)


class JobResume(JobChange):
    """Of the ticks that passed meanwhile: `none` is heeded, or the `latest`."""

    catch_up: Literal["none", "latest"] = "none"


class JobRemoved(Model):
    name: str
