"""What the words of conditions hold of one partition of a step: where the facts come from. Pure, given what was read.

The words are those of `partita.assets.conditions`; `judge` decides by them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Protocol

from partita.assets import AssetKey, CellSpec, NodeSpec
from partita.assets.condition_specs import CatchUp, CellWord, DepWord
from partita.assets.conditions import nodes_of
from partita.core.decide.claim import digests_of, sums_of
from partita.core.duties.values_attempts import ResolvedInputs
from partita.core.planner.values import Reason
from partita.core.store.values import AssetId, CellFact, CellRef, CellState, TaskCell, TaskId

_NOBODY = TaskId(0)


class Times(Protocol):
    """What time says of one partition."""

    def latest(self, n: int, lag_s: float | None) -> bool: ...

    def closed(self, lag_s: float, catch_up: CatchUp) -> bool: ...

    def closed_at(self, lag_s: float) -> datetime | None: ...

    def last_tick(self, cron: str, tz: str) -> datetime | None:
        """The last fire time that counts; None before the first."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """One partition of an automated step: its cells (one per member), the condition, the upstream assets of which it needs
    what does not exist, and what time says. Of a subsettable `group` one member's cell."""

    cells: tuple[CellRef, ...]
    condition: NodeSpec
    absent: Collection[AssetKey]
    times: Times
    group: AbstractSet[AssetId] = frozenset()

    @property
    def by_code(self) -> bool:
        """Whether changed code asks, too."""
        return any(isinstance(one, CellSpec) and one.is_ == "code_changed" for one in nodes_of(self.condition))


@dataclass(frozen=True, slots=True)
class World:
    """What was read. `under_way` are the upstream cells that open tasks own; `asked` those that this very decision already
    asks for: they will be there, and will have changed. `failed_checks` and `late` say since when, and `began` when the attempts
    that made cells began: they are read where a condition asks for them."""

    facts: Mapping[CellRef, CellFact]
    under_way: AbstractSet[CellRef]
    asked: set[CellRef]
    key_of: Callable[[AssetId], AssetKey]
    failed_checks: Mapping[CellRef, datetime] = field(default_factory=dict)
    late: Mapping[AssetId, datetime] = field(default_factory=dict)
    began: Mapping[CellRef, datetime] = field(default_factory=dict)


def upstream_of_cell(resolved: ResolvedInputs, cell: CellRef, members: Collection[AssetId]) -> list[CellRef]:
    """The cells that one cell reads, without externals and without what its own step makes beside it."""
    return [
        ref
        for part in resolved.inputs
        if not part.external and (part.upstream_asset_id == cell.asset_id or part.upstream_asset_id not in members)
        for ref in part.per_cell.get(cell, ())
    ]


