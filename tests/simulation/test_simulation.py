"""The short form of the simulation, and that its stories meet what they are about. The long form: `make simulate`."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulation.__main__ import what_it_met
from tests.simulation.automation_story import AUTOMATION_THEMES, tell_of_automation
from tests.simulation.crashing import Crash, CrashingStore
from tests.simulation.invariants import check_invariants
from tests.simulation.mutant import MUTANTS
from tests.simulation.mutants import SEEDS, hunt
from tests.simulation.story import THEMES, tell
from tests.unit.duties.duty_world import World, gate, report, step

from partita.core.duties.finish import finish
from partita.core.store.values import AttemptOutcome


@pytest.mark.parametrize("ten", range(2))
def test_whatever_happens_every_law_holds(ten: int) -> None:
    """Laws 2, 3, 5 and 7; S-108, S-112, S-119, S-135, S-153, S-156 over seeded stories."""
    for seed in range(10 * ten, 10 * (ten + 1)):
        tell(seed)


@pytest.mark.parametrize("theme", AUTOMATION_THEMES)
def test_whatever_follows_by_itself_every_law_holds(theme: str) -> None:
    """S-023, S-097, S-105, S-166 … S-176, S-202 … S-206 over seeded stories."""
    tell_of_automation(0, theme=theme)


@given(seed=st.integers(1_000_000, 2**32), steps=st.integers(10, 60))
@settings(max_examples=10)
def test_other_stories_hold_too(seed: int, steps: int) -> None:
    tell(seed, steps)


@pytest.mark.prove
@pytest.mark.parametrize("hundred", range(30))
def test_many_stories_end_right(hundred: int) -> None:
    """Three thousand seeds of twice the length, and a fifth as many of automation."""
    for seed in range(100 * hundred, 100 * (hundred + 1)):
        tell(seed, 120)
        if seed % 5 == 0:
            tell_of_automation(seed, 100)


def test_a_seed_tells_the_same_story_again() -> None:
    first, again = tell(3, 40), tell(3, 40)
    assert first.memory.dump() == again.memory.dump()


@pytest.mark.prove
def test_stories_of_automation_meet_what_they_are_about() -> None:
    met: Counter[str] = Counter()
    for seed, theme in enumerate(3 * AUTOMATION_THEMES):
        met += what_it_met(tell_of_automation(seed, theme=theme))
    for what in ("reports taken in", "keys found", "runs that automation asked for", "runs of a job", "spans of lateness",
                 "days of history that went", "crashes", "outages", "clock jumps", "late reports", "pauses", "evaluations",
                 "requests of evaluations"):  # fmt: skip
        assert met[what] > 0, what


def test_the_stories_meet_what_they_are_about() -> None:
    """Every terminal state, every outcome and every kind of trouble: else the laws say little."""
    met: Counter[str] = Counter()
    outcomes: set[str] = set()
    for seed, theme in enumerate(3 * THEMES):
        story = tell(seed, theme=theme)
        met += what_it_met(story)
        outcomes |= {row["outcome"] for row in story.watch.before["attempt"]}
    missing = {"success", "failed", "upstream_failed", "skipped", "cancelled"} - {
        what.removeprefix("tasks ") for what in met
    }
    assert not missing
    assert {outcome.value for outcome in AttemptOutcome} <= outcomes
    for what in ("crashes", "outages", "clock jumps", "stopped processes", "late reports", "joins", "gates opened",
                 "attempts lost", "wake-ups lost", "wake-ups doubled", "tasks put aside", "deadlines missed",
                 "runs timed out", "tasks removed", "pauses", "cells kept for taking back", "things taken back", "alerts",
                 "notices sent", "notices tried again", "evaluations", "requests of evaluations", "waits that broke",
                 "waits beyond their deadline"):  # fmt: skip
        assert met[what] > 0, what


# Every twelfth in the quick tests, those that few stories catch already; `make mutants` and `make prove` take them all.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if place % 12 == 7 else [pytest.mark.prove]) for place, name in enumerate(MUTANTS)],
)
def test_a_broken_duty_is_noticed(name: str) -> None:
    """The stories are sharp (DESIGN section 8); `make mutants` prints the table."""
    assert hunt(name, range(SEEDS)).seed is not None


@given(seed=st.integers(0, 2**32))
@settings(max_examples=6)
def test_a_crash_at_any_operation_of_a_report_leaves_nothing_half_done(seed: int) -> None:
    """The report is one transaction: it is applied as a whole or can be sent again as if it never was."""
    random = Random(seed)
    world = World()
    world.launch(step(1, partitions=["a", "b"]), gate(0), step(2, 1), step(3, 0))
    result = report(world.start()["s1"], random.choice([AttemptOutcome.SUCCESS, AttemptOutcome.FAILED]))
    for operations in range(40):
        before = world.memory.dump()
        try:
            finish(CrashingStore(world.memory, 0, operations), [result])
        except Crash:
            assert world.memory.dump() == before
            check_invariants(before)
    assert world.finish(result).applied == (result.task_id,)
    check_invariants(world.memory.dump())
