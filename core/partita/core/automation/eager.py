"""The eager rule: which cells of eager consumers an upstream publication asks for. Pure, given what was read.

A cell is asked for when it is missing, or when its inputs hold something else than it consumed, and all upstream partitions
that it needs are there. Changed code or dependencies alone never ask: automation does not recompute history (DESIGN
section 5), unless the asset says `on_code_change="rebuild"`. Nothing is asked for while an upstream is under way: the last one
to end decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from partita.assets import digest_of_inputs, hash64
from partita.assets.digest import MASK64
from partita.core.decide.claim import digests_of, sums_of
from partita.core.duties.values import ResolvedInputs
from partita.core.planner.values import Reason
from partita.core.store.values import AssetId, CellFact, CellRef, CellState, TaskCell, TaskId

_NOBODY = TaskId(0)


class Verdict(StrEnum):
    """What becomes of one partition of a consumer's step."""

    ASK = "ask"
    FRESH = "fresh"  # it consumed just this
    WAIT = "wait"  # an upstream is under way: decided again when that ends
    NOT_READY = "not_ready"  # an upstream is missing or does not exist, and nobody makes it


@dataclass(frozen=True, slots=True)
class Consumer:
    """One partition of a step with eager members: its cells (one per member), whether it needs what does not exist, and
    whether changed code or dependencies ask for it, too."""

    cells: tuple[CellRef, ...]
    absent: bool
    rebuild: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """`reason` of what is asked for. `state` identifies what the inputs hold now, and with `rebuild` the code: once per state
    is asked."""

    verdict: Verdict
    state: int = 0
    reason: Reason = Reason.MISSING


def upstream_of_cell(resolved: ResolvedInputs, cell: CellRef, members: Collection[AssetId]) -> list[CellRef]:
    """The cells that one cell reads, without externals and without what its own step makes beside it."""
    return [
        ref
        for part in resolved.inputs
        if not part.external and (part.upstream_asset_id == cell.asset_id or part.upstream_asset_id not in members)
        for ref in part.per_cell.get(cell, ())
    ]


def judge(
    consumer: Consumer,
    resolved: ResolvedInputs,
    facts: Mapping[CellRef, CellFact],
    under_way: AbstractSet[CellRef],
    asked: AbstractSet[CellRef],
) -> Judged:
    """Decide one partition. `under_way` are the upstream cells that open tasks own; `asked` those that this very decision
    already asks for: they will be there, and will have changed."""
    if consumer.absent:
        return Judged(Verdict.NOT_READY)
    members = {cell.asset_id for cell in consumer.cells}
    above = [ref for cell in consumer.cells for ref in upstream_of_cell(resolved, cell, members)]
    if any(ref in under_way for ref in above):
        return Judged(Verdict.WAIT)
    if any(ref not in asked and not _there(facts.get(ref), own=ref.asset_id in members) for ref in above):
        return Judged(Verdict.NOT_READY)
    reason = _reason(consumer, resolved, facts, follows=any(ref in asked for ref in above))
    if reason is None:
        return Judged(Verdict.FRESH)
    return Judged(Verdict.ASK, _state(consumer, resolved, facts), reason)


def _reason(
    consumer: Consumer, resolved: ResolvedInputs, facts: Mapping[CellRef, CellFact], *, follows: bool
) -> Reason | None:
    """The first that holds, in the planner's order."""
    if any(not _published(facts.get(cell)) for cell in consumer.cells):
        return Reason.MISSING
    if consumer.rebuild:
        held = [(facts[cell], resolved.versions[cell.asset_id]) for cell in consumer.cells]
        if any(differs(fact.fingerprint, version.fingerprint) for fact, version in held):
            return Reason.STALE_CODE
        if any(differs(fact.dependency_hash, version.dependency_hash) for fact, version in held):
            return Reason.STALE_DEPENDENCIES
    if follows or _moved(consumer.cells, resolved, facts):
        return Reason.STALE_DATA
    return None


def differs(recorded: str | None, defined: str) -> bool:
    """Whether code or dependencies changed; what was never recorded, or is not defined, is no change (ADR 6)."""
    return bool(defined) and recorded is not None and recorded != defined


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


def _state(consumer: Consumer, resolved: ResolvedInputs, facts: Mapping[CellRef, CellFact]) -> int:
    """What the inputs hold, with the fences: an upstream that goes back to an old version is a new cause. Where changed code
    asks, the code is a part of it."""
    inputs = digest_of_inputs(
        (
            part.upstream_asset_id,
            f"{cell.asset_id}:{part.name}",
            sum(_held(facts[ref]) for ref in part.per_cell.get(cell, ()) if ref in facts),
        )
        for cell in consumer.cells
        for part in resolved.inputs
        if not part.external
    )
    if not consumer.rebuild:
        return inputs
    code = (hash64("code", str(cell.asset_id), *resolved.versions[cell.asset_id]) for cell in consumer.cells)
    return (inputs + sum(code)) & MASK64


def _held(fact: CellFact) -> int:
    return hash64("state", fact.cell.partition, fact.data_version or "", fact.fence)


def _there(fact: CellFact | None, *, own: bool) -> bool:
    """An earlier partition of the step itself that was skipped is no gap (DESIGN section 5)."""
    return _published(fact) or (own and fact is not None and fact.last_outcome == "skipped")


def _published(fact: CellFact | None) -> bool:
    return fact is not None and fact.data_version is not None
