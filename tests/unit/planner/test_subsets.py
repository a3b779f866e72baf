"""Subsettable groups: only the members that are needed are made; against a brute-force planner, and the laws of such plans."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from partita.assets import (
    AnyBatchSpec,
    AssetKey,
    Daily,
    Identity,
    Mapping,
    Rolling,
    SingleBatchSpec,
    TimeOverlap,
    UpToBatchSpec,
    self_mapping,
)
from partita.core.planner import Plan, Work, compare, critical_path, decode_plan, encode_plan, plan_tasks, to_launch
from partita.core.planner.longest import longest_chain

DAYS = Daily("2024-01-11", end="2024-01-15")
AS_OF = datetime(2024, 1, 15, tzinfo=UTC)
KEYS = ("2024-01-11", "2024-01-12", "2024-01-13", "2024-01-14")
MEMBERS = ("m0", "m1", "m2")
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
Cell = tuple[str, str]

OUTSIDE: tuple[Mapping, ...] = (Identity(), TimeOverlap(-1, 0, edge="clip"), TimeOverlap(-1, 0))
INSIDE: tuple[Mapping, ...] = (
    self_mapping(TimeOverlap(-1, -1)),
    self_mapping(Rolling(2, "days", edge="clip", current=False)),
    Identity(),
)
"""What a member may read of one before it in the group; of itself all but the last."""


class Shape(NamedTuple):
    """u → the group m0, m1, m2 → c, and what happened to their cells."""

    reads: dict[str, dict[str, Mapping]]
    history: list[tuple[str, str, str]]
    selected: list[str]
    mode: tuple[str, ...]
    latest: bool
    upstream: bool
    batch: Any


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    reads: dict[str, dict[str, Mapping]] = {"u": {}}
    for index, name in enumerate(MEMBERS):
        mine = reads.setdefault(name, {})
        if draw(st.booleans()):
            mine["u"] = draw(st.sampled_from(OUTSIDE))
        for other in MEMBERS[: index + 1]:
            if draw(st.integers(0, 2)) == 0:
                mine[other] = draw(st.sampled_from(INSIDE[:2] if other == name else INSIDE))
    reads["c"] = {name: draw(st.sampled_from(OUTSIDE[:2])) for name in MEMBERS if draw(st.booleans())}
    cells = st.tuples(
        st.sampled_from(list(reads)), st.sampled_from(KEYS), st.sampled_from(["v1", "v1", "v1", "v2", "fail"])
    )
    return Shape(
        reads=reads,
        history=draw(st.lists(cells, max_size=25)),
        selected=draw(st.lists(st.sampled_from(list(reads)), min_size=1, unique=True)),
        mode=draw(st.sampled_from([("missing", "failed", "stale"), ("missing",), ("stale",), ("all",)])),
        latest=draw(st.booleans()),
        upstream=draw(st.booleans()),
        batch=draw(st.sampled_from([SingleBatchSpec(), AnyBatchSpec(), UpToBatchSpec(n=2)])),
    )


def _build(shape: Shape, world: Any, spec: Any) -> Any:
    made = world(
        [
            spec(
                name,
                DAYS,
                {up: (DAYS, mapping) for up, mapping in ups.items()},
                step="m" if name in MEMBERS else name,
                subsettable=name in MEMBERS,
                batch=shape.batch,
            )
            for name, ups in shape.reads.items()
        ]
    )
    for name, day, what in shape.history:
        if what == "fail":
            made.cells.note(made.ref(name, day), "failed")
        else:
            made.run(name, day, what)
    return made


def _plan(made: Any, shape: Shape) -> Plan:
    found: Plan = made.plan(
        ", ".join(shape.selected),
        mode=shape.mode,
        upstream=shape.upstream,
        partitions="latest 2" if shape.latest else None,
    )
    return found


def _cells(made: Any, sets: dict[Any, Any]) -> set[Cell]:
    return {
        (str(key), str(one)) for key, cells in sets.items() for one in made.catalog.space(key, made.as_of).keys(cells)
    }


class Brute:
    """The same question, asked cell by cell with dictionaries."""

    def __init__(self, made: Any, shape: Shape) -> None:
        self.made, self.shape = made, shape
        self.needs: dict[Cell, list[Cell]] = {}
        self.absent: set[Cell] = set()
        for name in shape.reads:
            asset = made.catalog.asset(name)
            for at, day in enumerate(KEYS):
                ups = []
                for one in asset.inputs:
                    mapped = made.catalog.edge(asset.key, one, made.as_of).mapped(at)
                    ups += [(str(one.upstream), KEYS[up]) for up in mapped.existing]
                    if mapped.absent_count and not self.inside(name, one.upstream):
                        self.absent.add((name, day))
                self.needs[name, day] = ups
        statuses = made.statuses()
        self.status = {name: statuses.direct(AssetKey(name)) for name in shape.reads}

    @staticmethod
    def inside(name: str, other: str) -> bool:
        return name in MEMBERS and other in MEMBERS

    def there(self, cell: Cell) -> bool:
        return bool(self.status[cell[0]].held.published[KEYS.index(cell[1])])

    def wanted(self, cell: Cell, mode: tuple[str, ...]) -> bool:
        at, status = KEYS.index(cell[1]), self.status[cell[0]]
        return "all" in mode or any(bool(getattr(status, word)[at]) for word in mode)

    def plan(self) -> tuple[set[Cell], set[Cell], set[Cell]]:
        """(planned, conditional, blocked)."""
        shape, mode = self.shape, self.shape.mode
        more = ("missing", "failed", "stale") if "all" in mode else mode
        follows = "stale" in mode or "all" in mode
        selected = {(name, day) for name in shape.selected for day in (KEYS[-2:] if shape.latest else KEYS)}
        added: set[Cell] = set()
        frontier = set(selected) if shape.upstream else set()
        while frontier:
            driving = {cell for cell in frontier if follows or self.wanted(cell, mode)}
            frontier = {up for cell in driving for up in self.needs[cell] if up[0] != cell[0]} - added
            added |= frontier
        asked = {cell for cell in selected if self.wanted(cell, mode)} | {c for c in added if self.wanted(c, more)}
        may = (selected if follows else set()) | (added if "stale" in more else set())
        chosen = selected | added
        reach = {day for name, day in chosen if name in MEMBERS}
        banned: set[Cell] = set()
        while True:
            included: set[Cell] = set()
            while True:
                live, blocked, unsure = self._forward(asked | included, may)
                outside_ok = {one for one in live | blocked if not self._kept_from_above(one, live)}
                read = {
                    up for one in outside_ok for up in self.needs[one] if self.inside(one[0], up[0]) and up[0] != one[0]
                }
                wanted = {up for up in read if up[1] in reach and not self.there(up)} - banned - live - blocked
                if not wanted:
                    break
                included |= wanted
            used = {up for one in live for up in self.needs[one] if self.inside(one[0], up[0]) and up[0] != one[0]}
            if included <= used:
                return live, unsure, blocked
            banned |= included - used

    def _kept_from_above(self, cell: Cell, live: set[Cell]) -> bool:
        above = [up for up in self.needs[cell] if not self.inside(cell[0], up[0])]
        return cell in self.absent or any(not self.there(up) and up not in live for up in above)

    def _forward(self, asked: set[Cell], may: set[Cell]) -> tuple[set[Cell], set[Cell], set[Cell]]:
        live: set[Cell] = set()
        blocked: set[Cell] = set()
        unsure: set[Cell] = set()
        order = [("u", day) for day in KEYS]
        order += [(name, day) for day in KEYS for name in MEMBERS]
        order += [("c", day) for day in KEYS]
        for cell in order:
            moved = [up for up in self.needs[cell] if up in live]
            if cell not in asked and not (moved and cell in may):
                continue
            if cell in self.absent or any(not self.there(up) and up not in live for up in self.needs[cell]):
                blocked.add(cell)
                continue
            live.add(cell)
            if cell not in asked and all(self.there(up) for up in moved):
                unsure.add(cell)
        return live, blocked, unsure


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=120)
def test_a_plan_of_members_equals_the_brute_force_plan(shape: Shape, world: Any, asset_of: Any) -> None:
    """Planned cells, conditional and blocked ones."""
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    note(repr(found))
    planned, conditional, blocked = Brute(made, shape).plan()
    assert _cells(made, {asset.key: asset.cells for asset in found.assets}) == planned
    assert _cells(made, {asset.key: asset.conditional for asset in found.assets}) == conditional
    assert {cell for one in found.blocked for cell in _cells(made, {one.key: one.cells})} == blocked


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=80)
def test_a_plan_of_members_that_ran_leaves_nothing_to_do(shape: Shape, world: Any, asset_of: Any) -> None:
    """Complete: its tasks run in their order, and the same request plans nothing."""
    made = _build(shape, world, asset_of)
    shape = shape._replace(mode=("missing", "failed", "stale"))
    for task in plan_tasks(_plan(made, shape), made.catalog):
        for day in (KEYS[at] for at in task.cells):
            for key in task.assets:
                made.run(key, day, "v3")
    assert not _plan(made, shape).cell_count


@given(shape=shapes(), data=st.data())
@settings(suppress_health_check=FIXTURES, max_examples=80)
def test_no_member_is_made_in_vain(shape: Shape, data: st.DataObject, world: Any, asset_of: Any) -> None:
    """Minimal: without any one of its cells a target stays unmet, or cannot be had."""
    made = _build(shape, world, asset_of)
    shape = shape._replace(mode=("missing", "failed", "stale"))
    found = _plan(made, shape)
    cells = sorted(_cells(made, {asset.key: asset.cells for asset in found.assets}))
    if not cells:
        return
    left_out = data.draw(st.sampled_from(cells))
    brute = Brute(made, shape)
    done: set[Cell] = set()
    for task in plan_tasks(found, made.catalog):
        for cell in ((str(key), KEYS[at]) for at in task.cells for key in task.assets):
            if cell != left_out and all(brute.there(up) or up in done for up in brute.needs[cell]):
                made.run(*cell, "v3")
                done.add(cell)
    again = _plan(made, shape)
    stopped = sum(len(one.cells) for one in found.blocked)
    assert again.cell_count or sum(len(one.cells) for one in again.blocked) > stopped


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=80)
def test_tasks_of_members_wait_for_exactly_what_they_read(shape: Shape, world: Any, asset_of: Any) -> None:
    """Each planned cell has one task, every member of a task is made in each of its partitions, waves follow the edges."""
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    planned = _cells(made, {asset.key: asset.cells for asset in found.assets})
    tasks = plan_tasks(found, made.catalog)
    owner = {
        (str(key), KEYS[at]): index for index, task in enumerate(tasks) for key in task.assets for at in task.cells
    }
    assert owner.keys() == planned
    assert sum(len(task.assets) * len(task.cells) for task in tasks) == len(planned)
    launched = to_launch(found, made.catalog, cause={})
    assert sorted(len(one.cells) for one in launched.tasks if one.kind == "step") == sorted(
        len(task.assets) * len(task.cells) for task in tasks if not task.gate
    )
    needs = Brute(made, shape).needs
    for index, task in enumerate(tasks):
        if task.gate:
            continue
        reached = {two for one in task.upstream for two in (tasks[one].upstream if tasks[one].gate else (one,))}
        cells = [(str(key), KEYS[at]) for key in task.assets for at in task.cells]
        above = {owner[up] for cell in cells for up in needs[cell] if up in owner} - {index}
        assert reached == above
        assert task.wave == 1 + max((tasks[one].wave for one in above), default=-1)
        assert not any(
            up in owner and owner[up] == index and up[1] != day for name, day in cells for up in needs[name, day]
        )


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_a_plan_of_members_survives_its_stored_form(shape: Shape, world: Any, asset_of: Any) -> None:
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    assert decode_plan(encode_plan(found)) == found
    assert _plan(made, shape).hash == found.hash
    assert compare(found, found, made.catalog).same
    shown = {cell: n for n, wave in enumerate(found.cells_by_wave()) for cell in _cells(made, dict(wave))}
    assert shown.keys() == _cells(made, {asset.key: asset.cells for asset in found.assets})


BATCH = AnyBatchSpec()


def _group(world: Any, asset_of: Any, *, subsettable: bool = True, batch: Any = BATCH, **reads: Any) -> Any:
    return world(
        [
            asset_of(name, DAYS, reads.get(name, {}), step="m", subsettable=subsettable, batch=batch)
            for name in ("m1", "m2")
        ]
    )


def test_only_the_member_that_is_missing_is_made(world: Any, asset_of: Any) -> None:
    made = _group(world, asset_of)
    made.run_all("m1")
    found = made.plan()
    assert made.keys(found) == {"m2": list(KEYS)}
    assert [(step.assets, step.partial) for step in found.steps] == [(("m2",), True)]
    assert made.keys(_whole(world, asset_of).plan("m2")) == {"m1": list(KEYS), "m2": list(KEYS)}


def _whole(world: Any, asset_of: Any) -> Any:
    made = _group(world, asset_of, subsettable=False)
    made.run_all("m1")
    return made


def test_only_the_member_that_was_chosen_is_made(world: Any, asset_of: Any) -> None:
    made = _group(world, asset_of)
    assert made.keys(made.plan("m2", partitions=KEYS[0], mode=("all",))) == {"m2": [KEYS[0]]}


def test_a_task_makes_the_same_members_in_each_of_its_partitions(world: Any, asset_of: Any) -> None:
    """Partitions that need other members are other tasks, and the hash knows which task makes what."""
    made = _group(world, asset_of)
    made.run("m1", KEYS[1])
    found = made.plan()
    parts = {step.assets: [[KEYS[at] for at in batch] for batch in step.batches] for step in found.steps}
    assert parts == {("m2",): [[KEYS[1]]], ("m1", "m2"): [[KEYS[0], KEYS[2], KEYS[3]]]}
    assert found.task_count == 2
    other = _group(world, asset_of)
    other.run("m2", KEYS[1])
    assert other.plan().hash != found.hash


def test_a_member_that_a_sibling_reads_is_made_with_it_where_the_group_was_chosen(world: Any, asset_of: Any) -> None:
    """The day before is missing and in reach; the day before that nobody chose, so the first chosen day is blocked."""
    made = _group(world, asset_of, m2={"m1": (DAYS, self_mapping(TimeOverlap(-1, -1)))})
    found = made.plan("m2")
    assert made.keys(found) == {"m1": list(KEYS[:3]), "m2": list(KEYS)}
    found = made.plan("m2", partitions="latest 2")
    assert made.keys(found) == {"m1": [KEYS[2]], "m2": [KEYS[3]]}
    assert [(one.key, one.upstream, one.reason, one.absent) for one in found.blocked] == [
        ("m2", "m1", "upstream_missing", (KEYS[1],))
    ]


def test_parts_of_a_group_differ_in_a_comparison(world: Any, asset_of: Any) -> None:
    made = _group(world, asset_of)
    before = made.plan()
    made.run("m1", KEYS[1])
    (line,) = compare(before, made.plan(), made.catalog).lines()
    assert line == "1 cell of m1 (2024-01-12) dropped out"


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=100)
def test_the_longest_chain_of_a_group_is_that_of_its_tasks(shape: Shape, world: Any, asset_of: Any) -> None:
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    assume(all(len(parts) == 1 for parts in found.by_step().values()))
    seconds = {step.step: 1.0 + at for at, step in enumerate(found.steps)}
    tasks = plan_tasks(found, made.catalog)
    work = [Work(0.0 if one.step is None else seconds[one.step], one.upstream) for one in tasks]
    chain, length = longest_chain(found, made.catalog, seconds)
    assert length == critical_path(work)[1]
    assert sum(seconds[one.step] for one in chain) == length
