"""Named jobs: a request that people keep under a name, with or without a schedule. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for is `request` (selection, partitions, mode, upstream, downstream, params), planned anew each time.

    `cron` with its zone `tz` says when; None: only by hand. A tick of more than `max_cells` cells asks for nothing; None: as the
    configuration says. At most `max_active` tasks of a run of it are active at once. `next_at` is the next tick (None: without a
    schedule, or paused); `last_…` tell of the last one.
    """

    name: str
    request: Mapping[str, Any]
    lane: str
    created_by: str
    created_at: datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    cron: str | None = None
    tz: str | None = None
    max_cells: int | None = None
    max_active: int | None = None
    paused_by: str | None = None
    paused_at: datetime | None = None
    pause_reason: str | None = None
    next_at: datetime | None = None
    last_tick: datetime | None = None
    last_run: int | None = None
    last_note: str | None = None
