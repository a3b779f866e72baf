"""What goes into and comes out of the duties of attempts: claiming, reporting, publishing a part.

`ResolvedInputs` come from the catalog, `AttemptResult` from a worker. Owns no decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from partita.assets import DynamicPartitions
from partita.core.duties.channels import Channel
from partita.core.store.values import (
    AssetId,
    AttemptId,
    AttemptOutcome,
    CellFact,
    CellRef,
    Fence,
    Task,
    TaskCell,
    TaskId,
)


# ------------------------------------------------------------------------------------------------- claim
class CodeVersion(NamedTuple):
    fingerprint: str
    dependency_hash: str


@dataclass(frozen=True, slots=True)
class ResolvedInput:
    """One input of a task, per cell of the task, in the order in which user code gets the partitions.

    Share equal tuples between cells: their sums are computed once per tuple object. An `external` input is not observed: it
    is not read, and every partition of it counts with `EXTERNAL_VERSION`.
    """

    name: str
    kind: str  # "data" or "order"; both count in the digest
    upstream_asset_id: AssetId
    per_cell: Mapping[CellRef, tuple[CellRef, ...]]
    external: bool = False


class ResolvedInputs(NamedTuple):
    """`inputs` of all cells of the task; an input of one asset of an atomic group has entries for that asset's cells only."""

    inputs: tuple[ResolvedInput, ...]
    versions: Mapping[AssetId, CodeVersion]  # of each asset that the task makes, in the task's snapshot


class Unresolvable(Exception):
    """The task's definitions cannot be resolved (ever, under its snapshot): the task fails with this text."""


class InputResolver(Protocol):
    def __call__(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        """Fast: it is called inside the claiming transaction. Raises `Unresolvable`; errors of the store or the system give the
        whole claim up, any other error fails the task as `Unresolvable` does."""


class LogPath(Protocol):
    def __call__(self, task: Task, cells: Sequence[TaskCell], attempt_id: AttemptId, /) -> str | None:
        """Where the log of an attempt at these cells goes; pure and fast, as the resolver."""


@dataclass(frozen=True, slots=True)
class ClaimedInput:
    """What the cells of an input held in the claiming transaction's one snapshot, per cell of the task.

    A cell that was never published has `data_version` None; for an external input the facts carry `EXTERNAL_VERSION` and
    no location.
    """

    name: str
    kind: str
    upstream_asset_id: AssetId
    external: bool
    facts: Mapping[CellRef, tuple[CellFact, ...]]


@dataclass(frozen=True, slots=True)
class WaitEvent:
    """What a trigger brought; `trigger` and `args` tell what was waited for at this place."""

    place: int
    trigger: str
    args: Mapping[str, Any]
    payload: Any


@dataclass(frozen=True, slots=True)
class Deferral:
    """What an attempt asked for when it ended deferred; `place` counts the waits of its task from 0."""

    place: int
    trigger: str
    args: Mapping[str, Any]
    label: str
    deadline_s: float
    poll_s: float | None = None
    cell: CellRef | None = None  # it waits for this cell to be published
    newer: bool = False


class Claimed(NamedTuple):
    """One attempt that this worker has started; report it with `task.id`, `attempt_id` and `fence`."""

    task: Task  # as it was before the claim
    attempt_id: AttemptId
    number: int  # from 1
    fence: Fence
    cells: tuple[TaskCell, ...]  # only those still to be made
    inputs: tuple[ClaimedInput, ...]
    digests: Mapping[CellRef, int]  # unsigned 64 bit
    versions: Mapping[AssetId, CodeVersion]
    as_of: datetime
    params: Mapping[str, Any]
    log: str | None
    events: tuple[WaitEvent, ...] = ()  # of the waits that fired, by place
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Claims:
    """`live` is false when the worker's lease was lost: it must stop what it runs and register again."""

    live: bool
    claimed: tuple[Claimed, ...] = ()
    unchanged: int = 0  # tasks that ended without an attempt: their inputs turned out unchanged
    failed: int = 0  # tasks whose definitions could not be resolved
    more: bool = False  # call again: the batch held tasks that needed no attempt
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- finish
class CellOutcome(StrEnum):
    WRITTEN = "written"
    SKIPPED = "skipped"
    FAILED = "failed"


class CellResult(NamedTuple):
    cell: CellRef
    kind: CellOutcome
    data_version: str | None = None  # required when written
    location: str | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    cell: CellRef
    name: str
    passed: bool
    blocking: bool
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddedKeys:
    """Keys that an attempt adds to a dynamic scheme; `followers` are the automated assets that are sliced by it. `mapped`: so is
    one that reads what the attempt makes, so that its run may go on over them."""

    definition: DynamicPartitions
    keys: tuple[str, ...]
    followers: tuple[AssetId, ...] = ()
    mapped: bool = False


class AttemptResult(NamedTuple):
    """What an attempt did. `digests` and `versions` are those of its `Claimed`, handed back.

    `groups` are atomic groups of assets: of one partition either all of a group's assets are published or none.
    `automation_assets` have eager consumers: their publications become work for the automation consumer.
    A cell without a `CellResult` was not reached; under SUCCESS that is a failure of the cell.
    """

    task_id: TaskId
    attempt_id: AttemptId
    fence: Fence
    outcome: AttemptOutcome
    cells: tuple[CellResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    digests: Mapping[CellRef, int] = MappingProxyType({})
    versions: Mapping[AssetId, CodeVersion] = MappingProxyType({})
    error: str | None = None
    traceback: str | None = None
    retry_in_s: float | None = None  # only with RETRY_LATER
    deferral: Deferral | None = None  # only with DEFERRED
    added: tuple[AddedKeys, ...] = ()  # exist from the commit on that ends the task well
    usage: Mapping[str, Any] | None = None
    groups: tuple[tuple[AssetId, ...], ...] = ()
    automation_assets: frozenset[AssetId] = frozenset()


@dataclass(frozen=True, slots=True)
class Refused:
    """A result of which nothing was written, and why: another attempt owns the task now, or it has ended."""

    task_id: TaskId
    attempt_id: AttemptId
    why: str


@dataclass(frozen=True, slots=True)
class Finished:
    applied: tuple[TaskId, ...] = ()
    refused: tuple[Refused, ...] = ()
    released: int = 0  # tasks that became ready
    todo: bool = False  # a consumer has work
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class PartPublished:
    cells: tuple[CellRef, ...] = ()
    refused: Refused | None = None
    channels: tuple[Channel, ...] = ()
