"""Mutants of waits and evaluations: tokens, deadlines, cells, leases, cursors and ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.simulation.mutant import Patch, mutant

from partita.core.automation import evaluating
from partita.core.decide import answers as answers_decider
from partita.core.decide import evaluators as evaluators_decider
from partita.core.decide import waits as waits_decider
from partita.core.decide.evaluators import Due
from partita.core.decide.waits import Broken, Fired
from partita.core.duties import waits as waits_duty
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Task
from partita.core.store.values_evaluators import AskedState, EvaluatorUpdate
from partita.core.store.values_waits import Wait

# ---------------------------------------------------------------------------------------------- waits


@mutant("token of a wait not checked", theme="waits")
def _(patch: Patch) -> None:
    """Whatever came at this place counts, also when it was seen in an earlier stint."""
    right = waits_decider.report

    def careless(task: Task, waits: Sequence[Wait], reports: Sequence[Fired | Broken], now: datetime) -> Any:
        live = {(wait.key.task_id, wait.key.place): wait.key for wait in waits}
        known = [replace(one, key=live.get((one.key.task_id, one.key.place), one.key)) for one in reports]
        return right(task, waits, known, now)

    patch.setattr(waits_duty, "report", careless)


@mutant("deadline of a wait ignored")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "lock_overdue_skip", lambda tx, limit: [])


@mutant("wait given up before its deadline")
def _(patch: Patch) -> None:
    right = waits_decider.expire

    def hasty(task: Task, waits: Sequence[Wait], now: datetime) -> Any:
        return right(task, [replace(one, deadline_at=now) for one in waits], now)

    patch.setattr(waits_duty, "expire", hasty)
    patch.setattr(
        MemoryTx, "lock_overdue_skip", lambda tx, limit: tx._that_wait({row["task_id"] for row in tx._open()})
    )


@mutant("any cell ends a wait for a newer one", theme="waits")
def _(patch: Patch) -> None:
    right = MemoryTx._version_met
    patch.setattr(MemoryTx, "_version_met", lambda tx, row: right(tx, row | {"newer": False}))


@mutant("waits of a triggerer that is gone stay with it", theme="waits")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "release_waits", lambda tx, triggerers: 0)


@mutant("one event ends all waits of a task")
def _(patch: Patch) -> None:
    right = waits_decider.report

    def eager(task: Task, waits: Sequence[Wait], reports: Sequence[Fired | Broken], now: datetime) -> Any:
        first = next((one for one in reports if isinstance(one, Fired)), None)
        more = [] if first is None else [Fired(one.key, first.payload) for one in waits if one.key != first.key]
        return right(task, waits, [*reports, *more], now)

    patch.setattr(waits_duty, "report", eager)


@mutant("answer to what was not shown", theme="waits")
def _(patch: Patch) -> None:
    """A person's word counts for whatever is asked by then."""
    right = answers_decider._questions

    def any_question(task: Any, waits: Sequence[Wait], given: Any) -> Any:
        return right(task, waits, replace(given, shown={one.key for one in answers_decider.asked(waits)}))

    patch.setattr(answers_decider, "_questions", any_question)


# ---------------------------------------------------------------------------------------------- evaluations


@mutant("cursor committed without its requests")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "insert_asked", lambda tx, asked: len(asked))


@mutant("requests committed without the cursor")
def _(patch: Patch) -> None:
    right = MemoryTx.write_evaluator

    def forgets(tx: MemoryTx, update: EvaluatorUpdate) -> None:
        row = tx._db.evaluator.rows[update.id]
        right(tx, replace(update, cursor=row["cursor"]))

    patch.setattr(MemoryTx, "write_evaluator", forgets)


@mutant("evaluation not fenced")
def _(patch: Patch) -> None:
    """Whoever is told late that its evaluation ended, after another one, counts too."""
    patch.setattr(evaluating, "_ours", lambda now, begun: True)


@mutant("evaluator of a triggerer that is gone stays with it")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "release_evaluators", lambda tx, triggerers: 0)


@mutant("tick passed over")
def _(patch: Patch) -> None:
    """After an evaluation the next tick is counted from now."""
    right = evaluators_decider.due_after

    def from_now(spec: Any, now: datetime, *, tick: datetime | None = None) -> Due:
        return right(spec, now)

    patch.setattr(evaluating, "due_after", from_now)


@mutant("request taken and left open")
def _(patch: Patch) -> None:
    right = MemoryTx.end_asked

    def leaves(tx: MemoryTx, updates: Any) -> None:
        right(tx, [replace(one, state=AskedState.OPEN, until=tx._now) for one in updates])

    patch.setattr(MemoryTx, "end_asked", leaves)
