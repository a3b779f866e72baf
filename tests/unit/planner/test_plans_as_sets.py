"""Plans hold sets: their sequences say what tuples would, their hash is that of plain JSON, and no cell is an object."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import Hourly, PartitionSet
from partita.core.planner.encode import _asset_json, _batches_json, _json
from partita.core.planner.sequences import OneEach, Runs, between, compact, task_of_each

CELLS = st.sets(st.integers(0, 60), min_size=1).map(PartitionSet.from_ordinals)


@given(cells=CELLS, at=st.integers(-80, 80))
def test_a_task_for_each_cell_is_a_sequence_of_single_cells(cells: PartitionSet, at: int) -> None:
    each = OneEach(cells)
    plain = tuple(PartitionSet(((one, one + 1),)) for one in cells)
    assert tuple(each) == plain
    assert len(each) == len(plain)
    assert each == compact(plain)
    if -len(plain) <= at < len(plain):
        assert each[at] == plain[at]
    assert tuple(each[2:5]) == plain[2:5]
    assert between(each, 1, 4) == between(plain, 1, 4)
    assert task_of_each(each, len(plain)).tolist() == task_of_each(plain, len(plain)).tolist()


@given(values=st.lists(st.integers(0, 2), min_size=1))
def test_runs_are_a_sequence_of_their_values(values: list[int]) -> None:
    runs = Runs.of(values)
    assert list(runs) == values
    assert Runs.of_array(np.array(values)) == runs
    assert [runs[at] for at in range(-len(values), len(values))] == values + values
    assert runs[1:3] == values[1:3]
    assert len(runs) == len(values)


def test_the_hash_is_that_of_the_plan_as_json(world: Any, asset_of: Any) -> None:
    """Written set by set, it is the same text: plans that are stored keep their hash."""
    hours = Hourly("2024-01-01")
    made = world([asset_of("a", hours, step='made "so" ä'), asset_of("b", hours, {"a": (hours, None)})])
    made.run("a", str(made.catalog.space(made.catalog.asset("a").key, made.as_of).key_at(5)))
    found = made.plan()
    content = {
        "request": {name: value for name, value in found.request.to_json().items() if name != "by"},
        "snapshots": [list(pair) for pair in found.snapshots],
        "assets": [_asset_json(asset) for asset in found.assets],
        "batches": [[step.step.id, _batches_json(step)] for step in found.steps],
    }
    assert found.hash == sha256(_json(content)).hexdigest()
    assert json.loads(_json(content))["batches"][0] == ['made "so" ä', {"single": [[0, 5], [6, 336]]}]


def test_cells_by_the_hundred_thousand_are_a_few_sets(world: Any, asset_of: Any) -> None:
    """A task for each of 70,000 hours over three assets: what the plan holds does not grow with them."""
    hours = Hourly("2016-01-01")
    made = world(
        [asset_of("a", hours), asset_of("b", hours, {"a": (hours, None)}), asset_of("c", hours, {"b": (hours, None)})]
    )
    found = made.plan()
    assert found.task_count == found.cell_count == 3 * made.catalog.space(made.catalog.asset("a").key, made.as_of).size
    for step in found.steps:
        assert isinstance(step.batches, OneEach)
        assert step.batches.cells.runs == len(step.waves.runs) == len(step.conditional.runs) == 1
    assert [len(wave) for wave in found.cells_by_wave()] == [1, 1, 1]
