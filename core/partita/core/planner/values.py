"""The plan and its parts: immutable values that every interpreter (preview, apply, launch, render) reads.

Cells are sets of ordinals over the partitions that exist at the plan's `as_of`, never lists of keys. Owns no rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import StepKey
from partita.core.planner.estimate_values import Estimate
from partita.core.planner.sequences import Runs, between
from partita.core.store.values import AssetId

DEFAULT_MODE = ("missing", "failed", "stale")
MODES = ("missing", "failed", "stale", "all")


class Reason(StrEnum):
    """Why a cell is planned; of several the first in this order."""

    FAILED = "failed"
    MISSING = "missing"
    STALE_CODE = "stale_code"
    STALE_DEPENDENCIES = "stale_dependencies"
    STALE_DATA = "stale_data"
    FORCED = "forced"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What somebody asks for. `selection` and `partitions` are texts of the two grammars; `from_key`..`to_key` is a span of
    the time dimension (both inclusive). `mode` is a union of MODES. `as_of` is the instant at which partitions exist.
    """

    selection: str
    as_of: datetime
    partitions: str | None = None
    from_key: str | None = None
    to_key: str | None = None
    mode: tuple[str, ...] = DEFAULT_MODE
    upstream: bool = False
    downstream: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    requested_by: str = ""
    retry_of: int | None = None
    """A backfill: then the targets are the cells that it has not made, instead of selection and partitions."""

    def to_json(self) -> dict[str, Any]:
        """The stored form; also what the plan's hash covers, without `requested_by`."""
        return {
            "selection": self.selection,
            "as_of": self.as_of.isoformat(),
            "partitions": self.partitions,
            "from": self.from_key,
            "to": self.to_key,
            "mode": sorted(self.mode, key=MODES.index),
            "upstream": self.upstream,
            "downstream": self.downstream,
            "params": dict(self.params),
            "by": self.requested_by,
            **({} if self.retry_of is None else {"retry_of": self.retry_of}),
        }

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> PlanRequest:
        """The request of a stored form."""
        return PlanRequest(
            selection=stored["selection"],
            as_of=datetime.fromisoformat(stored["as_of"]),
            partitions=stored["partitions"],
            from_key=stored["from"],
            to_key=stored["to"],
            mode=tuple(stored["mode"]),
            upstream=stored["upstream"],
            downstream=stored["downstream"],
            params=stored["params"],
            requested_by=stored["by"],
            retry_of=stored.get("retry_of"),
        )


@dataclass(frozen=True, slots=True)
class PlannedAsset:
    """The planned cells of one asset, by reason (disjoint). `conditional` are those planned only because an upstream may
    change: they carry the reason stale_data, or forced where only another member of their group may change."""

    key: AssetKey
    asset_id: AssetId
    size: int
    by_reason: Mapping[Reason, PartitionSet]
    conditional: PartitionSet
    keys: str = ""
    """What stands for the dynamic keys that slice the asset or what it reads: ordinals mean nothing without them."""

    @property
    def cells(self) -> PartitionSet:
        """All planned cells of the asset."""
        return reduce(or_, self.by_reason.values(), PartitionSet.empty())


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """The tasks of one step: `batches[i]` are the partitions of the task in wave `waves[i]`; each makes all of `assets` in them.

    `partial`: these are not all members of the step's group. A subsettable group has one for each set of members that is
    needed somewhere, so a step may be there more than once, with other partitions. The sequences cost by their runs
    (`sequences.py`): walk over them only to launch.
    """

    step: StepKey
    assets: tuple[AssetKey, ...]
    batches: Sequence[PartitionSet]
    waves: Runs[int]
    conditional: Runs[bool]
    partial: bool = False

    @property
    def first_wave(self) -> int:
        """The wave of its earliest task."""
        return min(self.waves.values)

    @property
    def last_wave(self) -> int:
        """The wave of its last task."""
        return max(self.waves.values)

    def cells_by_wave(self) -> Mapping[int, PartitionSet]:
        """The partitions of the tasks of each wave."""
        found: dict[int, list[tuple[int, int]]] = {}
        at = 0
        for wave, n in self.waves.runs:
            found.setdefault(wave, []).extend(between(self.batches, at, at + n).ranges)
            at += n
        return {wave: PartitionSet.from_ranges(ranges) for wave, ranges in found.items()}

    def tasks_by_wave(self) -> Mapping[int, int]:
        """How many tasks each wave has."""
        found: Counter[int] = Counter()
        for wave, n in self.waves.runs:
            found[wave] += n
        return found


