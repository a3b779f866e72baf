"""Assets, their partitions, cells and graph."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from partita.ui.api.models.base import Cadence, CellState, Counts, Model, PartitionsKind, Problem, Severity
from partita.ui.api.models.changes import CodeChangeView
from partita.ui.api.models.shared import AttemptSummary, CheckResult, OpenTask, Reason, WindowView


class AutomationView(Model):
    """`condition` is what people wrote after `automation=`."""

    condition: str


class CheckTally(Model):
    passed: int
    failed: int
    total: int


class _AssetHead(Model):
    """What a list and the page of an asset both tell."""

    id: int
    key: str
    location: str
    group: str
    owner: str | None
    kinds: list[str]
    tags: dict[str, str]
    description: str
    external: bool
    partitions_kind: PartitionsKind
    cadence: Cadence | None
    partition_count: int
    counts: Counts
    automation: AutomationView | None
    last_materialized_at: datetime | None
    load_error: str | None
    fresh_to: str | None


class AssetSummary(_AssetHead):
    checks: CheckTally


class AssetList(Model):
    assets: list[AssetSummary]
    total: int


class Verdict(Model):
    sentence: str
    advice: str | None
    severity: Severity
    fresh_to: str | None
    next_due_at: datetime | None


class Neighbour(Model):
    key: str
    input: str
    mapping: str


class DimensionView(Model):
    name: str
    kind: PartitionsKind
    keys: list[str] | None  # of listed dimensions with up to 200 keys
    size: int
    scheme: str | None  # the name of a dynamic one


class PartitionsView(Model):
    kind: PartitionsKind
    cadence: Cadence | None
    tz: str | None
    start: str | None
    end: str | None
    dims: list[DimensionView]


class RetryView(Model):
    max_retries: int
    delay_s: float
    backoff: str
    max_delay_s: float | None


class PoolUseView(Model):
    name: str
    slots: int


class CodeView(Model):
    fingerprint: str | None
    file: str | None
    line: int | None
    function: str | None


class LastCheck(Model):
    passed: bool
    at: datetime
    partition: str
    detail: dict[str, Any]


class CheckView(Model):
    name: str
    blocking: bool
    description: str
    last: LastCheck | None
    failing: int
    """Partitions whose last result is a failure, among the last thousands of results."""
    last_failing: LastCheck | None
    """The newest of those."""


class SetAsideView(Model):
    """Published cells of an asset that a change of its partition scheme set aside; `scheme` is the one they were made under."""

    scheme: str
    present: bool = Field(description="Whether it is the scheme of now: they were set aside by a restart")
    cells: int
    moved_at: datetime


class AssetDetail(_AssetHead):
    """AssetSummary (with `checks` in full) and what the asset page shows beside it."""

    checks: list[CheckView]
    verdict: Verdict
    upstream: list[Neighbour]
    downstream: list[Neighbour]
    partitions: PartitionsView
    set_aside: list[SetAsideView]
    retries: RetryView
    timeout_s: float | None
    pools: list[PoolUseView]
    batch: str
    io: str | None
    code: CodeView
    params_schema: dict[str, Any] | None
    metadata: dict[str, Any]


class Bucket(Model):
    """The ordinals lo (inclusive) to hi (exclusive) of one column; `start` and `end` for time axes."""

    lo: int
    hi: int
    first_key: str
    last_key: str
    start: datetime | None
    end: datetime | None
    counts: Counts


class StripRow(Model):
    dim_key: str
    buckets: list[Counts]


class Strip(Model):
    size: int
    lo: int
    hi: int
    cadence: Cadence | None
    tz: str | None
    buckets: list[Bucket]
    rows: list[StripRow] | None
    row_dim: str | None


class Published(Model):
    data_version: str
    location: str | None
    at: datetime
    attempt_id: int | None
    run_id: int | None
    trace_id: str | None
    code_fingerprint: str | None
    metadata: dict[str, Any]
    rows: int | None


class InputView(Model):
    name: str
    upstream: str
    cells: str  # the mapped partitions as text
    moved: list[str]


class CellDetail(Model):
    key: str
    partition: str
    dimensions: dict[str, str]
    window_start: datetime | None
    window_end: datetime | None
    due_at: datetime | None
    state: CellState
    reasons: list[Reason]
    code_change: CodeChangeView | None
    published: Published | None
    last_attempt: AttemptSummary | None
    attempts: list[AttemptSummary]
    inputs: list[InputView]
    checks: list[CheckResult]
    open_task: OpenTask | None


class PartitionItem(Model):
    partition: str
    dimensions: dict[str, str]
    window_start: datetime | None
    window_end: datetime | None
    due_at: datetime | None
    state: CellState
    data_version: str | None
    location: str | None
    published_at: datetime | None
    reason: str | None


class PartitionPage(Model):
    total: int
    items: list[PartitionItem]


class Resolved(Model):
    count: int
    ranges_text: str
    counts: Counts
    error: Problem | None


class GraphNode(Model):
    key: str
    group: str
    location: str
    external: bool
    kinds: list[str]
    counts: Counts
    partition_count: int
    load_error: str | None


class GraphEdge(Model):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    from_key: str = Field(alias="from")
    to: str
    input: str
    mapping: str


class GraphView(Model):
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    hash: str


class Why(Model):
    state: CellState
    sentence: str
    reasons: list[Reason]
    open_task: OpenTask | None
    window: WindowView | None
