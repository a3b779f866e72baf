"""A task of 12,000 cells reports them in one call: what was made is published in parts, and only the rest is tried again."""

from __future__ import annotations

from collections import Counter

from tests.integration.duties.conftest import PostgresWorld
from tests.unit.duties.duty_world import report, step

from partita.core.duties.retries import wake_retries
from partita.core.duties.values import BATCH_CELLS
from partita.core.duties.values_attempts import CellOutcome
from partita.core.store.values import AttemptOutcome

CELLS = 12_000


def test_only_the_failed_part_of_twelve_thousand_cells_is_tried_again(world: PostgresWorld) -> None:
    partitions = [f"p{n:05}" for n in range(CELLS)]
    bad = set(partitions[5::3000])
    world.launch(step(1, partitions=partitions, retries=2))
    [claimed] = world.start().values()
    assert len(claimed.cells) == CELLS > BATCH_CELLS
    kinds = {
        own.cell: CellOutcome.FAILED if own.cell.partition in bad else CellOutcome.WRITTEN for own in claimed.cells
    }
    world.finish(report(claimed, AttemptOutcome.FAILED, kinds=kinds, error="four of them"))
    assert _states(world) == {"published": CELLS - len(bad), "pending": len(bad)}
    assert world.of_step("s1")["state"] == "up_for_retry"

    world.skip_waits()
    wake_retries(world.store)
    [again] = world.start().values()
    assert {own.cell.partition for own in again.cells} == bad, "a retry carries only the cells not yet published"
    world.finish(report(again))
    assert _states(world) == {"published": CELLS}
    once = Counter(row["partition"] for row in world.rows("event") if row["kind"] == "materialized")
    assert len(once) == CELLS
    assert set(once.values()) == {1}, "nothing is published twice"


def _states(world: PostgresWorld) -> Counter[str]:
    return Counter(row["state"] for row in world.rows("task_cell"))
