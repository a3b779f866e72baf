"""Reports of attempts: publication, the next state of their tasks, and the release of dependents, all in one commit.

Many reports share a transaction (group commit): their worker acknowledges only after it. A report that does not hold the
task's live fence is refused and changes nothing. Publication is a pointer flip: the cells are locked after the tasks,
their fences compared, the cells pointed at the new versions, the events recorded and the dependents released together, or
none of it: a crash at any statement leaves the attempt running, and its report may simply be sent again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from partita.assets import PartitaError
from partita.assets.partitions.dynamic import legal_keys
from partita.core.collecting import collector_rests
from partita.core.decide import finish as decide
from partita.core.decide.signals import check_signal
from partita.core.decide.waits import wait_of
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Beyond, Written, follow, write
from partita.core.duties.dynamic import add_keys_in
from partita.core.duties.gates import open_gates
from partita.core.duties.values import AUTOMATION, BATCH_CELLS, BATCH_TASKS
from partita.core.duties.values_attempts import AttemptResult, CellResult, Finished, PartPublished, Refused
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    WAITING,
    AttemptEnd,
    AttemptOutcome,
    CellFact,
    CellRef,
    CheckRow,
    NewEvent,
    Publication,
    Task,
    TaskCell,
    TaskId,
    TaskState,
)
from partita.core.store.values_alerts import NewSignal
from partita.core.store.values_fan_out import FanOut


class _Superseded(Exception):
    """Cells of these tasks are held by a later fence (a roll-back, a mark): the attempts are lost. Rolls back."""

    def __init__(self, tasks: frozenset[TaskId]) -> None:
        super().__init__(f"a later fence holds cells of tasks {sorted(tasks)}")
        self.tasks = tasks


class _CannotAdd(Exception):
    """The scheme does not take the keys that this task's attempt adds: the attempt failed. Rolls back."""

    def __init__(self, task_id: TaskId, why: str) -> None:
        super().__init__(why)
        self.task_id = task_id


@dataclass(slots=True)
class _Total:
    applied: list[TaskId] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    written: Written = field(default_factory=Written)

    def finished(self) -> Finished:
        written = self.written
        return Finished(
            tuple(self.applied), tuple(self.refused), written.ready, written.todo, channels=written.channels()
        )


@dataclass(frozen=True, slots=True)
class _Step:
    applied: tuple[TaskId, ...]
    refused: tuple[Refused, ...]
    written: Written


def finish(store: Store, results: Sequence[AttemptResult]) -> Finished:
    """Applies reports in durable transactions of up to 500 tasks and 1,000 cells, and opens the gates that they release."""
    total = _Total()
    work = deque((batch, False) for batch in _batches(store, results))
    while work:
        batch, whole = work.popleft()
        try:
            with collector_rests():
                step = store.run(partial(_finish, results=batch, whole=whole))
        except Beyond as beyond:
            # Those that reach further (failures, skips) go by themselves with their closures locked; the rest, which is
            # nearly always nearly all, stays cheap.
            rest = [result for result in batch if result.task_id not in beyond.origins]
            work.extendleft(
                [([r for r in batch if r.task_id in beyond.origins], True), *([(rest, False)] if rest else [])]
            )
            continue
        except _CannotAdd as refused:
            work.appendleft(([_failed_to_add(r, refused) if r.task_id == refused.task_id else r for r in batch], whole))
            continue
        except _Superseded as superseded:
            work.appendleft(([_as_lost(r) if r.task_id in superseded.tasks else r for r in batch], whole))
            continue
        total.applied += step.applied
        total.refused += step.refused
        total.written = total.written.plus(step.written)
    if total.written.gates:
        gates = open_gates(store)
        total.written = total.written.plus(Written(ready=gates.released, events=bool(gates.tasks)))
    return total.finished()


def _batches(store: Store, results: Sequence[AttemptResult]) -> Iterator[list[AttemptResult]]:
    batch: list[AttemptResult] = []
    tasks: set[TaskId] = set()
    cells = 0
    for result in results:
        rest = _publish_surplus(store, result)
        full = len(batch) == BATCH_TASKS or cells + len(rest.cells) > BATCH_CELLS
        # A second report on one task is judged after the first has been written.
        # One that adds keys goes by itself: it holds the lock of all keys until it commits.
        if batch and (full or rest.task_id in tasks or rest.added or batch[-1].added):
            yield batch
            batch, tasks, cells = [], set(), 0
        batch.append(rest)
        tasks.add(rest.task_id)
        cells += len(rest.cells)
    if batch:
        yield batch


