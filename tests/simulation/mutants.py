"""Named ways to break production code, each of which the stories must notice (DESIGN section 8).

A mutant patches production code only: deciders, duties, the duty loop, the operations of the store. The laws, the stories
and the naive readings that judge them stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from tests.simulation.moves import Broken
from tests.simulation.story import tell

from partita.core.decide import admit as admit_decider
from partita.core.decide import finish as finish_decider
from partita.core.decide import lapse as lapse_decider
from partita.core.decide import retry as retry_decider
from partita.core.decide import rules
from partita.core.decide import settle as settle_decider
from partita.core.decide.cancel import cancel
from partita.core.decide.transitions import Actor
from partita.core.duties import admit as admit_duty
from partita.core.duties import consequences
from partita.core.duties import runs as runs_duty
from partita.core.duties.values import Channel
from partita.core.runtime import coordination
from partita.core.store.memory.base import task_of
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Task, TaskId, TaskState, TaskUpdate, TodoEvent

Patch = pytest.MonkeyPatch
SEEDS = 200
MUTANTS: dict[str, Callable[[Patch], None]] = {}


def _mutant(name: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def named(patch: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[name] = patch
        return patch

    return named


# ---------------------------------------------------------------------------------------------- fences and publication


@_mutant("no fence check at finish")
def _(patch: Patch) -> None:
    patch.setattr(finish_decider, "refusal", lambda task, result: None if task else "unknown")


@_mutant("fence not raised at claim")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "raise_fences", lambda self, cells, fences: None)


@_mutant("published cells carried into a retry")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "write_task_cells", lambda self, updates: None)


@_mutant("terminal row rewritten")
def _(patch: Patch) -> None:
    """Cancelling a run takes what has ended along."""
    matches, right = MemoryTx._matches, cancel

    def any_task(tx: MemoryTx, run_id: int) -> list[Task]:
        return [task_of(row) for row in tx._db.task.find("run", run_id)]

    def careless(task: Task, now: Any) -> TaskUpdate | None:
        return TaskUpdate.of(task, TaskState.CANCELLED, finished_at=now) if task.state.terminal else right(task, now)

    patch.setattr(MemoryTx, "lock_open_tasks_of_run", any_task)
    patch.setattr(runs_duty, "cancel", careless)
    patch.setattr(MemoryTx, "_matches", lambda tx, update: update.expect_state.terminal or matches(tx, update))


# ---------------------------------------------------------------------------------------------- readiness


@_mutant("lost decrement")
def _(patch: Patch) -> None:
    right = settle_decider.settle
    patch.setattr(consequences, "settle", lambda ended, edges, below, **o: right(ended, list(edges)[1:], below, **o))


@_mutant("double decrement")
def _(patch: Patch) -> None:
    right = settle_decider.settle
    patch.setattr(consequences, "settle", lambda ended, edges, below, **o: right(ended, 2 * list(edges), below, **o))


@_mutant("failure not followed down")
def _(patch: Patch) -> None:
    right = settle_decider.settle

    def direct_only(*args: Any, **options: Any) -> Any:
        return replace(right(*args, **options), beyond=frozenset())

    patch.setattr(consequences, "settle", direct_only)


@_mutant("skip counted as success")
def _(patch: Patch) -> None:
    patch.setattr(settle_decider, "_counts_as_skip", lambda end, task: False)


@_mutant("early rule waits for all")
def _(patch: Patch) -> None:
    right = rules.RULES["one_success"]
    patch.setitem(rules.RULES, "one_success", lambda t: rules.Verdict.WAIT if t.waiting else right(t))


@_mutant("early rule heeds late ends")
def _(patch: Patch) -> None:
    right = MemoryTx.lock_dependents

    def started_too(tx: MemoryTx, ids: Sequence[TaskId], *, closure: bool) -> list[Task]:
        below = {row["downstream_id"] for task_id in ids for row in tx._db.task_edge.find("upstream", task_id)}
        started = [task for task in tx.lock_tasks(sorted(below)) if task.state is TaskState.SCHEDULED]
        return [*right(tx, ids, closure=closure), *started]

    patch.setattr(MemoryTx, "lock_dependents", started_too)


@_mutant("gate opened twice")
def _(patch: Patch) -> None:
    right = MemoryTx.lock_scheduled_skip

    def opened_too(tx: MemoryTx, pool_set: Any, limit: int) -> list[Task]:
        found = right(tx, pool_set, limit)
        if pool_set or not found:
            return found
        return [*found, *(task_of(row) for row in tx._db.task.find("state", "success") if row["kind"] == "gate")]

    patch.setattr(MemoryTx, "lock_scheduled_skip", opened_too)


# ---------------------------------------------------------------------------------------------- admission and slots


@_mutant("count before lock")
def _(patch: Patch) -> None:
    """Admission counts what is held in its first transaction and locks the pools in a later one."""
    sets, held = MemoryTx.scheduled_pool_sets, MemoryTx.held_slots
    counted: dict[str, int] = {}

    def early(tx: MemoryTx) -> Any:
        counted.clear()
        counted.update(held(tx, [row["name"] for row in tx._db.pool]))
        return sets(tx)

    patch.setattr(MemoryTx, "scheduled_pool_sets", early)
    patch.setattr(MemoryTx, "held_slots", lambda tx, names: {name: counted.get(name, 0) for name in names})


@_mutant("cap off by one")
def _(patch: Patch) -> None:
    right = admit_decider.admit

    def one_more(queues: Any, slots: Any, held: Any, **options: Any) -> Any:
        wider = {name: replace(pool, slots=pool.slots + 1) for name, pool in slots.items()}
        return right(queues, wider, held, **options)

    patch.setattr(admit_duty, "decide", one_more)


@_mutant("no room kept for a big task")
def _(patch: Patch) -> None:
    patch.setattr(admit_decider, "_reserve", lambda task, slots, free, reserved: None)


def _leak(patch: Patch, state: str) -> None:
    right = MemoryTx.release_slots

    def forgets(tx: MemoryTx, ids: Sequence[TaskId]) -> None:
        right(tx, [task_id for task_id in ids if tx._db.task.rows[task_id]["state"] != state])

    patch.setattr(MemoryTx, "release_slots", forgets)


@_mutant("slot leak on retry")
def _(patch: Patch) -> None:
    _leak(patch, "up_for_retry")


@_mutant("slot leak on cancel")
def _(patch: Patch) -> None:
    _leak(patch, "cancelled")


# ---------------------------------------------------------------------------------------------- leases and retries


@_mutant("lease off by one")
def _(patch: Patch) -> None:
    """A worker is judged one second before its lease ends."""
    right = MemoryTx.lock_lapsed_workers_skip

    def early(tx: MemoryTx, limit: int) -> Any:
        now, tx._now = tx._now, tx._now + timedelta(seconds=1)
        try:
            return right(tx, limit)
        finally:
            tx._now = now

    patch.setattr(MemoryTx, "lock_lapsed_workers_skip", early)


@_mutant("outage taken for the workers' death")
def _(patch: Patch) -> None:
    patch.setattr(lapse_decider, "pulse", lambda last_ok, now: lapse_decider.Pulse(0.0))


@_mutant("lapsed lease not swept")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "lock_tasks_of_workers", lambda tx, workers: [])


@_mutant("infrastructure loss consumes a retry")
def _(patch: Patch) -> None:
    right = retry_decider._again

    def dear(task: Task, now: Any, by: Actor, wait_s: float, **changes: Any) -> TaskUpdate:
        if "infra_losses" in changes and task.user_failures < task.retry.max_retries:
            changes["user_failures"] = task.user_failures + 1
        return right(task, now, by, wait_s, **changes)

    patch.setattr(retry_decider, "_again", dear)


@_mutant("one retry too many")
def _(patch: Patch) -> None:
    right = retry_decider.after_failure

    def generous(task: Task, now: Any, **options: Any) -> Any:
        kinder = replace(task, retry=replace(task.retry, max_retries=task.retry.max_retries + 1))
        return right(kinder, now, **options)

    patch.setattr(retry_decider, "after_failure", generous)


@_mutant("retry comes early")
def _(patch: Patch) -> None:
    def at_once(tx: MemoryTx, limit: int) -> list[Task]:
        return [task_of(row) for row in tx._db.task.find("state", "up_for_retry")][:limit]

    patch.setattr(MemoryTx, "lock_due_retries_skip", at_once)


@_mutant("cancel leaves what has not started")
def _(patch: Patch) -> None:
    patch.setattr(runs_duty, "cancel", lambda task, now: None)


# ---------------------------------------------------------------------------------------------- owners, events, runs


@_mutant("owner kept after the end")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "close_cells", lambda tx, ids: None)


@_mutant("joined owner not recorded")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "insert_causes", lambda tx, causes: None)


@_mutant("cursor over event ids")
def _(patch: Patch) -> None:
    """A consumer remembers the last id that it took, and looks only above it."""
    right = MemoryTx.take_todo_skip
    cursor: dict[tuple[int, str], int] = {}

    def above(tx: MemoryTx, consumer: str, limit: int) -> list[TodoEvent]:
        last = cursor.get((id(tx._db), consumer), 0)
        events = right(tx, consumer, 1_000_000)
        new = [event for event in events if event.event_id > last]
        tx.put_back_todo(consumer, [event for event in events if event not in new[:limit]])
        if new:
            cursor[id(tx._db), consumer] = max(event.event_id for event in new[:limit])
        return new[:limit]

    patch.setattr(MemoryTx, "take_todo_skip", above)


@_mutant("event that must wait is dropped")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "put_back_todo", lambda tx, consumer, events: None)


@_mutant("event taken and kept")
def _(patch: Patch) -> None:
    right = MemoryTx.take_todo_skip

    def keeps(tx: MemoryTx, consumer: str, limit: int) -> list[TodoEvent]:
        events = right(tx, consumer, limit)
        tx.put_back_todo(consumer, events[:1])
        return events

    patch.setattr(MemoryTx, "take_todo_skip", keeps)


@_mutant("tallies folded twice")
def _(patch: Patch) -> None:
    right = MemoryTx.take_tallies

    def keeps(tx: MemoryTx, limit: int) -> Any:
        rows = tx._db.run_tally.sorted_rows()[:limit]
        taken = right(tx, limit)
        for row in rows:
            tx._db.run_tally.put(row)
        return taken

    patch.setattr(MemoryTx, "take_tallies", keeps)


@_mutant("notify only")
def _(patch: Patch) -> None:
    """No poll for what wake-ups tell: one that is lost is never made up for. (What time alone makes due is still seen.)"""
    right = coordination.Coordination._look

    def deaf(duties: coordination.Coordination) -> bool:
        hub = duties._hub
        duties._hub = _ByTimeAlone(hub)
        try:
            return right(duties)
        finally:
            duties._hub = hub

    patch.setattr(coordination, "FLOOR_S", float("inf"))
    patch.setattr(coordination.Coordination, "_look", deaf)


@dataclass(frozen=True, slots=True)
class _ByTimeAlone:
    """A hub that is silent on the channels of other processes."""

    hub: coordination.Waker

    def wake(self, channels: Iterable[str], /) -> None:
        self.hub.wake(channels)

    def wake_here(self, channels: Iterable[str], /) -> None:
        self.hub.wake_here(channel for channel in channels if channel not in set(Channel))


# ---------------------------------------------------------------------------------------------- the proof


@dataclass(frozen=True, slots=True)
class Caught:
    name: str
    seed: int | None
    """None: it survived."""
    law: str


def hunt(name: str, seeds: Iterable[int] = range(SEEDS)) -> Caught:
    """The first seed whose story notices the mutant, and the law that it broke."""
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            MUTANTS[name](patch)
            try:
                tell(seed)
            except Broken as broken:
                return Caught(name, seed, broken.law)
    return Caught(name, None, "survived")


def main() -> int:
    """`make mutants`: mutant, the seed that caught it, the law; exit code 1 when one survives."""
    survivors = 0
    print(f"{'mutant':<40}{'seed':>5}  law")
    for name in MUTANTS:
        caught = hunt(name)
        survivors += caught.seed is None
        print(f"{name:<40}{'-' if caught.seed is None else caught.seed:>5}  {caught.law}", flush=True)
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} were caught within {SEEDS} seeds")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
