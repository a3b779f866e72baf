"""Automatic requests above the limit, and what automation could not decide."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from partita.ui.api.models.base import Counts, Model

RequestStateName = Literal["awaiting_input", "approved", "rejected", "expired", "superseded"]


class RequestAsset(Model):
    """The cells of one asset in a request, by reason."""

    key: str
    cells: int
    by_reason: Counts
    partitions: str


class RequestView(Model):
    """`sentence` is what approving would do, `cause` why it is asked, `merged` of how many requests it is made."""

    id: int
    state: RequestStateName
    revision: int
    sentence: str
    cause: str
    cells: int
    cell_limit: int
    before: int = Field(description="Cells that automation had asked for before because of the same run; they count")
    by_reason: Counts
    assets: list[RequestAsset]
    merged: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None
    run_id: int | None


class RequestDetail(RequestView):
    """`changed` says how what would be made as of now differs from what the request holds; null: it does not."""

    changed: str | None


class RequestList(Model):
    requests: list[RequestView]
    total: int


class ApproveRequest(Model):
    """`revision` and `confirm_cells` repeat what was shown: a request that was not read is not approved (law 6)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    revision: int = Field(ge=1)
    confirm_cells: int = Field(ge=0)


class RejectRequest(Model):
    """`reason` is kept; the states that the request holds are not asked for again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    revision: int = Field(ge=1)
    reason: str = Field(min_length=1, max_length=2_000)


class RequestDecision(Model):
    id: int
    state: RequestStateName
    cells: int
    run_id: int | None


class FaultView(Model):
    """What automation could not decide: `subject` names the asset or the run, `events` wait until `next_at`."""

    subject: str
    asset: str | None
    run_id: int | None
    error: str
    tries: int
    since: datetime
    last_at: datetime
    next_at: datetime
