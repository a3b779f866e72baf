"""The values of the definitions, plans and page aggregates: what crosses `port_definitions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, NewType

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.values import AssetId, LocationId, RunId, SnapshotId

PlanId = NewType("PlanId", int)


class LocationState(StrEnum):
    SERVING = "serving"
    LOADING = "loading"
    BROKEN = "broken"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot of a location: `body` as received, `effective` with the last good definitions of modules that do not load."""

    id: SnapshotId
    location_id: LocationId
    hash: str
    body: bytes
    effective: bytes
    kept: tuple[Mapping[str, Any], ...]
    created_at: datetime
    activated_at: datetime | None = None
    """The last time; None: never."""


@dataclass(frozen=True, slots=True)
class CodeServer:
    """A running code-location server. `versions` are the snapshot hashes that it can execute."""

    server_id: str
    location_id: LocationId
    address: str
    versions: tuple[str, ...]
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True)
class QueuedPin:
    """One version of one location that something waits for: tasks of a queue, a wait, an evaluator."""

    location_id: LocationId
    location: str
    snapshot_id: SnapshotId
    version: str
    queue: str = DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Stranded:
    """A run with tasks that wait because no server has their version, and since when none has had it."""

    run_id: RunId
    location_id: LocationId
    location: str
    snapshot_id: SnapshotId
    version: str
    gone_since: datetime


@dataclass(frozen=True, slots=True)
class StoredPlan:
    id: PlanId
    hash: str
    request: Mapping[str, Any]
    as_of: datetime
    body: bytes
    created_at: datetime
    expires_at: datetime


class PageRef(NamedTuple):
    """Which page of which asset: the one that begins with this key."""

    asset_id: AssetId
    first_key: str


@dataclass(frozen=True, slots=True)
class CellPage:
    """One page of packed cells (see core/cells/pages.py). `sum_hash` is unsigned, 64 bit."""

    asset_id: AssetId
    first_key: str
    n: int
    packed: bytes
    sum_hash: int

    @property
    def ref(self) -> PageRef:
        """Its place."""
        return PageRef(self.asset_id, self.first_key)
