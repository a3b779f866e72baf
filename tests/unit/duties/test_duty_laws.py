"""Laws of the duties: random graphs, random outcomes, random interleavings, crashes between any two steps (`story`)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.unit.duties.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import World, cell, gate, report, step
from tests.unit.duties.invariants import check_invariants
from tests.unit.duties.story import tell

from partita.core.duties.finish import finish
from partita.core.store.values import AttemptOutcome


@given(seed=st.integers(0, 2**32), steps=st.integers(10, 60))
@settings(max_examples=40)
def test_whatever_happens_every_run_ends_right(seed: int, steps: int) -> None:
    """Laws 2 and 3, S-108, S-112, S-119, S-135 over random stories."""
    story = tell(seed, steps)
    note(f"{story.crashes} crashes, {len(story.world.rows('task'))} tasks")


@pytest.mark.prove
@pytest.mark.parametrize("hundred", range(30))
def test_many_stories_end_right(hundred: int) -> None:
    """The long form: three thousand seeds; run one again with `tell(seed, 120)`."""
    for seed in range(100 * hundred, 100 * (hundred + 1)):
        try:
            tell(seed, 120)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


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


def test_the_stories_meet_what_they_are_about() -> None:
    """The generator reaches every terminal state, joins, gates, crashes, refusals and losses: else the law says little."""
    states: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    causes = gates = crashes = 0
    for seed in range(25):
        story = tell(seed, 50)
        causes += len(story.world.rows("cell_cause"))
        states.update(row["state"] for row in story.world.rows("task"))
        outcomes.update(row["outcome"] for row in story.world.rows("attempt"))
        gates += sum(row["kind"] == "gate" and row["state"] == "success" for row in story.world.rows("task"))
        crashes += story.crashes
    assert {"success", "failed", "upstream_failed", "skipped", "cancelled"} <= set(states)
    assert {outcome.value for outcome in AttemptOutcome} <= set(outcomes)
    assert min(causes, gates, crashes, cell(1).asset_id) > 0
