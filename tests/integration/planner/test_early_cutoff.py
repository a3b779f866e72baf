"""Early cutoff: a cell that was planned only because an input may change costs no attempt when none did (DESIGN section 5).

Random graphs, batches and code changes against a brute force that asks cell by cell; and the stories, on both stores.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.integration.planner.conftest import Stage, spec

from partita.assets import (
    All,
    AnyBatchSpec,
    BatchSpec,
    Daily,
    EagerSpec,
    Mapping,
    PartitionsDef,
    PartitionSet,
    SingleBatchSpec,
    Static,
    TimeOverlap,
    UpToBatchSpec,
    upstream_of,
)
from partita.core.store.memory import MemoryStore
from partita.core.store.values import CellState, TaskCell

DAYS = Daily("2024-01-01", end="2024-01-05")
LETTERS = Static("a", "b", "c")
NAMES = ("p", "q", "r", "s", "t")
BATCHES: list[BatchSpec] = [SingleBatchSpec(), UpToBatchSpec(n=2), AnyBatchSpec()]
Cell = tuple[str, str]


class Shape(NamedTuple):
    """A graph whose first assets were made; then the code of some changes, and the cells of some come out otherwise."""

    partitions: list[PartitionsDef | None]
    inputs: list[dict[int, Mapping | None]]
    grouped: list[bool]
    batches: list[BatchSpec]
    made: list[int]
    changed: list[bool]
    moves: list[bool]
    forced: list[int]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    n = draw(st.integers(2, 5))
    partitions: list[PartitionsDef | None] = [draw(st.sampled_from([None, DAYS, LETTERS])) for _ in range(n)]
    inputs: list[dict[int, Mapping | None]] = []
    for index in range(n):
        above: dict[int, Mapping | None] = {}
        for up in range(index):
            if draw(st.booleans()):
                days = partitions[index] == partitions[up] == DAYS
                above[up] = draw(st.sampled_from([None, All(), TimeOverlap(-1, 0, edge="clip")] if days else [None]))
        if partitions[index] == DAYS and draw(st.integers(0, 3)) == 0:
            above[index] = TimeOverlap(-1, -1)
        inputs.append(above)
    return Shape(
        partitions,
        inputs,
        [draw(st.booleans()) for _ in range(n)],
        [draw(st.sampled_from(BATCHES)) for _ in range(n)],
        draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True)),
        [draw(st.booleans()) for _ in range(n)],
        draw(st.lists(st.booleans(), min_size=8, max_size=8)),
        draw(st.lists(st.integers(0, n - 1), max_size=1)),
    )


def _specs(shape: Shape, *, changed: bool) -> list[Any]:
    """Two neighbours with equal partitions, of which the second reads nothing of the first, may be one atomic group."""
    found: list[Any] = []
    for index, scheme in enumerate(shape.partitions):
        inputs = {NAMES[up]: (shape.partitions[up], mapping) for up, mapping in shape.inputs[index].items()}
        alone = index == 0 or index - 1 in shape.inputs[index] or shape.partitions[index - 1] != scheme
        joins = not alone and shape.grouped[index] and found[-1].step == NAMES[index - 1]
        found.append(
            spec(
                NAMES[index],
                scheme,
                inputs,
                step=NAMES[index - 1] if joins else NAMES[index],
                code="2" if changed and shape.changed[index] else "1",
                batch=shape.batches[index - 1 if joins else index],
            )
        )
    return found


class Brute:
    """The same question with dictionaries: in the order of the graph, a cell is made unless it may be left and holds just what
    its inputs hold."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.stage, self.shape = stage, shape
        self.versions: dict[Cell, str] = {}
        self.consumed: dict[Cell, Any] = {}
        self.code: dict[Cell, str] = {}
        self.now = datetime.now(UTC)

    def needs(self, cell: Cell) -> list[Cell]:
        asset = self.stage.catalog.asset(cell[0])
        space = self.stage.catalog.space(asset.key, self.now)
        at = space.ordinal_of(cell[1])
        found: list[Cell] = []
        for one in asset.inputs:
            up = self.stage.catalog.space(one.upstream, self.now)
            mapped = upstream_of(one.mapping, down=space, up=up, cells=PartitionSet(((at, at + 1),)))
            found += [(one.upstream, str(up.key_at(u))) for u in mapped.existing]
        return found

    def holds(self, cell: Cell) -> Any:
        return [(up, self.versions.get(up)) for up in self.needs(cell)]

    def order(self, cells: set[Cell]) -> list[Cell]:
        ranks = {str(key): rank for rank, key in enumerate(self.stage.catalog.graph.order)}
        return sorted(cells, key=lambda cell: (ranks[cell[0]], cell[1]))

    def make(self, cell: Cell, version: str) -> None:
        self.versions[cell], self.consumed[cell] = version, self.holds(cell)
        self.code[cell] = self.stage.catalog.asset(cell[0]).spec.fingerprint

    def settled(self, cell: Cell) -> bool:
        fingerprint = self.stage.catalog.asset(cell[0]).spec.fingerprint
        return cell in self.versions and self.consumed[cell] == self.holds(cell) and self.code[cell] == fingerprint

    def run(self, planned: dict[Cell, bool], version: Any) -> set[Cell]:
        """The cells that get an attempt, of these with whether each may be left; a group's partition goes together."""
        ran: set[Cell] = set()
        steps = {str(asset.key): asset.step.id for asset in self.stage.catalog.assets.values()}
        seen: set[tuple[str, str]] = set()
        for cell in self.order(set(planned)):
            group = [one for one in planned if steps[one[0]] == steps[cell[0]] and one[1] == cell[1]]
            if (steps[cell[0]], cell[1]) in seen:
                continue
            seen.add((steps[cell[0]], cell[1]))
            if all(planned[one] and self.settled(one) for one in group):
                continue
            ran.update(group)
            for one in self.order(set(group)):
                self.make(one, version(*one))
        return ran


