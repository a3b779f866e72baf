"""What automation does, and what it would decide about a partition."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from partita.ui.api.models.base import Model
from partita.ui.api.models.requests import FaultView, RequestView

GivenState = Literal["missing", "made", "updated", "failed", "in_progress"]
Decision = Literal["asks", "asked", "waits", "owned", "rests"]


class ConsumerView(Model):
    """`condition` is what people wrote, null without; `next_look_at` when time next may make it true. `on_code_change` is ignore
    or rebuild; `limit` the asset's own limit of cells a request, null: the deployment's."""

    key: str
    condition: str | None
    next_look_at: datetime | None
    on_code_change: str
    limit: int | None
    upstream: list[str]
    last_requested_at: datetime | None
    last_reason: str | None


class PartView(Model):
    """One node of a condition: what it says, whether it holds, and its parts."""

    text: str
    holds: bool
    parts: list[PartView]


class AutomationRequestView(Model):
    """`tree` is what held of the condition when it asked; None where no condition did (new code, an answer of a person)."""

    at: datetime
    consumer: str
    partition: str
    cause: str
    run_id: int | None
    tree: PartView | None


class AutomationPage(Model):
    """`waiting` are requests above the limit, `faults` what could not be decided, `requests` those that were made lately."""

    consumers: list[ConsumerView]
    waiting: list[RequestView]
    faults: list[FaultView]
    requests: list[AutomationRequestView]


class CellDecision(Model):
    """asks: it would be asked for now; asked: its condition holds, and this very state has asked before; waits: for an upstream
    that is being made; owned: an open task makes it already; rests: its condition does not hold."""

    partition: str
    decision: Decision
    sentence: str
    tree: PartView


class LookView(Model):
    """`local` is in the zone of the cron or the scheme; `clock_changes` when the offset is not that of the look before."""

    at: datetime
    local: str
    clock_changes: bool


class AutomationTest(Model):
    """Partitions of an asset (the newest one by default) at an instant (now), with assets taken as in another state, by key."""

    asset: str
    partitions: str | None = None
    at: AwareDatetime | None = None
    given: dict[str, GivenState] = Field(default_factory=dict, max_length=1_000)
    looks: int = Field(default=5, ge=0, le=100)


class AutomationTold(Model):
    """What automation would decide about partitions of an asset at an instant, were the cells as they are now."""

    asset: str
    condition: str | None
    at: datetime
    zone: str
    next_looks: list[LookView]
    cells: list[CellDecision]
