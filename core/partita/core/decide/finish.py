"""What the report of an attempt means for its task and its cells. Pure.

In two steps, because locks are taken in between (tasks before cells): `judge` sees the task and the report and decides
the next state and which cells are published; `conclude` sees what those cells hold now and decides which publications are
confirmations. At-least-once execution, exactly-once publication: a cell is published only while it is pending in its task
and its fence is the attempt's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, assert_never

from partita.core.decide import retry, waits
from partita.core.decide.transitions import Actor, move
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult
from partita.core.store.values import (
    WAITING,
    AssetId,
    AttemptOutcome,
    CellAttempt,
    CellFact,
    CellRef,
    CellState,
    Publication,
    Task,
    TaskCell,
    TaskCellUpdate,
    TaskState,
    TaskUpdate,
)

_NOTE = {
    AttemptOutcome.CANCELLED: "cancelled",
    AttemptOutcome.LOST: "lost",
    AttemptOutcome.VERSION_GONE: "lost",
}  # every other outcome that leaves a cell unmade notes it as failed

# How a cell that is still pending ends when its task does.
END_OF_PENDING: Mapping[TaskState, CellState] = {
    TaskState.SUCCESS: CellState.UNCHANGED,
    TaskState.FAILED: CellState.FAILED,
    TaskState.UPSTREAM_FAILED: CellState.UPSTREAM_FAILED,
    TaskState.SKIPPED: CellState.SKIPPED,
    TaskState.CANCELLED: CellState.CANCELLED,
    TaskState.REMOVED: CellState.REMOVED,
}


class Judgement(NamedTuple):
    """`left`: cells that the attempt neither made nor skipped, with the sentence that says why."""

    update: TaskUpdate
    publish: tuple[CellResult, ...]
    skipped: tuple[CellRef, ...]
    left: Mapping[CellRef, str | None]


class Conclusion(NamedTuple):
    update: TaskUpdate
    publications: tuple[Publication, ...]
    cells: tuple[TaskCellUpdate, ...]
    notes: tuple[CellAttempt, ...]


def refusal(task: Task | None, result: AttemptResult) -> str | None:
    """Why nothing of this report may be written; None when it speaks for the task's live attempt."""
    if task is None:
        return "there is no such task"
    if task.state.terminal:
        same = task.attempt_id == result.attempt_id
        return f"the task has ended as {task.state.value}" + (" with this very attempt" if same else "")
    if task.state is not TaskState.RUNNING:
        return f"the task is {task.state.value}: this attempt was given up before it reported"
    if (task.attempt_id, task.fence) != (result.attempt_id, result.fence):
        return f"attempt {task.attempt_id} holds the task now, at fence {task.fence}; this one has fence {result.fence}"
    return None


def publishable(task: Task, cells: Sequence[TaskCell], result: AttemptResult) -> tuple[CellResult, ...]:
    """The written cells that may be published: pending, complete, and whole in their atomic group."""
    pending = {own.cell for own in cells if own.state is CellState.PENDING}
    return _publishable(pending, _reports(result, pending), result)


def _publishable(
    pending: Collection[CellRef], reports: Mapping[CellRef, CellResult], result: AttemptResult
) -> tuple[CellResult, ...]:
    written = {cell for cell, report in reports.items() if report.kind is CellOutcome.WRITTEN}
    if not result.groups:
        return tuple(reports[cell] for cell in sorted(written))
    held_back = {cell for cell in written if _missing_members(cell, pending, written, result.groups)}
    return tuple(reports[cell] for cell in sorted(written - held_back))


def judge(task: Task, cells: Sequence[TaskCell], result: AttemptResult, now: datetime) -> Judgement:
    """The next state of a running task whose live attempt reports. `cells` are all cells of the task."""
    pending = [own.cell for own in cells if own.state is CellState.PENDING]
    reports = _reports(result, pending)
    publish = _publishable(pending, reports, result)
    made = {report.cell for report in publish}
    skips_rest = result.outcome is AttemptOutcome.SKIPPED
    unmade = [cell for cell in pending if cell not in made]
    skipped = {cell for cell in unmade if _is_skip(reports.get(cell), skips_rest, cell, result)}
    left = {cell: _why_left(cell, reports.get(cell), result) for cell in unmade if cell not in skipped}
    if left:
        update = _after_unmade(task, result, left, now)
    else:
        # A task is its cells: with none left it has ended well, however the attempt itself says that it ended.
        anything = bool(made) or any(own.state in _MADE for own in cells)
        end = TaskState.SUCCESS if anything else TaskState.SKIPPED
        update = move(task, end, Actor.FINISH, worker_id=None, finished_at=now)
    return Judgement(update, publish, tuple(sorted(skipped)), left)


_MADE = frozenset({CellState.PUBLISHED, CellState.UNCHANGED})


def _after_unmade(task: Task, result: AttemptResult, left: Mapping[CellRef, str | None], now: datetime) -> TaskUpdate:
    error = result.error or next((why for why in left.values() if why), None)
    outcome = result.outcome
    match outcome:
        case AttemptOutcome.LOST:
            return retry.after_loss(task, now, by=Actor.FINISH, error=error or "its runner was lost")
        case AttemptOutcome.VERSION_GONE:
            return retry.after_version_gone(task, now)
        case AttemptOutcome.DEFERRED if result.deferral is not None and not task.cancel_requested:
            return waits.defer(task, result.deferral)
        case AttemptOutcome.DEFERRED:
            return retry.after_failure(task, now, error=error or "it deferred without saying what it waits for")
        case AttemptOutcome.CANCELLED:
            # Stopped without having been asked (a worker that shuts down): not the user's doing.
            return retry.after_loss(task, now, by=Actor.FINISH, error=error or "it was stopped by its worker")
        case AttemptOutcome.FAILED_FOR_GOOD:
            return retry.after_failure(task, now, error=error, for_good=True)
        case AttemptOutcome.RETRY_LATER:
            return retry.after_failure(task, now, error=error, retry_in_s=result.retry_in_s)
        case AttemptOutcome.FAILED | AttemptOutcome.TIMED_OUT | AttemptOutcome.SUCCESS | AttemptOutcome.SKIPPED:
            return retry.after_failure(task, now, error=error)
        case _:
            assert_never(outcome)


