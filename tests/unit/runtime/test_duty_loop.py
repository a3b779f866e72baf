"""The duty loop: on the period, at once when woken, and no duty takes the others with it (S-126)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise

import pytest

from partita.core.runtime.duties import Duty, DutyLoop, Next, Ran
from partita.core.runtime.wake import WakeHub
from partita.core.store.port import Unavailable

WAIT_S = 60
NEVER_S = 3600.0


def loop_of(*duties: Duty) -> tuple[DutyLoop, WakeHub]:
    hub = WakeHub("never connected")
    return DutyLoop("test", duties, hub), hub


def test_a_wake_up_runs_its_duty_and_no_other() -> None:
    """S-138."""
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


def test_a_loop_stands_back_from_what_another_does_and_comes_forward_when_it_meets_nobody() -> None:
    """Two schedulers that both take whatever comes take half as much in as many visits; wake-ups do not shorten the pause."""
    now, ran = [0.0], []
    held, later = Next.HELD, Next.LATER
    answers = [held] * 5 + [later] * 3 + [later] * 3 + [held]
    hub = WakeHub("never connected")

    def run() -> Ran:
        ran.append(now[0])
        return Ran(answers[len(ran) - 1], rows=2)

    duty = Duty("a", run, NEVER_S, ("partita_a",), shared=True)
    loop = DutyLoop("test", [duty], hub, clock=lambda: now[0])
    while len(ran) < len(answers):
        loop.turn()
        hub.wake_here(["partita_a"])
        now[0] += 0.125  # exact in binary
    pauses = [late - early for early, late in pairwise(ran)]
    assert pauses[:5] == [0.125, 0.25, 0.5, 0.875, 0.875], "0.1, 0.2, 0.4, 0.8 and 0.8 s"
    assert pauses[5:] == [0.875, 0.875, 0.5, 0.5, 0.5, 0.25], "0.8 s for three visits, then 0.4, then 0.2"
    assert (loop.done["a"].runs, loop.done["a"].rows, loop.done["a"].held) == (12, 24, 6)


def test_what_others_do_not_share_waits_for_nobody() -> None:
    now: list[float] = [0.0]
    ran: list[str] = []
    hub = WakeHub("never connected")

    def shared() -> Ran:
        return Ran(Next.HELD)

    def own() -> bool:
        ran.append("own")
        return False

    duties = [Duty("a", shared, NEVER_S, ("partita_a",), shared=True), Duty("b", own, NEVER_S, ("partita_a",))]
    loop = DutyLoop("test", duties, hub, clock=lambda: now[0])
    for _ in range(4):
        loop.turn()
        hub.wake_here(["partita_a"])
    assert (len(ran), loop.done["a"].runs) == (4, 1)
