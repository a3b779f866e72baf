"""Plans: what is asked, what would run and why, and its launch."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from partita.ui.api.models.base import Model

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
    key: str
    cells: int
    by_reason: dict[str, ReasonCount]
    tasks: int
    wave: int


class PlanWave(Model):
    index: int
    tasks: int
    cells: int
    assets: list[str]


class Estimate(Model):
    makespan_s: float
    critical_path: list[str]
    basis: str
    sample_size: int


class PoolPressure(Model):
    name: str
    slots: int
    held: int
    wanted: int


class Blocked(Model):
    key: str
    count: int
    text: str
    reason: str


class PlanView(Model):
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
    joined: int
    cli: str
    nothing_to_do: bool


class LaunchRequest(Model):
    """`confirm_cells` repeats the count that was shown: a plan that was not read is not launched (law 6)."""

    confirm_cells: int = Field(ge=0)
    name: str | None = None
    max_active: int | None = Field(default=None, ge=1)


class LaunchView(Model):
    run_id: int
    backfill_id: int | None
