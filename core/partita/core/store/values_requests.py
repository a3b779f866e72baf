"""Automatic requests that wait for a person, and what automation could not decide. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from partita.core.store.values_ids import AssetId, RunId

RequestId = NewType("RequestId", int)


class RequestState(StrEnum):
    """The states of a request above the limit; all but the first are final."""

    AWAITING_INPUT = "awaiting_input"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"  # merged into another, or nothing of it is left to do


@dataclass(frozen=True, slots=True)
class HeldContent:
    """What a request asks for. `body` holds its cells (`automation.held` reads it), `preview` counts them for people."""

    assets: tuple[AssetId, ...]
    cells: int
    cell_limit: int
    preview: Sequence[Mapping[str, Any]]
    cause: Mapping[str, Any]
    body: bytes
    merged: int = 1


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """A row. `revision` rises when the content does; `body` is None once it has ended."""

    id: RequestId
    state: RequestState
    revision: int
    assets: tuple[AssetId, ...]
    cells: int
    cell_limit: int
    preview: Sequence[Mapping[str, Any]]
    cause: Mapping[str, Any]
    merged: int
    body: bytes | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None
    run_id: RunId | None


class FaultKind(StrEnum):
    """What a fault is about: an asset (a consumer, or an upstream whose partitions cannot be read), or a run."""

    ASSET = "asset"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be decided `tries` times since `since`, and when it is tried again."""

    kind: FaultKind
    id: int
    error: str
    tries: int
    since: datetime
    last_at: datetime
    next_at: datetime
