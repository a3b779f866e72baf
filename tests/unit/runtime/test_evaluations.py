"""Evaluations under way: whatever hangs, the others are evaluated when they are due (S-174)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import count

import pytest
from tests.unit.automation.test_evaluating import World

from partita.assets import EvaluatorSpec
from partita.core.automation.evaluating import Begun, Broke, Came, begin, conclude
from partita.core.runtime.evaluations import (
    AT_ONCE,
    FAILING_AT_ONCE,
    MOST_AT_ONCE,
    SLOW_AFTER_S,
    Running,
    rooms,
)
from partita.core.store.values_evaluators import EvaluatorId
from partita.core.store.values_waits import TriggererId

EVERY_S = 30.0
LIMIT_S = 60.0


def sensor(name: str) -> EvaluatorSpec:
    return EvaluatorSpec(name=name, kind="sensor", function=f"m:{name}", every_s=EVERY_S, timeout_s=LIMIT_S)


@dataclass
class UnderWay:
    begun: Begun
    running: Running


@pytest.mark.parametrize("hanging", [80, 150])
def test_one_sensor_beside_many_that_hang_is_evaluated_when_it_is_due(hanging: int) -> None:
    """A quarter of an hour, a visit a second, as the triggerer's; each that hangs is ended by its time limit, and tried again."""
    names = [f"hangs {n}" for n in range(hanging)]
    world = World(*map(sensor, names), sensor("good"))
    under_way: list[UnderWay] = []
    late_s: list[float] = []
    failing_at_once, at_once = 0, 0
    for now_s in range(900):
        for one in [one for one in under_way if now_s - one.running.began_s >= LIMIT_S]:
            under_way.remove(one)
            conclude(world.store, world, one.begun, Broke("it took longer than its time limit"))
        for _ in count():
            room, failing = rooms([one.running for one in under_way], now_s)
            held = [one.running.id for one in under_way]
            taken = begin(world.store, world, TriggererId("t1"), world.pins, room, running=held, failing=failing)
            for begun in taken:
                if begun.evaluator.name == "good":
                    assert begun.evaluator.due_at is not None
                    late_s.append((world.clock.now - begun.evaluator.due_at).total_seconds())
                    conclude(world.store, world, begun, Came({"cursor": None}))
                else:
                    running = Running(begun.evaluator.id, begun.evaluator.failures > 0, now_s)
                    under_way.append(UnderWay(begun, running))
            if not taken:
                break
        failing_at_once = max(failing_at_once, sum(one.running.failing for one in under_way))
        at_once = max(at_once, len(under_way))
        world.clock.now += timedelta(seconds=1)
    assert len(late_s) >= 900 / (EVERY_S + 2 * SLOW_AFTER_S)
    assert max(late_s) <= hanging / AT_ONCE * SLOW_AFTER_S, (
        "it waits until those that began with it count as slow, once"
    )
    assert max(late_s[1:]) <= 1, "and for nothing later"
    assert failing_at_once == FAILING_AT_ONCE
    assert at_once <= MOST_AT_ONCE


def test_slow_ones_leave_their_places_but_not_without_end() -> None:
    slow = [Running(EvaluatorId(n), False, 0.0) for n in range(MOST_AT_ONCE - 3)]
    assert rooms(slow, SLOW_AFTER_S - 1)[0] < 0
    assert rooms(slow[:AT_ONCE], SLOW_AFTER_S)[0] > 0
    assert rooms(slow, SLOW_AFTER_S)[0] == 3
