"""What a claim decides: the digest of each cell's inputs, whether anything is left to make, and the start. Pure.

Early cutoff: a cell that was planned only because an input might change is `unchanged`, without an attempt, when the digest
of what its inputs now hold equals the one it consumed (DESIGN section 5). The partitions of a task are judged one by one, each
with all its assets of an atomic group together; a task of which nothing is left ends `success`, and so do those that waited
for it in their turn: nothing that they read moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.assets.digest import MASK64, cell_hash, digest_of_inputs
from partita.core.decide.transitions import Actor, move, next_number
from partita.core.duties.values import EXTERNAL_VERSION
from partita.core.duties.values_attempts import CodeVersion, ResolvedInput
from partita.core.store.values import (
    AssetId,
    AttemptId,
    CellFact,
    CellRef,
    CellState,
    Fence,
    Task,
    TaskCell,
    TaskState,
    TaskUpdate,
    WaitStage,
    WorkerId,
)

Facts = Mapping[CellRef, CellFact]
_LISTED_CELLS = 100  # an input of more cells is in the manifest with its sum only


@dataclass(frozen=True, slots=True)
class InputSums:
    """The sums of an input per cell of the task, and over all of them."""

    source: ResolvedInput
    per_cell: Mapping[CellRef, int]


def sums_of(source: ResolvedInput, facts: Facts) -> InputSums:
    """Sums of cell hashes, modulo 2^64; a cell that was never published adds nothing.

    Cells that share one tuple of upstream cells share its sum: a task of a thousand partitions over one table reads it once.
    """
    seen: dict[int, int] = {}
    per_cell: dict[CellRef, int] = {}
    for cell, upstream in source.per_cell.items():
        if id(upstream) not in seen:
            seen[id(upstream)] = _sum(upstream, facts, external=source.external)
        per_cell[cell] = seen[id(upstream)]
    return InputSums(source, per_cell)


def _sum(upstream: Sequence[CellRef], facts: Facts, *, external: bool) -> int:
    if external:
        return sum(cell_hash(cell.partition, EXTERNAL_VERSION) for cell in upstream) & MASK64
    held = ((cell.partition, facts[cell].data_version) for cell in upstream if cell in facts)
    return sum(cell_hash(partition, version) for partition, version in held if version is not None) & MASK64


def digests_of(cells: Sequence[TaskCell], inputs: Sequence[InputSums]) -> dict[CellRef, int]:
    """The digest of the inputs of each cell (unsigned 64 bit)."""
    return {
        own.cell: digest_of_inputs(
            (part.source.upstream_asset_id, part.source.name, part.per_cell[own.cell])
            for part in inputs
            if own.cell in part.per_cell
        )
        for own in cells
    }


def unchanged(
    task: Task,
    pending: Sequence[TaskCell],
    facts: Facts,
    digests: Mapping[CellRef, int],
    versions: Mapping[AssetId, CodeVersion],
) -> frozenset[CellRef]:
    """The cells that need no attempt, of those that are conditional."""
    by_partition: dict[str, list[TaskCell]] = defaultdict(list)
    for own in pending:
        by_partition[own.cell.partition].append(own)
    return frozenset(
        own.cell
        for cells in by_partition.values()
        if all(conditional(task, own) for own in cells)
        and all(_holds(facts.get(own.cell), digests[own.cell], versions.get(own.cell.asset_id)) for own in cells)
        for own in cells
    )


def conditional(task: Task, own: TaskCell) -> bool:
    """Whether this cell was planned only because an input might change. (A task that an older version launched says it for
    all its cells.)"""
    return task.conditional or own.conditional


def _holds(fact: CellFact | None, digest: int, version: CodeVersion | None) -> bool:
    # A cell whose last attempt failed is due for an attempt, whatever its last success consumed.
    return (
        fact is not None
        and version is not None
        and fact.data_version is not None
        and fact.last_outcome != "failed"
        and fact.consumed_digest == digest
        and fact.fingerprint == version.fingerprint
        and fact.dependency_hash == version.dependency_hash
    )


def start(task: Task, *, worker_id: WorkerId, attempt_id: AttemptId, fence: Fence, now: datetime) -> TaskUpdate:
    return move(
        task,
        TaskState.RUNNING,
        Actor.CLAIM,
        attempt_number=next_number(task),
        waits=WaitStage.MET if task.waits is WaitStage.RESUME else task.waits,
        worker_id=worker_id,
        attempt_id=attempt_id,
        fence=fence,
        not_before=None,
        started_at=now,
    )


def end_without_attempt(task: Task, cells: Sequence[TaskCell], now: datetime) -> TaskUpdate:
    """Nothing is left to make. `cells` are all cells of the task; those still pending are unchanged."""
    made = any(cell.state is CellState.PUBLISHED for cell in cells)
    outcome = "published" if made else "unchanged"
    return move(task, TaskState.SUCCESS, Actor.CLAIM, outcome=outcome, finished_at=now)


def fail_unresolved(task: Task, why: str, now: datetime) -> TaskUpdate:
    return move(task, TaskState.FAILED, Actor.CLAIM, error=f"its inputs cannot be resolved: {why}", finished_at=now)


def manifest(inputs: Sequence[InputSums], facts: Facts) -> tuple[Mapping[str, Any], ...]:
    """The inputs manifest of an attempt: what people read to see which input moved. Digests are hexadecimal text."""
    return tuple(_manifest_of(part, facts) for part in inputs)


def _manifest_of(part: InputSums, facts: Facts) -> Mapping[str, Any]:
    source = part.source
    upstream = dict.fromkeys(cell for cells in _distinct(source) for cell in cells)
    entry: dict[str, Any] = {
        "name": source.name,
        "upstream": source.upstream_asset_id,
        "cells": len(upstream),
        "digest": f"{sum(part.per_cell.values()) & MASK64:016x}",
    }
    if source.external:
        entry["external"] = True
    elif len(upstream) <= _LISTED_CELLS:
        entry["versions"] = [[cell.partition, facts[cell].data_version if cell in facts else None] for cell in upstream]
    return entry


def _distinct(source: ResolvedInput) -> list[tuple[CellRef, ...]]:
    return list({id(cells): cells for cells in source.per_cell.values()}.values())
