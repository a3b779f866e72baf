"""Values that appear on the asset's side and on the run's side: reasons, attempts, checks, open tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from partita.ui.api.models.base import Model


class CellAddress(Model):
    key: str
    partition: str


class Reason(Model):
    """One reason of a state: a code of a closed set, a sentence, and typed evidence."""

    code: str
    text: str
    evidence: dict[str, Any] | None
    upstream: CellAddress | None


class WindowView(Model):
    """A window of time: what it covers, and when it is due to be made. `zone` is that of its scheme."""

    partition: str
    covers_from: datetime
    covers_to: datetime
    due_at: datetime
    zone: str


class AttemptSummary(Model):
    id: int
    number: int
    state: str
    outcome: str | None
    worker: str | None
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    retry_at: datetime | None


class CheckResult(Model):
    name: str
    partition: str
    passed: bool
    blocking: bool
    at: datetime
    detail: dict[str, Any]


class OpenTask(Model):
    id: int
    run_id: int
    state: str
    reason: Reason | None
