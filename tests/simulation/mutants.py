"""Named ways to break production code, each of which the stories must notice (DESIGN section 8).

A mutant patches production code only: deciders, duties, the duty loop, the operations of the store. The laws, the stories
and the naive readings that judge them stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.simulation import mutants_by_hand as by_hand
from tests.simulation import mutants_of_admission as of_admission
from tests.simulation import mutants_of_alerts as of_alerts
from tests.simulation import mutants_of_automation as of_automation
from tests.simulation import mutants_of_leases as of_leases
from tests.simulation import mutants_of_waits as of_waits
from tests.simulation.mutant import MUTANTS, SHOWN_BY, Patch, mutant
from tests.simulation.story import tell
from tests.simulation.telling import tell_any
from tests.simulation.watching import Broken

from partita.core.decide import deadlines as deadlines_decider
from partita.core.decide import finish as finish_decider
from partita.core.decide import rules
from partita.core.decide import settle as settle_decider
from partita.core.decide import stranded as stranded_decider
from partita.core.decide.cancel import cancel
from partita.core.duties import consequences
from partita.core.duties import deadlines as deadlines_duty
from partita.core.duties import run_timeouts as timeouts_duty
from partita.core.duties import runs as runs_duty
from partita.core.duties import stranded as stranded_duty
from partita.core.duties.channels import Channel
from partita.core.runtime import coordination
from partita.core.store.memory.base import task_of
from partita.core.store.memory.runs import run_of
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Run, Task, TaskId, TaskState, TaskUpdate, TodoEvent
from partita.core.store.values_deadlines import DueDeadline

SEEDS = 200
MODULES = (
    of_admission,
    of_leases,
    of_waits,
    by_hand,
    of_alerts,
    of_automation,
)  # more of them register when they are imported


# ---------------------------------------------------------------------------------------------- fences and publication


@mutant("no fence check at finish")
def _(patch: Patch) -> None:
    patch.setattr(finish_decider, "refusal", lambda task, result: None if task else "unknown")


@mutant("fence not raised at claim")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "raise_fences", lambda self, cells, fences: None)


@mutant("published cells carried into a retry")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "write_task_cells", lambda self, updates: None)


@mutant("terminal row rewritten")
def _(patch: Patch) -> None:
    """Cancelling a run takes what has ended along."""
    matches, right = MemoryTx._matches, cancel

    def any_task(tx: MemoryTx, run_id: int, **_: Any) -> list[Task]:
        return [task_of(row) for row in tx._db.task.find("run", run_id)]

    def careless(task: Task, now: Any) -> TaskUpdate | None:
        return TaskUpdate.of(task, TaskState.CANCELLED, finished_at=now) if task.state.terminal else right(task, now)

    patch.setattr(MemoryTx, "lock_open_tasks_of_run", any_task)
    patch.setattr(runs_duty, "cancel", careless)
    patch.setattr(MemoryTx, "_matches", lambda tx, update: update.expect_state.terminal or matches(tx, update))


# ---------------------------------------------------------------------------------------------- readiness


@mutant("lost decrement")
def _(patch: Patch) -> None:
    right = settle_decider.settle
    patch.setattr(consequences, "settle", lambda ended, edges, below, **o: right(ended, list(edges)[1:], below, **o))


@mutant("double decrement")
def _(patch: Patch) -> None:
    right = settle_decider.settle
    patch.setattr(consequences, "settle", lambda ended, edges, below, **o: right(ended, 2 * list(edges), below, **o))


@mutant("failure not followed down")
def _(patch: Patch) -> None:
    right = settle_decider.settle

    def direct_only(*args: Any, **options: Any) -> Any:
        return replace(right(*args, **options), beyond=frozenset())

    patch.setattr(consequences, "settle", direct_only)


@mutant("skip counted as success")
def _(patch: Patch) -> None:
    patch.setattr(settle_decider, "_counts_as_skip", lambda end, task: False)


@mutant("skip of an owner elsewhere counted as own past")
def _(patch: Patch) -> None:
    patch.setattr(
        settle_decider,
        "_counts_as_skip",
        lambda end, task: end.state is TaskState.SKIPPED and not (end.kind == "step" and end.step == task.step),
    )


@mutant("early rule waits for all")
def _(patch: Patch) -> None:
    right = rules.RULES["one_success"]
    patch.setitem(rules.RULES, "one_success", lambda t: rules.Verdict.WAIT if t.waiting else right(t))


@mutant("early rule heeds late ends")
def _(patch: Patch) -> None:
    right = MemoryTx.lock_dependents

    def started_too(tx: MemoryTx, ids: Sequence[TaskId], *, closure: bool) -> list[Task]:
        below = {row["downstream_id"] for task_id in ids for row in tx._db.task_edge.find("upstream", task_id)}
        started = [task for task in tx.lock_tasks(sorted(below)) if task.state is TaskState.SCHEDULED]
        return [*right(tx, ids, closure=closure), *started]

    patch.setattr(MemoryTx, "lock_dependents", started_too)


@mutant("gate opened twice")
def _(patch: Patch) -> None:
    right = MemoryTx.lock_open_gates_skip

    def opened_too(tx: MemoryTx, limit: int) -> list[Task]:
        found = right(tx, limit)
        if not found:
            return found
        return [*found, *(task_of(row) for row in tx._db.task.find("state", "success") if row["kind"] == "gate")]

    patch.setattr(MemoryTx, "lock_open_gates_skip", opened_too)


# ---------------------------------------------------------------------------------------------- owners, events, runs


@mutant("owner kept after the end")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "close_cells", lambda tx, ids: None)


@mutant("joined owner not recorded")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "insert_causes", lambda tx, causes: None)


@mutant("cursor over event ids")
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


@mutant("event that must wait is dropped")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "put_back_todo", lambda tx, consumer, events: None)


@mutant("event taken and kept")
def _(patch: Patch) -> None:
    right = MemoryTx.take_todo_skip

    def keeps(tx: MemoryTx, consumer: str, limit: int) -> list[TodoEvent]:
        events = right(tx, consumer, limit)
        tx.put_back_todo(consumer, events[:1])
        return events

    patch.setattr(MemoryTx, "take_todo_skip", keeps)


@mutant("tallies folded twice")
def _(patch: Patch) -> None:
    right = MemoryTx.take_tallies

    def keeps(tx: MemoryTx, limit: int) -> Any:
        rows = tx._db.run_tally.sorted_rows()[:limit]
        taken = right(tx, limit)
        for row in rows:
            tx._db.run_tally.put(row)
        return taken

    patch.setattr(MemoryTx, "take_tallies", keeps)


@mutant("notify only")
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


@mutant("run timeout stops nothing")
def _(patch: Patch) -> None:
    """The run is marked, and its tasks go on as if nothing were."""
    patch.setattr(timeouts_duty, "cancel", lambda task, now, *, error: None)


@mutant("run timed out before its time")
def _(patch: Patch) -> None:
    def any_run(tx: MemoryTx, limit: int) -> list[Run]:
        return [run_of(row) for row in tx._db.run.find("state", "running") if row["timed_out_at"] is None][:limit]

    patch.setattr(MemoryTx, "lock_overdue_runs_skip", any_run)


@mutant("version given up at once", theme="versions")
def _(patch: Patch) -> None:
    right = stranded_decider.is_given_up
    patch.setattr(stranded_duty, "is_given_up", lambda one, servers, now, grace_s: right(one, servers, now, 0.0))


@mutant("version that is served given up", theme="versions")
def _(patch: Patch) -> None:
    """It came back, and nobody took the note away that it was gone."""
    patch.setattr(MemoryTx, "_serve", lambda tx, server_id: None)
    patch.setattr(stranded_duty, "is_given_up", lambda one, servers, now, grace_s: True)


@mutant("removed and not planned again", theme="versions")
def _(patch: Patch) -> None:
    patch.setattr(stranded_duty, "_asked_again", lambda one, unmade: [])


@mutant("deadline told again")
def _(patch: Patch) -> None:
    """The row of a miss is not marked: whoever looks next tells it again."""
    right = MemoryTx.end_deadlines
    patch.setattr(MemoryTx, "end_deadlines", lambda tx, met, missed: right(tx, met, ()))


@mutant("deadline judged by the last publication alone")
def _(patch: Patch) -> None:
    """What a cell held before it was asked for counts as made."""
    right = deadlines_decider.verdict

    def easy(deadline: DueDeadline) -> deadlines_decider.Verdict:
        return deadlines_decider.Verdict.MET if deadline.made_at is not None else right(deadline)

    patch.setattr(deadlines_duty, "verdict", easy)


# ---------------------------------------------------------------------------------------------- the proof


@dataclass(frozen=True, slots=True)
class Caught:
    name: str
    seed: int | None
    """None: it survived."""
    law: str


def hunt(name: str, seeds: Iterable[int] = range(SEEDS)) -> Caught:
    """The first seed whose story notices the mutant, and the law that it broke. The rare are hunted in stories of a theme."""
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            MUTANTS[name](patch)
            try:
                theme = SHOWN_BY.get(name)
                if theme is None:
                    tell(seed)
                else:
                    tell_any(seed, theme=theme)
            except Broken as broken:
                if isinstance(broken.__cause__, TypeError):
                    raise  # the mutant does not fit what it patches any more
                return Caught(name, seed, broken.law)
    return Caught(name, None, "survived")


def main() -> int:
    """`make mutants`: mutant, the seed that caught it, the law; exit code 1 when one survives."""
    survivors = 0
    print(f"{'mutant':<52}{'seed':>5}  {'theme':<13}law")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        for name, caught in zip(MUTANTS, pool.map(hunt, MUTANTS), strict=True):
            survivors += caught.seed is None
            seed = "-" if caught.seed is None else caught.seed
            print(f"{name:<52}{seed:>5}  {SHOWN_BY.get(name, ''):<13}{caught.law}", flush=True)
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} were caught within {SEEDS} seeds")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
