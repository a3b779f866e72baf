"""Reports from outside that were answered: what a repeat of one meets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


class ReportKey(NamedTuple):
    """By which a producer repeats a report; keys of different scopes have nothing to do with each other."""

    scope: str
    key: str


@dataclass(frozen=True, slots=True)
class KnownReport:
    """A report that was answered: the hash of what it said, and the answer. Forgotten after `expires_at`."""

    id: ReportKey
    content: str
    answer: Mapping[str, Any]
    expires_at: datetime
