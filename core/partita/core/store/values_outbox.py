"""Events of the outbox, and what waits for their consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from partita.core.store.values_ids import AssetId, CellRef, RunId, TaskId


class NewEvent(NamedTuple):
    """An event of the outbox; `for_consumers` get one event_todo row each, in the same transaction."""

    kind: str  # materialized observed task run backfill location plan deadline_missed pause alert
    asset_id: AssetId | None = None
    partition: str | None = None
    run_id: RunId | None = None
    task_id: TaskId | None = None
    body: Mapping[str, Any] = MappingProxyType({})
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
    verdict: Sequence[Any] | None = None
    """What of the condition held, as `conditions.Part` writes it; None when people approved it."""