class StepView:
    """The `CellView` of one partition of a step. `settled`: as if what is under way above it had been made."""

    def __init__(self, consumer: Consumer, resolved: ResolvedInputs, world: World, *, settled: bool = False) -> None:
        self._consumer = consumer
        self._resolved = resolved
        self._world = world
        self._settled = (
            settled  # what is under way counts as what is asked for: it will be there, and will have changed
        )
        self._words: dict[CellWord, bool] = {}

    def holds(self, word: CellWord) -> bool:
        known = self._words.get(word)
        if known is None:
            known = self._words[word] = _CELL_WORDS[word](self)
        return known

    def latest(self, n: int, lag_s: float | None) -> bool:
        return self._consumer.times.latest(n, lag_s)

    def closed(self, lag_s: float, catch_up: CatchUp) -> bool:
        return self._consumer.times.closed(lag_s, catch_up)

    def ticked(self, cron: str, tz: str) -> bool:
        tick = self._consumer.times.last_tick(cron, tz)
        made = [fact.published_at for fact in self.own if fact is not None and fact.published_at is not None]
        return tick is not None and (len(made) < len(self.own) or min(made) < tick)

    def at(self, word: CellWord) -> datetime | None:
        match word:
            case "made":
                return None if self._missing() else min((one for one in map(_made_at, self.own) if one), default=None)
            case "failed":
                return _last(fact.last_attempt_at for fact in self.own if fact is not None and _failed(fact))
            case "check_failed":
                return _last(map(self._world.failed_checks.get, self._consumer.cells))
            case "late":
                return _last(self._world.late.get(cell.asset_id) for cell in self._consumer.cells)
            case "data_changed":
                return _last(dep.at("updated") for dep in self._deps) if self.holds("data_changed") else None
            case _:
                return None

    def closed_at(self, lag_s: float) -> datetime | None:
        return self._consumer.times.closed_at(lag_s)

    def ticked_at(self, cron: str, tz: str) -> datetime | None:
        return self._consumer.times.last_tick(cron, tz)

    def deps(self) -> Sequence[DepOf]:
        return self._deps

    @property
    def reason(self) -> Reason:
        """Why it is made, when it is: the first that holds, in the planner's order."""
        if self.holds("missing"):
            return Reason.MISSING
        if self._consumer.by_code and self.holds("code_changed"):
            return Reason.STALE_CODE if self._code_differs else Reason.STALE_DEPENDENCIES
        return Reason.STALE_DATA if self.holds("data_changed") else Reason.FORCED

    @property
    def heeds_progress(self) -> bool:
        """Whether something that it reads is under way."""
        return any(dep.cell in self._world.under_way for dep in self._deps if dep.cell is not None)

    @cached_property
    def own(self) -> list[CellFact | None]:
        """What is known of its cells."""
        return [self._world.facts.get(cell) for cell in self._consumer.cells]

    @cached_property
    def _deps(self) -> list[DepOf]:
        members = {cell.asset_id for cell in self._consumer.cells}
        # From when its attempt began: what moved while it ran, it has not read.
        read = [
            self._world.began.get(fact.cell, fact.published_at)
            for fact in self.own
            if fact is not None and fact.published_at is not None
        ]
        since = min(read) if len(read) == len(self.own) and read else None
        refs = {ref for cell in self._consumer.cells for ref in upstream_of_cell(self._resolved, cell, members)}
        own = members | self._consumer.group
        world = self._world
        if self._settled:
            world = replace(world, under_way=frozenset(), asked=world.asked | set(world.under_way))
        found = [DepOf(str(world.key_of(ref.asset_id)), ref, world, ref.asset_id in own, since) for ref in sorted(refs)]
        return [*found, *(DepOf(str(key), None, world, False, since) for key in sorted(self._consumer.absent))]

    def _missing(self) -> bool:
        return any(not _published(fact) for fact in self.own)

    def _data_changed(self) -> bool:
        if self._missing():
            return False
        if any(dep.cell in dep.world.asked for dep in self._deps):
            return True
        return _moved(self._consumer.cells, self._resolved, self._world.facts)

    def _code_changed(self) -> bool:
        return any(made_otherwise(fact, *self._resolved.versions[cell.asset_id]) for cell, fact in self._own_cells)

    @cached_property
    def _code_differs(self) -> bool:
        return any(
            _other_code(fact, self._resolved.versions[cell.asset_id].fingerprint) for cell, fact in self._own_cells
        )

    @property
    def _own_cells(self) -> Iterator[tuple[CellRef, CellFact | None]]:
        return zip(self._consumer.cells, self.own, strict=True)

    def replaced(self, cell: CellRef) -> str:
        """When the cell was made, if it was made with other code; else empty."""
        fact = self._world.facts.get(cell)
        other = made_otherwise(fact, *self._resolved.versions[cell.asset_id])
        return fact.published_at.isoformat() if other and fact is not None and fact.published_at is not None else ""

    def _failed(self) -> bool:
        return any(map(_failed, self.own))

    def _made(self) -> bool:
        return not self._missing()

    def _check_failed(self) -> bool:
        return self.at("check_failed") is not None

    def _late(self) -> bool:
        return self.at("late") is not None


_FAILED = frozenset({"failed", "lost"})