def _reports(result: AttemptResult, pending: Iterable[CellRef]) -> dict[CellRef, CellResult]:
    """The reports on pending cells, flawed ones as failures. What is not pending was published before, or is not ours."""
    wanted = set(pending)
    return {report.cell: _sound(report, result) for report in result.cells if report.cell in wanted}


def _sound(report: CellResult, result: AttemptResult) -> CellResult:
    if report.kind is not CellOutcome.WRITTEN:
        return report
    versioned, digested = report.data_version is not None, report.cell in result.digests
    known = report.cell.asset_id in result.versions
    if versioned and digested and known:
        return report
    parts = (("data version", versioned), ("digest of its inputs", digested), ("code version", known))
    lacks = [name for name, there in parts if not there]
    return report._replace(kind=CellOutcome.FAILED, error=f"reported as written without its {' and '.join(lacks)}")


def _missing_members(
    cell: CellRef, pending: Collection[CellRef], written: Collection[CellRef], groups: Sequence[tuple[AssetId, ...]]
) -> list[AssetId]:
    """The members of this cell's atomic group that are due in its partition and were not written."""
    for group in groups:
        if cell.asset_id in group:
            members = (CellRef(asset_id, cell.partition) for asset_id in group)
            return [member.asset_id for member in members if member in pending and member not in written]
    return []


def _is_skip(report: CellResult | None, skips_rest: bool, cell: CellRef, result: AttemptResult) -> bool:
    if report is None:
        return skips_rest
    if report.kind is not CellOutcome.SKIPPED:
        return False
    # A member of an atomic group may not be skipped beside one that was written: all or nothing.
    group = next((group for group in result.groups if cell.asset_id in group), ())
    return not any(
        other.kind is CellOutcome.WRITTEN and other.cell.partition == cell.partition and other.cell.asset_id in group
        for other in result.cells
    )


def _why_left(cell: CellRef, report: CellResult | None, result: AttemptResult) -> str | None:
    if report is not None and report.kind is CellOutcome.FAILED:
        return report.error or result.error
    if report is not None:
        return f"not published: its atomic group was not made whole in partition {cell.partition!r}"
    if result.outcome is AttemptOutcome.SUCCESS:
        return (
            f"the attempt ended well and made nothing for partition {cell.partition!r}: return, skip or raise for each"
        )
    return result.error


def conclude(
    task: Task,
    cells: Sequence[TaskCell],
    result: AttemptResult,
    judgement: Judgement,
    facts: Mapping[CellRef, CellFact],
) -> Conclusion:
    """What is written: publications, cell outcomes, notes of unmade cells, and the task with its outcome."""
    publications = publications_of(task, result, judgement.publish, facts)
    updates = list(published_cells(task, publications))
    by = result.attempt_id
    updates += [TaskCellUpdate(task.id, cell, CellState.SKIPPED, attempt_id=by) for cell in judgement.skipped]
    end = END_OF_PENDING.get(judgement.update.state)
    if end is not None:
        left = judgement.left.items()
        updates += [TaskCellUpdate(task.id, cell, end, error=why, attempt_id=by) for cell, why in left]
    update = judgement.update
    if update.state is TaskState.SUCCESS:
        moved = any(not p.confirms for p in publications) or any(own.state is CellState.PUBLISHED for own in cells)
        update = update._replace(outcome="published" if moved else "unchanged")
    return Conclusion(update, publications, tuple(updates), _notes(result, judgement))


def publications_of(
    task: Task, result: AttemptResult, publish: Sequence[CellResult], facts: Mapping[CellRef, CellFact]
) -> tuple[Publication, ...]:
    """The pointer flips. A data version that did not move is confirmed: freshness moves, version and location stay."""
    return tuple(
        Publication(
            cell=report.cell,
            fence=result.fence,
            confirms=facts[report.cell].data_version == report.data_version,
            data_version=report.data_version,
            fingerprint=result.versions[report.cell.asset_id].fingerprint,
            dependency_hash=result.versions[report.cell.asset_id].dependency_hash,
            consumed_digest=result.digests[report.cell],
            location=report.location,
            metadata=report.metadata,
            attempt_id=result.attempt_id,
            run_id=task.run_id,
        )
        for report in publish
        if report.data_version is not None
    )


def published_cells(task: Task, publications: Sequence[Publication]) -> Iterable[TaskCellUpdate]:
    for publication in publications:
        state = CellState.UNCHANGED if publication.confirms else CellState.PUBLISHED
        yield TaskCellUpdate(
            task.id,
            publication.cell,
            state,
            data_version=publication.data_version,
            attempt_id=publication.attempt_id,
        )


def _notes(result: AttemptResult, judgement: Judgement) -> tuple[CellAttempt, ...]:
    if judgement.update.state in WAITING:
        return ()  # nothing was decided about its cells
    outcome = _NOTE.get(result.outcome, "failed")
    skipped = [CellAttempt(c, result.fence, "skipped", result.attempt_id, None) for c in judgement.skipped]
    left = [CellAttempt(c, result.fence, outcome, result.attempt_id, why) for c, why in judgement.left.items()]
    return (*skipped, *left)
