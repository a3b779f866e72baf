"""Events of the outbox, and what waits for their consumers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from partita.core.store.values_ids import AssetId, CellRef, RunId, TaskId


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event of the outbox; `for_consumers` get one event_todo row each, in the same transaction."""

    kind: str  # materialized task run backfill location plan
    asset_id: AssetId | None = None
    partition: str | None = None
    run_id: RunId | None = None
    task_id: TaskId | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    for_consumers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TodoEvent:
    event_id: int
    cell: CellRef
    run_id: RunId | None


@dataclass(frozen=True, slots=True)
class AutomationRequest:
    cell: CellRef
    state_digest: int
    run_id: RunId | None
    cause: Mapping[str, Any]
