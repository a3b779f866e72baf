"""Freshness policies and how they are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from partita.ui.api.models.base import Model


class FreshnessView(Model):
    """`due_at` is when the data was to be there (of one that is late), or is to be next; `fresh_to` up to when there is data;
    `awaited` the partition that is late. `late_s` and `budget_s` count over the last `over_s` seconds; both are null without an
    objective. `burn` names the window within which the error budget burns too fast."""

    asset: str
    policy: str
    state: Literal["unknown", "fresh", "late"]
    since: datetime
    due_at: datetime | None
    fresh_to: datetime | None
    awaited: str | None
    objective: float | None
    over_s: float | None
    late_s: float | None
    budget_s: float | None
    burn: str | None
    burn_since: datetime | None
    sentence: str


class MissView(Model):
    """A time in which an asset was late; `until_at` null: it is. `spent` says who took the seconds since `counted_from`."""

    asset: str
    partition: str | None
    counted_from: datetime
    from_at: datetime
    until_at: datetime | None
    spent: dict[str, float]
    text: str


class FreshnessPage(Model):
    """What is late comes first, then the least of budget; misses of the last 30 days, the newest first."""

    policies: list[FreshnessView]
    misses: list[MissView]
