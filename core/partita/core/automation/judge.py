"""Automation's decision about one partition of a step: does its condition hold? Pure, given what was read.

`view` says what the words of its condition hold of it. Changed code or dependencies alone never ask: automation does not
recompute history (DESIGN section 5), unless the condition or `on_code_change="rebuild"` says so. What only waits
for an upstream that is being made is decided again when that ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from partita.assets import EAGER, READY, CellSpec, JoinSpec, NodeSpec, condition_of, digest_of_inputs, hash64
from partita.assets.condition_specs import NewlySpec, SinceSpec, TickSpec
from partita.assets.conditions import Part, came_at, explain, holds, nodes_of, text_of
from partita.assets.digest import MASK64
from partita.core.automation.view import Consumer, StepView, World
from partita.core.catalog import Catalog, StepKey
from partita.core.duties.values_attempts import ResolvedInputs
from partita.core.planner.values import Reason
from partita.core.store.values import CellFact, CellRef


class Verdict(StrEnum):
    """What becomes of one partition of a consumer's step."""

    ASK = "ask"
    REST = "rest"  # its condition does not hold
    WAIT = "wait"  # it would, but an upstream is under way: decided again when that ends


@dataclass(frozen=True, slots=True)
class Judged:
    """`reason` of what is asked for. `state` identifies what the inputs hold now, with the tick and the code where they count:
    once per state is asked."""

    verdict: Verdict
    state: int = 0
    reason: Reason = Reason.MISSING
    tree: Part | None = None
    """Of what is asked for: what of its condition holds."""


def judge(consumer: Consumer, resolved: ResolvedInputs, world: World) -> Judged:
    """Decide one partition."""
    view = StepView(consumer, resolved, world)
    if holds(consumer.condition, view):
        tree = explain(consumer.condition, view)
        return Judged(Verdict.ASK, _state(consumer, resolved, world.facts, view), view.reason, tree)
    if view.heeds_progress and holds(consumer.condition, StepView(consumer, resolved, world, settled=True)):
        return Judged(Verdict.WAIT)
    return Judged(Verdict.REST)


def tree_of(consumer: Consumer, resolved: ResolvedInputs, world: World) -> Part:
    """The whole condition with what holds of it."""
    return explain(consumer.condition, StepView(consumer, resolved, world))


def _state(consumer: Consumer, resolved: ResolvedInputs, facts: Mapping[CellRef, CellFact], view: StepView) -> int:
    """What the inputs hold, with the fences: an upstream that goes back to an old version is a new cause. Where changed code or
    a tick asks, or that something came to hold, it is a part of it; of changed code also what it is to replace: code that goes
    back to what it was is a new cause, too."""
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
    causes = [
        hash64("tick", tick.isoformat())
        for one in nodes_of(consumer.condition)
        if isinstance(one, TickSpec) and (tick := consumer.times.last_tick(one.cron, one.tz)) is not None
    ]
    causes += [
        hash64("came", text_of(one), at.isoformat())
        for one in nodes_of(consumer.condition)
        if isinstance(one, NewlySpec | SinceSpec) and (at := came_at(one.of, view)) is not None
    ]
    if consumer.by_code:
        causes += [
            hash64("code", str(cell.asset_id), *resolved.versions[cell.asset_id], view.replaced(cell))
            for cell in consumer.cells
        ]
    return (inputs + sum(causes)) & MASK64


def _held(fact: CellFact) -> int:
    return hash64("state", fact.cell.partition, fact.data_version or "", fact.fence)


# ------------------------------------------------------------------ which condition

CODE_TOO = JoinSpec(op="all", of=(CellSpec(is_="code_changed"), READY), label='on_code_change="rebuild"')


def condition_of_step(catalog: Catalog, step: StepKey) -> NodeSpec:
    """What asks for a step: the condition of any of its members. A step that nobody automates is judged as an eager one: people
    approve what was held, and its code may ask."""
    found = [one for asset in catalog.steps[step] if (one := condition_of(asset.spec.automation)) is not None]
    by_code = rebuilds(catalog, step)
    if len(found) == 1 and not by_code:
        return found[0]
    return _joined(tuple(dict.fromkeys(found)), by_code)


@lru_cache(maxsize=16_384)
def _joined(conditions: tuple[NodeSpec, ...], by_code: bool) -> NodeSpec:
    condition = JoinSpec(op="any", of=conditions) if len(conditions) > 1 else next(iter(conditions), EAGER)
    return JoinSpec(op="any", of=(condition, CODE_TOO)) if by_code else condition


def rebuilds(catalog: Catalog, step: StepKey) -> bool:
    return any(asset.spec.on_code_change == "rebuild" for asset in catalog.steps[step])
