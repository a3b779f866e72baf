"""Waits: what a deferred task waits for, until when, who watches it, and the event that it got.

A wait is a row of its own, so that it holds no slot and outlives whoever watches it (law 7, S-172).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from partita.core.store.values_ids import CellRef, LocationId, SnapshotId, TaskId

TriggererId = NewType("TriggererId", str)


class WaitState(StrEnum):
    DORMANT = "dormant"  # its task does not wait yet, or not any more
    OPEN = "open"
    FIRED = "fired"
    ENDED = "ended"  # its task ended, failed or was cancelled before it fired


@dataclass(frozen=True, slots=True)
class WaitKey:
    """`place`: those of `wait_for=` come first, then the calls of `context.defer` in their order. `stint`: how often it was
    opened; who watches an earlier one speaks for nothing any more."""

    task_id: TaskId
    place: int
    stint: int


@dataclass(frozen=True, slots=True)
class NewWait:
    """Put again at its place it becomes dormant with a new trigger and keeps its `since`: its deadline counts over retries.

    `cell`: it waits for this cell to be published (with `newer`: after it began), and nobody has to watch it. `asks`: a person
    answers; such a one names no version, so that no triggerer of any age takes it.
    """

    task_id: TaskId
    place: int
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    trigger: str  # "module:Class" in the code location
    args: Mapping[str, Any]
    label: str
    deadline_s: float
    poll_s: float | None = None
    cell: CellRef | None = None
    newer: bool = False
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait as the deciders see it. `since` and `deadline_at` are set from the first time that it was opened."""

    task_id: TaskId
    place: int
    stint: int
    state: WaitState
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    trigger: str
    args: Mapping[str, Any]
    label: str
    deadline_s: float
    poll_s: float | None
    cell: CellRef | None
    newer: bool
    since: datetime | None
    deadline_at: datetime | None
    triggerer_id: TriggererId | None
    payload: Any = field(default=None)
    error: str | None = None
    asks: bool = False

    @property
    def key(self) -> WaitKey:
        return WaitKey(self.task_id, self.place, self.stint)


@dataclass(frozen=True, slots=True)
class WaitUpdate:
    """The new state of an open wait, by compare-and-set on its stint."""

    key: WaitKey
    state: WaitState
    payload: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Triggerer:
    id: TriggererId
    host: str
    pid: int
    lease_expires_at: datetime
    state: str  # live or gone
