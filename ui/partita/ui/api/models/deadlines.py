"""Deadlines of partitions that were missed."""

from __future__ import annotations

from datetime import datetime

from partita.ui.api.models.base import Model


class DeadlineView(Model):
    """`missed_at` is when the miss was seen, `made_at` when the partition came after all; null: not yet. `spent` says who
    took the seconds from when it was asked for until it came, or until now; `consumed` in words."""

    asset: str
    partition: str
    due_at: datetime
    missed_at: datetime | None
    made_at: datetime | None
    run_id: int
    task_id: int
    task_state: str
    spent: dict[str, float]
    consumed: str
    text: str


class DeadlineList(Model):
    deadlines: list[DeadlineView]
    total: int
