"""The values of retention: a day of history on its way out, and what keeps a day here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple


class ArchiveState(StrEnum):
    """Of a day: its files are being written; they are there, and its rows go; its rows are gone."""

    EXPORTING = "exporting"
    DELETING = "deleting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ArchiveDay:
    """A day (UTC) of finished history. `rows`: exported rows by table; instants are aware, UTC."""

    day: date
    state: ArchiveState
    rows: Mapping[str, int] = field(default_factory=dict)
    started_at: datetime | None = None
    exported_at: datetime | None = None
    done_at: datetime | None = None


class Unread(NamedTuple):
    """A sensor or callback that was not told of all events of a day yet."""

    name: str
    paused: bool


@dataclass(frozen=True, slots=True)
class ArchiveHolds:
    """What may refer to a day. `open_run`: the open run that began first, with the instant; it may have joined what was open
    then. `open_backfill`: an unfinished backfill with a run that finished on the day. `waiting`: whether an event of the day, or
    of one before, waits for a consumer, or a signal of then for the alerts. `unread`: by name the first that such an event is
    still to be told to; what a version no longer defines is told nothing."""

    open_run: int | None = None
    open_since: datetime | None = None
    open_backfill: int | None = None
    waiting: bool = False
    unread: Unread | None = None
