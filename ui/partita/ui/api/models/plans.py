"""Plans: what is asked, what would run and why, and its launch."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from partita.ui.api.models.base import ErrorBody, Model

Mode = Literal["missing", "failed", "stale", "all"]


class PlanRequest(Model):
    """What a person asks for. `partitions` is a selection text; `from_key` and `to_key` are inclusive; one of the two forms."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    selection: str = Field(min_length=1)
    partitions: str | None = None
    from_key: str | None = None
    to_key: str | None = None
    mode: list[Mode] = Field(default=["missing", "failed", "stale"])
    upstream: bool = False
    downstream: bool = False
    params: dict[str, Any] = Field(default_factory=dict)
    intent: Literal["run", "backfill"] = Field(default="run", alias="as")

    @model_validator(mode="after")
    def _one_form(self) -> PlanRequest:
        if self.partitions is not None and (self.from_key is not None or self.to_key is not None):
            raise ValueError("give `partitions` or `from_key`/`to_key`, not both")
        if not self.mode or ("all" in self.mode and len(self.mode) > 1):
            raise ValueError('`mode` is ["all"] or some of "missing", "failed", "stale"')
        return self


class ReasonCount(Model):
    count: int
    text: str


class PlanAsset(Model):
    """`partitions` are the planned ones in words. One attempt takes `mean_s` by `samples` earlier ones; null when nothing is
    known, and the mean of the other steps when `samples` is 0."""

    key: str
    cells: int
    partitions: str
    by_reason: dict[str, ReasonCount]
    tasks: int
    wave: int
    mean_s: float | None
    samples: int


class PlanWave(Model):
    """`count` waves in a row that are alike, from `index` on; the figures are of one of them."""

    index: int
    count: int
    tasks: int
    cells: int
    assets: list[str]


class SlotTime(Model):
    slots: int
    makespan_s: float


class CriticalPart(Model):
    """A piece of the critical path: tasks of one step in a row. `text` names its asset and cells."""

    assets: list[str]
    text: str
    tasks: int
    duration_s: float


class Estimate(Model):
    """`makespan_s` is with `slots`, what the live workers run at once (0: none is up, and the time is that of one slot).
    `by_slots` is simulated for 1 … n slots; more than the last do not help. `critical_s` is the floor whatever the slots;
    `bound_pool` names the pool that holds the plan above it."""

    text: str
    makespan_s: float
    slots: int
    by_slots: list[SlotTime]
    critical_s: float
    critical: list[CriticalPart]
    critical_path: list[str]
    bound_pool: str | None
    basis: str
    sample_size: int


class PoolPressure(Model):
    name: str
    slots: int
    held: int
    wanted: int


class Blocked(Model):
    """Cells that will not run: which, in words, and why."""

    key: str
    count: int
    partitions: str
    text: str
    reason: str


class PlanWarning(Model):
    """What to know before launching; it holds nothing back. `resource` is the class that is used, "" for none; `queue` the queue
    that no live worker serves, "" where it is about something else. `fix` is a sentence of its own."""

    resource: str
    queue: str
    assets: list[str]
    tasks: int
    text: str
    fix: str


class ParamField(Model):
    """A field of a params model. `type` is string, integer, number, boolean or json; `choices` of an enum of texts."""

    name: str
    type: Literal["string", "integer", "number", "boolean", "json"]
    required: bool
    default: Any
    description: str
    choices: list[str] | None
    assets: list[str]


class ParamFields(Model):
    fields: list[ParamField]


class PlanView(Model):
    """What would run and why. `params` are those of the request; `warnings` hold nothing back."""

    id: int
    hash: str
    as_of: datetime
    expires_at: datetime
    sentence: str
    cell_count: int
    task_count: int
    asset_count: int
    by_reason: dict[str, int]
    assets: list[PlanAsset]
    waves: list[PlanWave]
    estimate: Estimate | None
    pools: list[PoolPressure]
    blocked: list[Blocked]
    blocked_count: int
    warnings: list[PlanWarning]
    joined: int
    params: dict[str, Any]
    cli: str
    nothing_to_do: bool


class CellsText(Model):
    """`partitions` are in words; "" for an unpartitioned asset, and where they cannot be told any more."""

    count: int
    partitions: str


class ReasonMove(Model):
    was: str
    now: str
    cells: CellsText


class AssetChange(Model):
    """`rescaled`: its partition scheme changed in between, so that no cell is matched."""

    key: str
    added: CellsText | None
    removed: CellsText | None
    reasons: list[ReasonMove]
    rescaled: bool


class WasNow(Model):
    name: str
    was: str | None
    now: str | None


class PlanDifference(Model):
    """From the plan with the hash `was` to that with the hash `now`. Only what differs is listed; `same` when nothing does.

    `keys` says in words how the keys of dynamic schemes differ."""

    was: str
    now: str
    same: bool
    text: str
    request: list[WasNow]
    snapshots: list[WasNow]
    assets: list[AssetChange]
    batches: list[WasNow]
    keys: list[str]


class NotLaunched(ErrorBody):
    """A launch that was refused; `difference` when the plan is not what was shown any more, else null."""

    difference: PlanDifference | None


MAX_TIMEOUT_S = 366 * 86_400.0


TagName = Annotated[str, Field(min_length=1, max_length=100, pattern="^[^=]+$")]
TagValue = Annotated[str, Field(max_length=500)]


class LaunchRequest(Model):
    """`confirm_cells` repeats the count that was shown: a plan that was not read is not launched (law 6). `name`, `priority` and
    `order` (which partitions first) make it a backfill, or are of it. At most `max_active` tasks of the run, or of the backfill,
    are queued or running at once. Without `lane` it goes in the lane interactive, a backfill in the lane backfill. `reason` is
    kept in the audit. After `timeout_s` what of the run has not ended is stopped. `tags` say what the run is for: runs are found
    by them."""

    confirm_cells: int = Field(ge=0)
    name: str | None = None
    max_active: int | None = Field(default=None, ge=1)
    priority: int = Field(default=0, ge=-1000, le=1000)
    order: Literal["oldest", "newest"] = "oldest"
    lane: str | None = None
    reason: str = Field(default="", max_length=2000)
    timeout_s: float | None = Field(default=None, gt=0, le=MAX_TIMEOUT_S)
    tags: dict[TagName, TagValue] = Field(default_factory=dict, max_length=20)


class TaskRerunRequest(Model):
    """`downstream`: with what depends on the task's cells, as far as they come out other."""

    downstream: bool = False


class TaskRerun(Model):
    """The plan that makes the cells of a task again, and what to ask for to plan it once more."""

    plan: PlanView
    selection: str
    partitions: str | None
    downstream: bool


class LaunchView(Model):
    run_id: int
    backfill_id: int | None
