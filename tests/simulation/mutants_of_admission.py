"""Mutants of admission, slots, lanes and the choice of workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.house import QUEUES
from tests.simulation.mutant import Patch, mutant
from tests.simulation.story import WITH_QUEUES

from partita.core.decide import admit as admit_decider
from partita.core.decide import queues as queues_decider
from partita.core.decide import reasons as reasons_decider
from partita.core.decide import shares
from partita.core.decide.transitions import HOLDS_SLOTS
from partita.core.duties import admit as admit_duty
from partita.core.duties import claim as claim_duty
from partita.core.duties import launch as launch_duty
from partita.core.duties import launch_rows, run_limits
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Party, Task, TaskId, Worker

# ---------------------------------------------------------------------------------------------- admission and slots


@mutant("count before lock", theme="crowd")
def _(patch: Patch) -> None:
    """Admission counts what is held in its first transaction and locks the pools in a later one."""
    sets, held = MemoryTx.scheduled_needs, MemoryTx.held_slots
    counted: dict[str, dict[Party, int]] = {}

    def early(tx: MemoryTx) -> Any:
        counted.clear()
        counted.update(held(tx, [row["name"] for row in tx._db.pool]))
        return sets(tx)

    patch.setattr(MemoryTx, "scheduled_needs", early)
    patch.setattr(MemoryTx, "held_slots", lambda tx, names: {name: counted.get(name, {}) for name in names})


@mutant("cap off by one")
def _(patch: Patch) -> None:
    right = admit_decider.admit

    def one_more(queues: Any, slots: Any, held: Any, lanes: Any, **options: Any) -> Any:
        wider = {name: replace(pool, slots=pool.slots + 1) for name, pool in slots.items()}
        return right(queues, wider, held, lanes, **options)

    patch.setattr(admit_duty, "decide", one_more)


@mutant("cap of everything forgotten")
def _(patch: Patch) -> None:
    right = MemoryTx.running_caps
    patch.setattr(MemoryTx, "running_caps", lambda tx: {of: name for of, name in right(tx).items() if of is not None})


@mutant("limit of a run forgotten by what is open")
def _(patch: Patch) -> None:
    """A run that gets a limit later: its tasks are not put in line for it."""
    patch.setattr(run_limits, "_put_in_line", lambda tx, tasks, use: None)


@mutant("limit of a run forgotten by what is active")
def _(patch: Patch) -> None:
    """Only what starts from now on counts for it."""
    right = run_limits._put_in_line
    patch.setattr(
        run_limits,
        "_put_in_line",
        lambda tx, tasks, use: right(tx, [task for task in tasks if task.state not in HOLDS_SLOTS], use),
    )


@mutant("limit of a run forgotten at launch")
def _(patch: Patch) -> None:
    right = launch_rows.tasks_and_edges

    def unlimited(launch: Any, placed: Any, run: Any, limits: Any) -> Any:
        return right(launch, placed, replace(run, limited=False), limits)

    patch.setattr(launch_duty, "tasks_and_edges", unlimited)


@mutant("several slots of a task counted as one")
def _(patch: Patch) -> None:
    def by_rows(tx: MemoryTx, names: Sequence[str]) -> dict[str, dict[Party, int]]:
        rows = {name: tx._db.pool_slot.find("pool", name) for name in names}
        parties = {name: [Party(row["lane"], row["fair_key"]) for row in held] for name, held in rows.items()}
        return {name: dict(Counter(held)) for name, held in parties.items()}

    patch.setattr(MemoryTx, "held_slots", by_rows)


@mutant("only one of several pools counted")
def _(patch: Patch) -> None:
    right = MemoryTx.hold_slots
    patch.setattr(MemoryTx, "hold_slots", lambda tx, uses: right(tx, {one: (one, use) for one, use in uses}.values()))


@mutant("no room kept for a big task")
def _(patch: Patch) -> None:
    patch.setattr(admit_decider._Visit, "reserve", lambda visit, queue, task: None)


# ---------------------------------------------------------------------------------------------- lanes and shares


@mutant("weight of a lane ignored", theme="crowd")
def _(patch: Patch) -> None:
    patch.setattr(shares.Shares, "_weight", lambda self, lane: 1)


@mutant("reserved part ignored", theme="crowd")
def _(patch: Patch) -> None:
    patch.setattr(shares.Shares, "reserved", lambda self, pool, lane: 0)


@mutant("one lane for all")
def _(patch: Patch) -> None:
    patch.setattr(shares.Shares, "standing", lambda self, pools, party: 0)


@mutant("keys of a lane not told apart", theme="crowd")
def _(patch: Patch) -> None:
    right = shares.Shares.standing
    patch.setattr(shares.Shares, "standing", lambda self, pools, party: right(self, pools, party) & 2)


@mutant("age ignored")
def _(patch: Patch) -> None:
    patch.setattr(shares.Shares, "order", lambda _, task: (-task.priority, task.ready_at, task.id))


@mutant("longer chain goes last")
def _(patch: Patch) -> None:
    right = shares.Shares.order

    def by_id(self: shares.Shares, task: Task) -> tuple[int, int, int]:
        minute, chain, number = right(self, task)
        return minute, -chain, number

    patch.setattr(shares.Shares, "order", by_id)


@mutant("priority of a backfill ignored", theme="crowd")
def _(patch: Patch) -> None:
    right = admit_decider.admit

    def of_tasks(*args: Any, **options: Any) -> Any:
        return right(*args, **options | {"priorities": {}})

    patch.setattr(admit_duty, "decide", of_tasks)


@mutant("a reserved pool is shut for one lane only", theme="crowd")
def _(patch: Patch) -> None:
    right = admit_decider._Visit._short

    def of_lane(visit: Any, queue: Any, use: Any) -> Any:
        behind = visit._reserved.get(use.name)
        if behind is None or behind.lane == queue.party.lane:
            return right(visit, queue, use)
        visit._reserved.pop(use.name)
        try:
            return right(visit, queue, use)
        finally:
            visit._reserved[use.name] = behind

    patch.setattr(admit_decider._Visit, "_short", of_lane)


@mutant("a worker starts what was queued first")
def _(patch: Patch) -> None:
    patch.setattr(claim_duty, "choose", lambda tasks, running, lanes, limit, *of: sorted(tasks, key=_by_queued)[:limit])


# ---------------------------------------------------------------------------------------------- queues of workers


@mutant("a claim takes what is queued for any worker", theme=WITH_QUEUES)
def _(patch: Patch) -> None:
    right = MemoryTx.lock_queued_skip
    patch.setattr(MemoryTx, "lock_queued_skip", lambda tx, pins, limit, queues=(): right(tx, pins, limit, QUEUES))


@mutant("admission does not ask who works", theme=WITH_QUEUES)
def _(patch: Patch) -> None:
    patch.setattr(queues_decider.Served, "nobody_takes", lambda served, queue: None)


@mutant("slots are kept for a worker that does not come", theme=WITH_QUEUES)
def _(patch: Patch) -> None:
    patch.setattr(reasons_decider, "_waited_out", lambda task, cause, now: False)


@mutant("slots are taken to wait for workers that are busy", theme=WITH_QUEUES)
def _(patch: Patch) -> None:
    patch.setattr(admit_decider.Places, "shortage", lambda places, queue: None)


@mutant("a worker of another queue counts", theme=WITH_QUEUES)
def _(patch: Patch) -> None:
    patch.setattr(Worker, "serves", lambda worker, queue: True)


def _by_queued(task: Task) -> tuple[Any, int]:
    return (task.queued_at, task.id)


def _leak(patch: Patch, state: str) -> None:
    right = MemoryTx.release_slots

    def forgets(tx: MemoryTx, ids: Sequence[TaskId]) -> None:
        right(tx, [task_id for task_id in ids if tx._db.task.rows[task_id]["state"] != state])

    patch.setattr(MemoryTx, "release_slots", forgets)


@mutant("slot leak on retry")
def _(patch: Patch) -> None:
    _leak(patch, "up_for_retry")


@mutant("slot leak on cancel")
def _(patch: Patch) -> None:
    _leak(patch, "cancelled")
