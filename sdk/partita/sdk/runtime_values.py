"""The values that cross between an attempt runner (floor 3, or `materialize()` in process) and user code.

They mirror `partita.grpc.v1.ExecuteRequest` and its events one to one. Owns only values; refuses to import gRPC or user code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol

__all__ = [
    "CellKind",
    "CellOutcome",
    "CheckOutcome",
    "Deferral",
    "FiredWait",
    "InputBinding",
    "InputCell",
    "Reporter",
    "StepRequest",
    "StepResult",
    "StepStatus",
    "TargetCell",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TargetCell:
    """One cell that the attempt is to produce. `partition` is the stored key ("" for an unpartitioned asset)."""

    asset: str
    partition: str
    window_start_us: int = 0
    """Unix microseconds; both zero when the partition has no time window."""
    window_end_us: int = 0

    @property
    def window(self) -> tuple[datetime, datetime] | None:
        """Start and end as aware UTC instants, half-open; None without a time window."""
        if self.window_start_us == 0 and self.window_end_us == 0:
            return None
        return (
            _EPOCH + timedelta(microseconds=self.window_start_us),
            _EPOCH + timedelta(microseconds=self.window_end_us),
        )


@dataclass(frozen=True, slots=True)
class InputCell:
    """One published upstream cell. `partition` is its stored key, `location` what the upstream's IO manager returned (""
    for external assets).

    A parameter annotated `tuple[InputCell, ...]` is given these instead of the rows: for data that partita only
    orders.

    >>> @asset(io=None)
    ... def load_to_shop() -> None: ...
    >>> @asset
    ... def audit(load_to_shop: tuple[InputCell, ...]) -> Relation:
    ...     return Relation.from_rows([{"version": one.data_version} for one in load_to_shop])
    >>> InputCell("2026-03-01", data_version="4f2a", location="lake:raw/orders/1.parquet").partition
    '2026-03-01'
    """

    partition: str
    data_version: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class InputBinding:
    """What one input of the step holds: the union over the cells of the task, in partition order."""

    name: str
    upstream: str
    io: str = ""
    """Name of the IO manager that wrote the upstream; "" when it writes itself or is external."""
    partitions_spec: bytes = b""
    """Canonical JSON of the upstream's PartitionsSpec; b"" when unpartitioned."""
    cells: tuple[InputCell, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One attempt: the step, its cells and what their inputs hold."""

    attempt_id: str
    step: str
    cells: tuple[TargetCell, ...]
    inputs: tuple[InputBinding, ...] = ()
    params: Mapping[str, Any] | None = None
    """JSON object for the params model of the step; None for its defaults."""
    attempt_number: int = 1
    run_id: int = 0
    fence: int = 0
    events: tuple[FiredWait, ...] = ()
    traceparent: str = ""
    """W3C trace context of the attempt; "" when none is known."""


@dataclass(frozen=True, slots=True)
class FiredWait:
    """The event of a wait of this task. `place`: below 0 those of `wait_for=`, from 0 those of `context.defer`."""

    place: int
    trigger: str
    args: Mapping[str, Any]
    payload: Any


@dataclass(frozen=True, slots=True)
class Deferral:
    """What an attempt that ends deferred waits for."""

    place: int
    trigger: str
    args: Mapping[str, Any]
    label: str
    deadline_s: float
    poll_s: float | None = None


class CellKind(Enum):
    """What became of a cell in this attempt; the values are those of `CellOutcome.Kind` in the proto."""

    WRITTEN = 1
    SKIPPED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """WRITTEN: the cell lies in a version-scoped place and its blocking checks passed, so it may be published."""

    asset: str
    partition: str
    kind: CellKind
    data_version: str = ""
    location: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values, at most 64 KB in all (S-209): rows, bytes, the user's own."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """One check on the written but unpublished cell."""

    check: str
    asset: str
    partition: str
    passed: bool
    blocking: bool
    detail: Mapping[str, Any] = field(default_factory=dict)


class StepStatus(Enum):
    """How the attempt ended; the values are those of `Finished.Status` in the proto which user code can cause."""

    SUCCESS = 1
    FAILED = 2
    RETRY_LATER = 3
    SKIPPED = 8
    FAILED_FOR_GOOD = 9
    DEFERRED = 10


@dataclass(frozen=True, slots=True)
class StepResult:
    """The end of an attempt. `retry_in_s` is seconds from now; negative when the retry policy is to decide."""

    status: StepStatus
    error: str = ""
    traceback: str = ""
    retry_in_s: float = -1.0
    deferral: Deferral | None = None
    """Only with DEFERRED."""
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Keys of dynamic schemes that exist from the commit of this attempt on, by scheme."""


class Reporter(Protocol):
    """Where a running attempt speaks to. Called from the thread that runs the step, in order."""

    def cell(self, outcome: CellOutcome) -> None: ...
    def check(self, outcome: CheckOutcome) -> None: ...
    def log(self, level: str, text: str) -> None: ...