@dataclass(frozen=True, slots=True)
class Blocked:
    """Cells that would be planned but cannot run. `upstream` names the asset that is not there, `absent` the first keys that
    do not exist, or those that are missing when they are few. `reason` is upstream_missing, upstream_in_progress (missing,
    and another run makes it), upstream_absent (does not exist), upstream_blocked or upstream_unloaded (its location was
    never loaded)."""

    key: AssetKey
    cells: PartitionSet
    reason: str
    upstream: AssetKey
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pressure:
    """What a plan asks of a pool; `slots` is None for a pool that does not exist yet."""

    name: str
    slots: int | None
    held: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer to a request. Equal hashes mean equal content: snapshots, request, cells by reason and batches.

    `because` names, per asset with stale data, the upstream that moved; like `pools`, `estimate`, `joined` (cells that an open
    task already owns) and `unserved` (queues that no live worker serves) it is outside the hash.
    """

    request: PlanRequest
    snapshots: tuple[tuple[str, str], ...]
    assets: tuple[PlannedAsset, ...]
    steps: tuple[PlannedStep, ...]
    blocked: tuple[Blocked, ...]
    hash: str
    because: Mapping[AssetKey, AssetKey] = field(default_factory=dict)
    pools: tuple[Pressure, ...] = ()
    estimate: Estimate | None = None
    joined: int = 0
    unserved: tuple[str, ...] = ()

    @property
    def as_of(self) -> datetime:
        """The instant at which the plan sees partitions."""
        return self.request.as_of

    @property
    def cell_count(self) -> int:
        """How many cells are planned."""
        return sum(len(cells) for asset in self.assets for cells in asset.by_reason.values())

    @property
    def task_count(self) -> int:
        """How many tasks would be launched, gates apart."""
        return sum(len(step.batches) for step in self.steps)

    @property
    def empty(self) -> bool:
        """Nothing to do."""
        return not self.steps

    def by_step(self) -> Mapping[StepKey, Sequence[PlannedStep]]:
        """The planned steps by their step; several parts only of subsettable groups."""
        found: dict[StepKey, list[PlannedStep]] = {}
        for one in self.steps:
            found.setdefault(one.step, []).append(one)
        return found

    def counts(self) -> dict[Reason, int]:
        """Cells by reason; only reasons that occur."""
        found = {reason: sum(len(asset.by_reason.get(reason, ())) for asset in self.assets) for reason in Reason}
        return {reason: n for reason, n in found.items() if n}

    def wave_count(self) -> int:
        """How many waves the plan has."""
        return 1 + max((step.last_wave for step in self.steps), default=-1)

    def cells_by_wave(self) -> tuple[Mapping[AssetKey, PartitionSet], ...]:
        """Per wave the cells by asset."""
        waves: list[dict[AssetKey, PartitionSet]] = [{} for _ in range(self.wave_count())]
        planned = {asset.key: asset.cells for asset in self.assets}
        for step in self.steps:
            for wave, cells in step.cells_by_wave().items():
                for key in step.assets:
                    if found := cells & planned[key]:
                        known = waves[wave].get(key)
                        waves[wave][key] = found if known is None else known | found
        return tuple(waves)

    def __repr__(self) -> str:
        return (
            f"<Plan {self.hash[:12]} {self.cell_count} cells of {len(self.assets)} assets in {self.task_count} tasks>"
        )