def _publish_surplus(store: Store, result: AttemptResult) -> AttemptResult:
    """Publishes the cells of a report that is too big for one transaction in parts; whole partitions, so whole groups."""
    if len(result.cells) <= BATCH_CELLS:
        return result
    *parts, last = _parts(result)
    kept: list[CellResult] = []
    for part in parts:
        done = publish_part(store, part)
        if done.refused is not None:
            return _as_lost(result)  # or refused as a whole, when the attempt was given up
        published = set(done.cells)
        # What was published is no longer pending; what was not keeps its report for the judgement.
        kept += [cell for cell in part.cells if cell.cell not in published]
    return result._replace(cells=(*kept, *last.cells))


def _parts(result: AttemptResult) -> Iterator[AttemptResult]:
    by_partition: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(result.cells):
        by_partition[cell.cell.partition].append(index)
    part: list[int] = []
    for indexes in by_partition.values():
        if part and len(part) + len(indexes) > BATCH_CELLS:
            yield result._replace(cells=tuple(result.cells[i] for i in part))
            part = []
        part += indexes
    yield result._replace(cells=tuple(result.cells[i] for i in part))


def _as_lost(result: AttemptResult) -> AttemptResult:
    why = "a later fence holds one of its cells: what it wrote is not published"
    return result._replace(outcome=AttemptOutcome.LOST, cells=(), checks=(), error=why)


def _failed_to_add(result: AttemptResult, why: _CannotAdd) -> AttemptResult:
    return result._replace(outcome=AttemptOutcome.FAILED_FOR_GOOD, cells=(), checks=(), added=(), error=str(why))


def _finish(tx: Tx, *, results: Sequence[AttemptResult], whole: bool) -> _Step:
    now = tx.now()
    if any(result.added for result in results):
        tx.lock_keys_revision()  # before the tasks: it is the first of all locks (ADR 10)
    locked = {task.id: task for task in tx.lock_tasks([result.task_id for result in results])}
    live, refused = _live(locked, results)
    if not live:
        return _Step((), refused, Written())
    cells: dict[TaskId, list[TaskCell]] = defaultdict(list)
    for own in tx.task_cells([task.id for task, _ in live]):
        cells[own.task_id].append(own)

    judged = [(task, result, decide.judge(task, cells[task.id], result, now)) for task, result in live]
    added = [_add_keys(tx, task, result) for task, result, j in judged if j.update.state is TaskState.SUCCESS]
    # Of a task whose run goes on over the keys that it found nobody hears before the tasks over them are there (`run_fan_outs`).
    fan_outs = [one.owed for one in added if one.owed is not None]
    owing = {one.task_id for one in fan_outs}
    settlement = follow(tx, [(task, j.update) for task, _, j in judged if task.id not in owing], whole=whole, now=now)
    facts = tx.lock_cells(sorted(report.cell for _, _, j in judged for report in j.publish))
    _compare_fences(judged, facts)

    concluded = [(task, result, decide.conclude(task, cells[task.id], result, j, facts)) for task, result, j in judged]
    publications = [p for _, _, c in concluded for p in c.publications]
    tx.publish_cells(publications)
    tx.note_attempts([note for _, _, c in concluded for note in c.notes])
    tx.end_attempts([_attempt_end(result, c) for _, result, c in concluded])
    tx.insert_checks([row for _, result, _ in concluded for row in _checks(result)])
    tx.append_signals([signal for task, result, _ in concluded for signal in _check_signals(task, result)])
    tx.put_waits(
        wait_of(task, result.deferral)
        for task, result, c in concluded
        if c.update.state in WAITING and result.deferral is not None
    )
    written = write(
        tx,
        [(task, c.update) for task, _, c in concluded],
        settlement,
        cells=[update for _, _, c in concluded for update in c.cells],
        told=[task.id for task, _, _ in concluded],
        events=[_published_event(task, result, p) for task, result, c in concluded for p in c.publications],
        untold=owing,
    )
    for one in fan_outs:
        tx.put_fan_out(one)
    if any(one.new for one in added):
        written = written.plus(Written(todo=True, events=True))
    return _Step(tuple(task.id for task, _ in live), refused, written)


@dataclass(frozen=True, slots=True)
class _Added:
    """Whether keys of an attempt were new, and what its task owes the run for them."""

    new: bool
    owed: FanOut | None


def _add_keys(tx: Tx, task: Task, result: AttemptResult) -> _Added:
    """The keys that the attempt adds exist from the commit that ends its task: once, for a report is written once."""
    new, revision = False, 0
    mapped: dict[str, tuple[str, ...]] = {}
    for added in result.added:
        try:
            wanted = legal_keys(added.definition, added.keys)
            changed = add_keys_in(tx, added.definition, wanted, task.step, None, {}, added.followers)
        except PartitaError as refused:
            raise _CannotAdd(task.id, str(refused)) from refused
        new, revision = new or changed.added > 0, changed.revision
        if changed.new and added.mapped:
            mapped[added.definition.name] = changed.new
    return _Added(new, FanOut(task.id, task.run_id, mapped, revision) if mapped else None)


