"""How long a plan may take: its tasks with the mean durations of earlier attempts, simulated for 1 … n slots. Pure.

Without earlier attempts there is no estimate. The numbers of slots are powers of two up to the most that would ever run at
once; a large plan is simulated for fewer of them, and a very large one not at all: its work shared out evenly comes close
enough, and a preview stays quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from partita.assets import PartitionSet
from partita.core.catalog import Catalog, StepKey
from partita.core.planner.estimate_values import CriticalPart, Estimate, SlotTime, StepTime
from partita.core.planner.longest import OnChain, longest_chain
from partita.core.planner.pools import pool_demand
from partita.core.planner.simulate import Work, critical_path, simulate
from partita.core.planner.tasks import PlanTask, plan_tasks
from partita.core.planner.values import Plan, PlannedStep

SIMULATED_TASKS = 30_000
"""About so many tasks are simulated for one estimate, all numbers of slots together."""
EVEN_ABOVE_TASKS = 50_000
"""A plan of more tasks is not simulated."""
Load = Sequence[tuple[Work, int]]
"""Tasks that are alike, by themselves, with how many of them there are."""


@dataclass(frozen=True, slots=True)
class Durations:
    """The mean duration of the earlier attempts of a step, in seconds, and how many there were."""

    mean_s: float
    n: int


def estimate(
    plan: Plan, catalog: Catalog, history: Mapping[StepKey, Durations], *, slots: int, pools: Mapping[str, int]
) -> Estimate | None:
    """The estimate of a plan with `slots` at once now (0: no worker is up); None when none of its steps ever ran."""
    times = _times(plan, history)
    if not any(one.n for one in times.values()):
        return None
    load = [(_work(step, catalog, times), len(step.batches)) for step in plan.steps]
    whole = all(len(parts) == 1 for parts in plan.by_step().values())
    if plan.task_count > EVEN_ABOVE_TASKS and whole:  # then no task becomes an object
        chain, critical_s = longest_chain(plan, catalog, {step: one.mean_s for step, one in times.items()})
        by_slots = shared_out(load, slots, pools, critical_s)
    else:
        tasks = plan_tasks(plan, catalog)
        work = _works(tasks, plan, load)
        path, critical_s = critical_path(work)
        chain = [OnChain(one.step, one.assets, one.cells) for at in path if (one := tasks[at]).step is not None]
        even = plan.task_count > EVEN_ABOVE_TASKS
        by_slots = shared_out(load, slots, pools, critical_s) if even else _by_slots(work, slots, pools)
    found = Estimate(
        makespan_s=0.0,
        critical_s=critical_s,
        critical=tuple(_parts(chain, times)),
        by_slots=by_slots,
        steps=tuple(times.values()),
        slots=slots,
        bound_pool=_bound_pool(load, pools, critical_s),
    )
    return replace(found, makespan_s=found.at(max(1, slots)))


def slot_counts(most: int, slots: int, tasks: int) -> list[int]:
    """The numbers of slots to simulate between 1 and `most`, rising: powers of two and `slots`; fewer for many tasks.

    >>> slot_counts(20, 6, tasks=22)
    [1, 2, 4, 6, 8, 16, 20]
    >>> slot_counts(3000, 6, tasks=20_000)
    [1, 6, 3000]
    """
    wanted = {min(max(slots, 1), most), most}
    powers = [1 << bit for bit in range(most.bit_length()) if 1 << bit < most]
    room = max(1, SIMULATED_TASKS // max(1, tasks))
    every = max(1, -(-len(powers) // room))
    return sorted(wanted | {1} | set(powers[::every]))


def _by_slots(work: Sequence[Work], slots: int, pools: Mapping[str, int]) -> tuple[SlotTime, ...]:
    unlimited = simulate(work, len(work), pools)
    most = unlimited.most_at_once
    # With one slot tasks run one after the other, with `most` or more the pools alone hold them back.
    known = {1: sum(one.duration_s for one in work), most: unlimited.makespan_s}
    counts = slot_counts(most, slots, len(work))
    return tuple(SlotTime(n, known[n] if n in known else simulate(work, n, pools).makespan_s) for n in counts)


def shared_out(load: Load, slots: int, pools: Mapping[str, int], floor_s: float) -> tuple[SlotTime, ...]:
    """As if tasks could be cut at will: the longest of the chain, the work of a pool over its slots, all work over all."""
    total_s = sum(one.duration_s * times for one, times in load)
    busiest_s = max((busy_s for busy_s in _busy(load, pools).values()), default=0.0)
    most = max(1, ceil(total_s / max(floor_s, busiest_s)) if total_s else 1)
    return tuple(SlotTime(n, max(floor_s, busiest_s, total_s / n)) for n in slot_counts(most, slots, 1))


def _busy(load: Load, pools: Mapping[str, int]) -> dict[str, float]:
    """How many seconds each pool needs when it is never idle."""
    busy: dict[str, float] = {}
    for one, times in load:
        for name, n in one.pools:
            if pools.get(name):
                busy[name] = busy.get(name, 0.0) + times * one.duration_s * min(n, pools[name]) / pools[name]
    return busy


def _times(plan: Plan, history: Mapping[StepKey, Durations]) -> dict[StepKey, StepTime]:
    known = [history[step.step] for step in plan.steps if step.step in history]
    total = sum(one.n for one in known)
    mean_s = sum(one.mean_s * one.n for one in known) / total if total else 0.0
    missing = Durations(mean_s, 0)
    return {
        step.step: StepTime(step.step, one.mean_s, one.n)
        for step in plan.steps
        for one in (history.get(step.step, missing),)
    }


def _work(step: PlannedStep, catalog: Catalog, times: Mapping[StepKey, StepTime]) -> Work:
    """One task of a step, by itself."""
    return Work(times[step.step].mean_s, (), pool_demand(catalog.assets[key].spec for key in step.assets))


def _works(tasks: Sequence[PlanTask], plan: Plan, load: Load) -> list[Work]:
    """The tasks with what they wait for; a gate takes neither time nor a slot."""
    alone = {(step.step, step.assets): work for step, (work, _) in zip(plan.steps, load, strict=True)}
    gate = Work(0.0, slot=False)
    return [
        replace(gate if task.step is None else alone[task.step, task.assets], upstream=task.upstream) for task in tasks
    ]


def _bound_pool(load: Load, pools: Mapping[str, int], critical_s: float) -> str | None:
    """The pool whose work takes longest, when that is longer than the chain."""
    busy = _busy(load, pools)
    longest = max(busy, key=lambda name: busy[name], default=None)
    return longest if longest is not None and busy[longest] > critical_s else None


def _parts(chain: Sequence[OnChain], times: Mapping[StepKey, StepTime]) -> Iterator[CriticalPart]:
    """The chain with tasks of one step in a row as one."""
    for step, run in groupby(chain, key=lambda task: task.step):
        tasks = list(run)
        cells = PartitionSet.from_ranges(one for task in tasks for one in task.cells.ranges)
        yield CriticalPart(tasks[0].assets, cells, len(tasks), times[step].mean_s * len(tasks))