def _failed(fact: CellFact | None) -> bool:
    return fact is not None and fact.last_outcome in _FAILED


def _made_at(fact: CellFact | None) -> datetime | None:
    return None if fact is None else fact.published_at


def _last(found: Iterable[datetime | None]) -> datetime | None:
    return max((one for one in found if one is not None), default=None)


_CELL_WORDS = {
    "missing": StepView._missing,
    "data_changed": StepView._data_changed,
    "code_changed": StepView._code_changed,
    "failed": StepView._failed,
    "made": StepView._made,
    "check_failed": StepView._check_failed,
    "late": StepView._late,
}


@dataclass(frozen=True, slots=True)
class DepOf:
    """The `DepView` of one upstream cell; without `cell`, of a partition that does not exist. `own`: of the step itself."""

    key: str
    cell: CellRef | None
    world: World
    own: bool
    since: datetime | None

    def holds(self, word: DepWord) -> bool:
        if self.cell is None:
            return word == "missing"
        fact = self.world.facts.get(self.cell)
        match word:
            case "missing":
                return self.cell not in self.world.asked and not _there(fact, own=self.own)
            case "in_progress":
                return self.cell in self.world.under_way
            case "failed":
                return _failed(fact)
            case "check_failed":
                return self.cell in self.world.failed_checks
            case "late":
                return self.cell.asset_id in self.world.late
            case "updated":
                moved = None if fact is None else fact.version_at
                return self.cell in self.world.asked or (
                    moved is not None and (self.since is None or moved > self.since)
                )

    def at(self, word: DepWord) -> datetime | None:
        if self.cell is None:
            return None
        fact = self.world.facts.get(self.cell)
        match word:
            case "updated":
                return None if fact is None else fact.version_at
            case "failed":
                return fact.last_attempt_at if fact is not None and _failed(fact) else None
            case "check_failed":
                return self.world.failed_checks.get(self.cell)
            case "late":
                return self.world.late.get(self.cell.asset_id)
            case _:
                return None


def differs(recorded: str | None, defined: str) -> bool:
    """Whether code or dependencies changed; what was never recorded, or is not defined, is no change (ADR 6)."""
    return bool(defined) and recorded is not None and recorded != defined


def made_otherwise(fact: CellFact | None, fingerprint: str, dependency_hash: str) -> bool:
    """Whether a cell holds what was made with other code or other dependencies than these."""
    return (
        fact is not None
        and _published(fact)
        and (differs(fact.fingerprint, fingerprint) or differs(fact.dependency_hash, dependency_hash))
    )


def _other_code(fact: CellFact | None, fingerprint: str) -> bool:
    return fact is not None and _published(fact) and differs(fact.fingerprint, fingerprint)


def _moved(cells: Sequence[CellRef], resolved: ResolvedInputs, facts: Mapping[CellRef, CellFact]) -> bool:
    """Whether the inputs hold something else than the cells consumed, by the claim's own digests."""
    owned = [TaskCell(_NOBODY, cell, CellState.PENDING, "") for cell in cells]
    digests = digests_of(owned, [sums_of(part, facts) for part in _only(cells, resolved).inputs])
    return any(digests[cell] != (facts[cell].consumed_digest or 0) for cell in cells)


def _only(cells: Sequence[CellRef], resolved: ResolvedInputs) -> ResolvedInputs:
    parts = tuple(
        type(part)(
            part.name,
            part.kind,
            part.upstream_asset_id,
            {cell: part.per_cell[cell] for cell in cells if cell in part.per_cell},
            part.external,
        )
        for part in resolved.inputs
    )
    return ResolvedInputs(parts, resolved.versions)


def _there(fact: CellFact | None, *, own: bool) -> bool:
    """An earlier partition of the step itself that was skipped is no gap (DESIGN section 5)."""
    return _published(fact) or (own and fact is not None and fact.last_outcome == "skipped")


def _published(fact: CellFact | None) -> bool:
    return fact is not None and fact.data_version is not None