def _live(
    locked: dict[TaskId, Task], results: Sequence[AttemptResult]
) -> tuple[list[tuple[Task, AttemptResult]], tuple[Refused, ...]]:
    live: list[tuple[Task, AttemptResult]] = []
    refused: list[Refused] = []
    for result in results:
        task = locked.get(result.task_id)
        why = decide.refusal(task, result)
        if why is not None or task is None:
            refused.append(Refused(result.task_id, result.attempt_id, why or "there is no such task"))
        else:
            live.append((task, result))
    return live, tuple(refused)


def _compare_fences(
    judged: Sequence[tuple[Task, AttemptResult, decide.Judgement]], facts: dict[CellRef, CellFact]
) -> None:
    late = frozenset(
        task.id
        for task, result, judgement in judged
        if any(facts[report.cell].fence != result.fence for report in judgement.publish)
    )
    if late:
        raise _Superseded(late)


def _attempt_end(result: AttemptResult, concluded: decide.Conclusion) -> AttemptEnd:
    outcome = result.outcome
    if outcome in (AttemptOutcome.SUCCESS, AttemptOutcome.SKIPPED) and not _ended_well(concluded.update.state):
        outcome = AttemptOutcome.FAILED  # it believed that it ended well, and did not make what it had to
    error = result.error or concluded.update.error
    return AttemptEnd(result.attempt_id, outcome, error, result.traceback, result.usage)


def _ended_well(state: TaskState) -> bool:
    return state in (TaskState.SUCCESS, TaskState.SKIPPED)


def _checks(result: AttemptResult) -> Iterator[CheckRow]:
    for check in result.checks:
        yield CheckRow(result.attempt_id, check.cell, check.name, check.passed, check.blocking, check.detail)


def _check_signals(task: Task, result: AttemptResult) -> Iterator[NewSignal]:
    for check in result.checks:
        if not check.passed:
            yield check_signal(check.cell, check.name, check.blocking, task)


def _published_event(task: Task, result: AttemptResult, publication: Publication) -> NewEvent:
    """What the event stream shows of a publication; one that moved a version is work for the automation consumer.

    A confirmation changes no digest of a consumer: waking its automation would only find nothing to do.
    """
    wakes = publication.cell.asset_id in result.automation_assets and not publication.confirms
    return NewEvent(
        "materialized",
        asset_id=publication.cell.asset_id,
        partition=publication.cell.partition,
        run_id=task.run_id,
        task_id=task.id,
        body={
            "data_version": publication.data_version,
            "confirmed": publication.confirms,
            "attempt": result.attempt_id,
        },
        for_consumers=(AUTOMATION,) if wakes else (),
    )


def publish_part(store: Store, result: AttemptResult) -> PartPublished:
    """Publishes the written cells of a long batch while its attempt goes on. `result.outcome` is not looked at.

    At most 1,000 cells: more is refused by a ValueError. Cells that are flawed or whose atomic group is not whole yet are
    passed over; the final report decides about them.
    """
    if len(result.cells) > BATCH_CELLS:
        raise ValueError(f"task {result.task_id}: a part of {len(result.cells)} cells; at most {BATCH_CELLS} at once")
    return store.run(partial(_publish_part, result=result))


def _publish_part(tx: Tx, *, result: AttemptResult) -> PartPublished:
    task = next(iter(tx.lock_tasks([result.task_id])), None)
    why = decide.refusal(task, result)
    if why is not None or task is None:
        return PartPublished(refused=Refused(result.task_id, result.attempt_id, why or "there is no such task"))
    publish = decide.publishable(task, tx.task_cells([task.id]), result)
    facts = tx.lock_cells(sorted(report.cell for report in publish))
    if any(fact.fence != result.fence for fact in facts.values()):
        return PartPublished(refused=Refused(task.id, result.attempt_id, "a later fence holds one of its cells"))
    publications = decide.publications_of(task, result, publish, facts)
    tx.publish_cells(publications)
    tx.write_task_cells(list(decide.published_cells(task, publications)))
    tx.insert_checks(list(_checks(result)))
    tx.append_signals(list(_check_signals(task, result)))
    events = [_published_event(task, result, publication) for publication in publications]
    tx.append_events(events)
    todo = any(event.for_consumers for event in events)
    channels = (Channel.EVENT, Channel.TODO) if todo else (Channel.EVENT,)
    return PartPublished(tuple(p.cell for p in publications), channels=channels if publications else ())