def _planned(stage: Stage, launched: Any) -> list[TaskCell]:
    with stage.store.begin() as tx:
        return tx.task_cells(launched.task_ids)


def _name(stage: Stage, own: TaskCell) -> Cell:
    return str(stage.catalog.by_id[own.cell.asset_id].key), own.cell.partition


@given(shape=shapes())
@settings(max_examples=150, deadline=None)
def test_attempts_are_those_of_the_brute_force(shape: Shape) -> None:
    """Whatever is batched, grouped or reads itself: no attempt too many, none too few, and the rest is `unchanged`."""
    stage = Stage(MemoryStore(lambda: datetime.now(UTC)))
    stage.define(_specs(shape, changed=False))
    brute = Brute(stage, shape)
    first = stage.request(", ".join(f'"{NAMES[index]}"' for index in shape.made), upstream=True)
    assume(first is not None)  # else all of it is blocked by partitions that do not exist
    assert first is not None
    stage.work()
    for cell in brute.order({_name(stage, own) for own in _planned(stage, first)}):
        brute.make(cell, "v1")

    def version(key: str, partition: str) -> str:
        return "v2" if shape.moves[hash_of(key, partition) % len(shape.moves)] else "v1"

    stage.define(_specs(shape, changed=True))
    stage.version, stage.attempts = version, []
    forced = [NAMES[index] for index in shape.forced]
    selection = ", ".join(f'"{name}"' for name in forced) or "*"
    second = stage.request(selection, ("all",) if forced else ("missing", "failed", "stale"), downstream=True)
    if second is None:
        return
    planned = {_name(stage, own): own.conditional for own in _planned(stage, second)}
    note(f"{planned}")
    stage.work()
    assert set(stage.attempts) == brute.run(planned, version)
    assert len(stage.attempts) == len(set(stage.attempts))
    ended = {_name(stage, own): own.state for own in _planned(stage, second)}
    assert {cell for cell, state in ended.items() if state is CellState.PUBLISHED} <= set(stage.attempts)
    assert all(ended[cell] is CellState.UNCHANGED for cell in planned.keys() - set(stage.attempts))
    with stage.store.begin() as tx:
        assert {str(task.state) for task in tx.lock_tasks(second.task_ids)} == {"success"}
    # Nothing was left out that had to be made: all that was planned is as fresh as its inputs.
    assert all(brute.settled(cell) for cell in planned)
    again = stage.request(selection, downstream=True)
    assert again is None or not {_name(stage, own) for own in _planned(stage, again)} & planned.keys()


def hash_of(key: str, partition: str) -> int:
    """Stable over processes, unlike `hash`."""
    return sum(map(ord, key)) * 7 + sum(map(ord, partition))


# ------------------------------------------------------------------ stories


@pytest.fixture
def chain(stage: Stage) -> Stage:
    """raw -> middle -> mart -> report, made once; then raw is new data that middle turns into the same."""
    stage.define(
        [
            spec("raw", DAYS),
            spec("middle", DAYS, {"raw": (DAYS, None)}),
            spec("mart", DAYS, {"middle": (DAYS, None)}, batch=AnyBatchSpec()),
            spec("report", None, {"mart": (DAYS, None)}),
        ]
    )
    stage.request("*")
    stage.work()
    stage.attempts = []
    return stage


