"""The duty loop: on the period, at once when woken, and no duty takes the others with it (S-126)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from partita.core.runtime.duties import Duty, DutyLoop
from partita.core.runtime.wake import WakeHub
from partita.core.store.port import Unavailable

WAIT_S = 60
NEVER_S = 3600.0


def loop_of(*duties: Duty) -> tuple[DutyLoop, WakeHub]:
    hub = WakeHub("never connected")
    return DutyLoop("test", duties, hub), hub


def test_a_wake_up_runs_its_duty_and_no_other() -> None:
    ran: dict[str, threading.Event] = {"a": threading.Event(), "b": threading.Event()}

    def run(name: str) -> bool:
        ran[name].set()
        return False

    loop, hub = loop_of(
        Duty("a", lambda: run("a"), NEVER_S, ("partita_a",)), Duty("b", lambda: run("b"), NEVER_S, ("partita_b",))
    )
    loop.start()
    try:
        assert ran["a"].wait(WAIT_S)
        assert ran["b"].wait(WAIT_S)
        ran["a"].clear()
        ran["b"].clear()
        hub.wake_here(["partita_a"])
        assert ran["a"].wait(WAIT_S)
        assert not ran["b"].is_set()
    finally:
        loop.stop()


def test_more_work_means_another_turn_at_once() -> None:
    left = [3]
    done = threading.Event()

    def run() -> bool:
        left[0] -= 1
        if left[0] == 0:
            done.set()
        return left[0] > 0

    loop, _ = loop_of(Duty("a", run, NEVER_S))
    loop.start()
    assert done.wait(WAIT_S)
    loop.stop()
    assert left == [0]


@pytest.mark.parametrize("error", [Unavailable("gone"), ValueError("a bug")])
def test_a_failing_duty_is_tried_again_and_the_others_go_on(error: Exception) -> None:
    failures = [0]
    recovered, other = threading.Event(), threading.Event()

    def failing() -> bool:
        failures[0] += 1
        if failures[0] == 1:
            raise error
        recovered.set()
        return False

    def fine() -> bool:
        other.set()
        return False

    loop, _ = loop_of(Duty("failing", failing, NEVER_S), Duty("fine", fine, NEVER_S))
    loop.start()
    try:
        assert other.wait(WAIT_S)
        assert recovered.wait(WAIT_S)
    finally:
        loop.stop()


def test_a_duty_that_keeps_failing_says_so_and_pauses_longer() -> None:
    """A bug does not go away by asking again every second; what the database cannot answer is asked every second."""
    pauses: dict[str, list[float]] = {"bug": [], "away": []}

    def raising(error: Exception) -> Callable[[], bool]:
        def run() -> bool:
            raise error

        return run

    duties = [
        Duty("bug", raising(ValueError("first\nsecond")), NEVER_S),
        Duty("away", raising(Unavailable("gone")), NEVER_S),
    ]
    loop = DutyLoop("test", duties, WakeHub("never connected"), clock=lambda: 0.0)
    for _ in range(8):
        for duty in duties:
            loop._perform(duty)
            pauses[duty.name].append(duty.due_at)
    assert pauses == {"bug": [1, 2, 4, 8, 16, 32, 60, 60], "away": [1] * 8}
    assert loop.failing == {
        "bug": (8, "it will be tried again: first"),
        "away": (8, "the database does not answer: gone"),
    }
    duties[0].run = lambda: False
    loop._perform(duties[0])
    assert loop.failing.keys() == {"away"}


def test_turns_on_a_clock_of_the_callers() -> None:
    """Without a thread: what is due now runs once, and the answer is when to come again."""
    now = [0.0]
    ran: list[str] = []

    def run(name: str, *, more: bool) -> Callable[[], bool]:
        def noted() -> bool:
            ran.append(name)
            return more

        return noted

    hub = WakeHub("never connected")
    duties = [
        Duty("often", run("often", more=False), 1.0),
        Duty("woken", run("woken", more=False), NEVER_S, ("partita_a",), gap_s=0.5),
    ]
    loop = DutyLoop("test", duties, hub, clock=lambda: now[0])
    assert loop.turn() == 1.0
    assert ran == ["often", "woken"]
    hub.wake_here(["partita_a"])
    assert loop.turn() == 0.5
    assert ran == ["often", "woken"], "it waits for the rest of its gap"
    now[0] = 1.0
    loop.turn()
    assert ran == ["often", "woken", "often", "woken"]
