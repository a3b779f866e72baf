"""What people did by hand, and when and why."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from partita.ui.api.models.base import Model


class AuditEntry(Model):
    """`text` says what was done in words, `detail` as values: cells stand there as sets. `undo` is the command that takes it
    back, null when nothing does; `undone_by` says who did."""

    id: int
    at: datetime
    who: str
    action: str
    text: str
    reason: str
    detail: dict[str, Any]
    undo: str | None
    undone_at: datetime | None
    undone_by: str | None


class AuditPage(Model):
    """Newest first; `before` asks for the next page, null at the end."""

    entries: list[AuditEntry]
    before: int | None