def _ended(stage: Stage, launched: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for own in _planned(stage, launched):
        found.setdefault(_name(stage, own)[0], set()).add(own.state.value)
    return found


def test_a_middle_that_comes_out_the_same_stops_everything_below_it(chain: Stage) -> None:
    chain.version = lambda key, partition: "v2" if key == "raw" else "v1"
    launched = chain.request("raw", ("all",), downstream=True)
    chain.work()
    assert {key for key, _ in chain.attempts} == {"raw", "middle"}
    assert _ended(chain, launched) == {
        "raw": {"published"},
        "middle": {"unchanged"},
        "mart": {"unchanged"},
        "report": {"unchanged"},
    }
    assert chain.request("*") is None, "the confirmation recorded what middle was made from"


def test_one_changed_partition_of_a_batch_is_made_alone(chain: Stage) -> None:
    chain.version = lambda key, partition: "v2" if partition == "2024-01-02" else "v1"
    chain.request("raw", ("all",), downstream=True)
    chain.work()
    assert [cell for cell in chain.attempts if cell[0] == "mart"] == [("mart", "2024-01-02")]


def test_a_missing_partition_beside_conditional_ones_is_made_alone(stage: Stage) -> None:
    """One task holds both: only what is missing, or moved, is attempted."""
    stage.define([spec("raw", DAYS), spec("mart", DAYS, {"raw": (DAYS, None)}, batch=AnyBatchSpec())])
    stage.request("*", partitions="2024-01-01..2024-01-03")
    stage.work()
    stage.attempts = []
    stage.define([spec("raw", DAYS, code="2"), spec("mart", DAYS, {"raw": (DAYS, None)}, batch=AnyBatchSpec())])
    launched = stage.request("*")
    with stage.store.begin() as tx:
        marts = [task for task in tx.lock_tasks(launched.task_ids) if task.step == "mart"]  # type: ignore[union-attr]
    assert [(task.cell_count, task.conditional) for task in marts] == [(4, False)]
    stage.work()
    assert [cell for cell in stage.attempts if cell[0] == "mart"] == [("mart", "2024-01-04")]


def test_a_group_of_which_one_member_may_change_is_left_as_a_whole(stage: Stage) -> None:
    inputs = {"raw": (None, None)}
    groups = [spec("one", None, inputs, step="pair"), spec("two", None, {}, step="pair")]
    stage.define([spec("raw"), *groups])
    stage.request("*")
    stage.work()
    stage.attempts = []
    stage.define([spec("raw", code="2"), *groups])
    launched = stage.request("*")
    stage.work()
    assert stage.attempts == [("raw", "")]
    assert _ended(stage, launched) == {"raw": {"unchanged"}, "one": {"unchanged"}, "two": {"unchanged"}}


def test_an_eager_consumer_of_what_did_not_move_is_not_asked_for(stage: Stage) -> None:
    """Across runs: a confirmation is no cause; the chain of consumers stops where the data stops moving."""
    eager = EagerSpec()
    stage.define(
        [
            spec("raw", DAYS),
            spec("middle", DAYS, {"raw": (DAYS, None)}, automation=eager),
            spec("mart", DAYS, {"middle": (DAYS, None)}, automation=eager),
        ]
    )
    stage.request("raw")
    stage.settle()
    stage.attempts = []
    stage.version = lambda key, partition: "v2" if key == "raw" else "v1"
    stage.request("raw", ("all",), partitions="2024-01-03")
    stage.settle()
    assert stage.attempts == [("raw", "2024-01-03"), ("middle", "2024-01-03")]


def test_an_eager_consumer_whose_input_went_back_ends_unchanged(stage: Stage) -> None:
    """It was asked for v2; when its turn comes the input holds v1 again, which it consumed."""
    stage.define([spec("raw"), spec("mart", None, {"raw": (None, None)}, automation=EagerSpec())])
    stage.request("raw")
    stage.settle()
    stage.attempts = []
    for version in ("v2", "v1"):
        stage.version = lambda key, partition, version=version: version  # type: ignore[misc]
        stage.request("raw", ("all",))
        raw = [one for one in stage.start(limit=1) if one.task.step == "raw"]
        stage.end(raw)
        if version == "v2":
            found = stage.automate()
    with stage.store.begin() as tx:
        (run,) = tx.read_runs([found.run_id])  # type: ignore[list-item]
    stage.settle()
    assert run.cause["kind"] == "eager"
    assert [key for key, _ in stage.attempts] == ["raw", "raw"]
