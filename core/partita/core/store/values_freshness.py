"""Freshness of assets: what is known of a policy, when it was broken, and the story of a cell that says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from partita.core.store.values_ids import AssetId, TaskId
from partita.core.store.values_tasks import TaskState


class FreshState(StrEnum):
    """`unknown`: nothing has been due since the policy holds."""

    UNKNOWN = "unknown"
    FRESH = "fresh"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Freshness:
    """`since` is when the policy began to hold, `state_since` when the state did. `due_at` is when the data was to be there (of
    one that is late), or is to be next; `fresh_to` is up to when there is data. `burn` names the window in which the error budget
    burns too fast, since `burn_since`. `looked_at` is None before the first look, `next_at` when to look next (None: nothing
    comes by time). `policy` stands for the policy and the scheme."""

    asset_id: AssetId
    policy: str
    since: datetime
    state: FreshState
    state_since: datetime
    due_at: datetime | None
    fresh_to: datetime | None
    awaited: str | None
    """The partition that is late: the first of them."""
    burn: str | None
    burn_since: datetime | None
    looked_at: datetime | None
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class FreshnessUpdate:
    """What a look leaves of a policy that it holds."""

    asset_id: AssetId
    state: FreshState
    state_since: datetime
    due_at: datetime | None
    fresh_to: datetime | None
    awaited: str | None
    burn: str | None
    burn_since: datetime | None
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class LateSpan:
    """An asset was late from one instant until another (None: it is). `spent` is what consumed the time from `counted_from` until
    it was due, and on: seconds by who took them."""

    asset_id: AssetId
    from_at: datetime
    until_at: datetime | None
    counted_from: datetime
    partition: str | None
    spent: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AttemptStory:
    queued_at: datetime | None
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class TaskStory:
    """One task that owned a cell; `outside` are its waits for something outside: from, until (None: it waits)."""

    id: TaskId
    created_at: datetime
    ready_at: datetime | None
    finished_at: datetime | None
    state: TaskState
    attempts: tuple[AttemptStory, ...] = ()
    outside: tuple[tuple[datetime, datetime | None], ...] = ()
