"""The planner against a brute-force planner on small random graphs, cell by cell, and the laws of a plan."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from partita.assets import (
    All,
    AssetKey,
    Daily,
    DimensionPair,
    Dimensions,
    Identity,
    Last,
    Mapping,
    Multi,
    PartitaError,
    PartitionsDef,
    PartitionSet,
    Rolling,
    Specific,
    Static,
    StaticTable,
    TimeOverlap,
    TimeWindows,
    cell_hash,
    check_mapping,
    digest_of_inputs,
    space_of,
    split_key,
    upstream_of,
)
from partita.core.planner import Plan, decode_plan, encode_plan, plan_tasks, to_launch

DAYS = Daily("2024-01-11", end="2024-01-15")
LATER = Daily("2024-01-10", end="2024-01-14")
LETTERS = Static("a", "b", "c")
TURNED = Multi(letter=Static("a", "b"), day=DAYS)
HALVES = TimeWindows("0 */12 * * *", "2024-01-12", end="2024-01-14")
OWN: dict[PartitionsDef, list[Mapping]] = {
    DAYS: [TimeOverlap(-1, -1), TimeOverlap(-2, 0), Rolling(3, "days")],
    LATER: [TimeOverlap(-1, -1)],
    HALVES: [TimeOverlap(-1, -1), Rolling(1, "days", edge="clip", current=False)],
    TURNED: [
        Dimensions((DimensionPair("letter", None, All()), DimensionPair("day", "day", TimeOverlap(-1, -1)))),
        Dimensions((DimensionPair("letter", "letter", Identity()), DimensionPair("day", "day", Rolling(2, "days")))),
    ],
}
TABLE = StaticTable((("a", ("b", "c")), ("b", ("a",))))
AS_OF = datetime(2024, 1, 15, tzinfo=UTC)
NAMES = ("p", "q", "r", "s", "t")
Cell = tuple[str, str]
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # the fixtures are a class and a function


class Shape(NamedTuple):
    """A random graph and what happened to its cells."""

    partitions: list[PartitionsDef | None]
    external: list[bool]
    inputs: list[dict[int, Mapping | None]]
    history: list[tuple[int, int, str]]
    mode: tuple[str, ...]
    selected: list[int]
    upstream: bool
    downstream: bool
    latest: bool


_BY_DAY = DimensionPair("day", "day", TimeOverlap(-1, 0, edge="clip"))
KINDS: list[Mapping] = [
    All(),
    Last(),
    Identity(),
    TABLE,
    Specific(("b",)),
    Specific(("2024-01-12",)),
    TimeOverlap(-1, 0),
    TimeOverlap(-1, -1),
    TimeOverlap(-1, 0, unit="upstream"),
    TimeOverlap(-1, 0, edge="clip"),
    Rolling(2, "days"),
    Rolling(2, "days", edge="clip"),
    Rolling(1, "days", edge="clip", current=False),
    Dimensions((DimensionPair("letter", "letter", Identity()), _BY_DAY)),
    Dimensions((DimensionPair("letter", "letter", StaticTable((("a", ("b",)), ("b", ("a", "b"))))), _BY_DAY)),
    Dimensions((DimensionPair("letter", None, Specific(("a",))), DimensionPair("day", "day", Last()))),
]
"""Every kind of mapping; those that two schemes do not allow are left out for them."""


@cache
def _mappings(down: PartitionsDef | None, up: PartitionsDef | None) -> tuple[Mapping | None, ...]:
    found: list[Mapping | None] = [None]
    for mapping in KINDS:
        try:
            check_mapping(mapping, down=space_of(down, AS_OF), up=space_of(up, AS_OF))
        except PartitaError:
            continue
        found.append(mapping)
    return tuple(found)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    n = draw(st.integers(2, 5))
    schemes: list[PartitionsDef | None] = [None, DAYS, LATER, HALVES, LETTERS, TURNED]
    partitions = [draw(st.sampled_from(schemes)) for _ in range(n)]
    external = [draw(st.integers(0, 7)) == 0 for _ in range(n)]
    inputs: list[dict[int, Mapping | None]] = []
    for index in range(n):
        chosen: dict[int, Mapping | None] = {}
        for above in range(index):
            if draw(st.booleans()) and not external[index]:
                chosen[above] = draw(st.sampled_from(_mappings(partitions[index], partitions[above])))
        own = OWN.get(partitions[index])  # type: ignore[arg-type]
        if own and not external[index] and draw(st.integers(0, 3)) == 0:
            chosen[index] = draw(st.sampled_from(own))
        inputs.append(chosen)
    history = draw(
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, 7), st.sampled_from(["v1", "v1", "v2", "fail"])),
            max_size=25,
        )
    )
    mode = draw(
        st.sampled_from(
            [("missing", "failed", "stale"), ("missing",), ("stale",), ("failed",), ("missing", "stale"), ("all",)]
        )
    )
    selected = draw(st.lists(st.sampled_from(range(n)), min_size=1, unique=True))
    flags = (draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))
    return Shape(partitions, external, inputs, history, mode, selected, *flags)


def _build(shape: Shape, world: Any, spec: Any) -> Any:
    specs = [
        spec(
            NAMES[index],
            shape.partitions[index],
            {NAMES[above]: (shape.partitions[above], mapping) for above, mapping in shape.inputs[index].items()},
            kind="external" if shape.external[index] else "asset",
        )
        for index in range(len(shape.partitions))
    ]
    made = world(specs)
    for index, at, what in shape.history:
        key = NAMES[index]
        space = made.catalog.space(AssetKey(key), made.as_of)
        if shape.external[index] or at >= space.size:
            continue
        if what == "fail":
            made.cells.note(made.ref(key, space.key_at(at)), "failed")
        else:
            made.run(key, str(space.key_at(at)), what)
    return made


class Brute:
    """The same question, asked cell by cell with dictionaries."""

    def __init__(self, made: Any, shape: Shape) -> None:
        self.made, self.shape = made, shape
        self.order = [str(key) for key in made.catalog.graph.order]
        self.needs: dict[Cell, dict[str, list[Cell]]] = {}
        self.absent: set[Cell] = set()
        for name in self.order:
            asset = made.catalog.asset(name)
            space = made.catalog.space(asset.key, made.as_of)
            for at in range(space.size):
                cell = (name, str(space.key_at(at)))
                self.needs[cell] = {}
                for one in asset.inputs:
                    up = made.catalog.space(one.upstream, made.as_of)
                    found = upstream_of(one.mapping, down=space, up=up, cells=PartitionSet(((at, at + 1),)))
                    self.needs[cell][one.name] = [(one.upstream, str(up.key_at(u))) for u in found.existing]
                    if found.absent_count and one.upstream != name:
                        self.absent.add(cell)

    def _newest(self, name: str) -> list[str]:
        return list(dict.fromkeys(_time(one) for one in sorted(self.needs, key=_rank) if one[0] == name))[-2:]

    def external(self, cell: Cell) -> bool:
        return self.shape.external[NAMES.index(cell[0])]

    def version(self, cell: Cell) -> str | None:
        if self.external(cell):
            return "external"
        row = self.made.cells.rows.get(self.made.ref(*cell))
        return None if row is None else row.data_version

    def failed(self, cell: Cell) -> bool:
        row = self.made.cells.rows.get(self.made.ref(*cell))
        return row is not None and row.last_outcome == "failed"

    def stale(self, cell: Cell) -> bool:
        if self.version(cell) is None or self.external(cell):
            return False
        row = self.made.cells.rows[self.made.ref(*cell)]
        items = []
        for name, above in self.needs[cell].items():
            held = [(up, self.version(up)) for up in above]
            total = sum(cell_hash(up[1], version) for up, version in held if version is not None)
            items.append((self.made.ids[self._upstream(cell[0], name)], name, total))
        return digest_of_inputs(items) != (row.consumed_digest or 0)

    def _upstream(self, key: str, name: str) -> AssetKey:
        return AssetKey(next(one.upstream for one in self.made.catalog.asset(key).inputs if one.name == name))

    def wanted(self, cell: Cell, mode: tuple[str, ...]) -> bool:
        return (
            "all" in mode
            or ("missing" in mode and self.version(cell) is None)
            or ("failed" in mode and self.failed(cell))
            or ("stale" in mode and self.stale(cell))
        )

    def plan(self) -> tuple[set[Cell], set[Cell], set[Cell], dict[Cell, int]]:
        """(planned, conditional, blocked, wave by cell)."""
        shape = self.shape
        selected = {cell for cell in self.needs if NAMES.index(cell[0]) in shape.selected and not self.external(cell)}
        if shape.latest:
            selected = {cell for cell in selected if _time(cell) in self._newest(cell[0])}
        mode = shape.mode
        more = ("missing", "failed", "stale") if "all" in mode else mode
        follows = "stale" in mode or "all" in mode
        added: set[Cell] = set()
        if shape.upstream:
            frontier = set(selected)
            while frontier:
                driving = {cell for cell in frontier if follows or self.wanted(cell, mode)}
                above = {up for cell in driving for ups in self.needs[cell].values() for up in ups if up[0] != cell[0]}
                frontier = {up for up in above if not self.external(up)} - added
                added |= frontier
        if shape.downstream:
            fed: set[Cell] = set()
            frontier = set(selected)
            while frontier:
                below = {
                    cell
                    for cell, ups in self.needs.items()
                    if any(up in frontier and up[0] != cell[0] for above in ups.values() for up in above)
                }
                frontier = below - fed
                fed |= frontier
            added |= fed
        planned: set[Cell] = set()
        conditional: set[Cell] = set()
        blocked: set[Cell] = set()
        waves: dict[Cell, int] = {}
        for cell in (one for name in self.order for one in sorted(self.needs, key=_rank) if one[0] == name):
            in_selected, in_added = cell in selected, cell in added
            if not (in_selected or in_added):
                continue
            ups_of = [up for ups in self.needs[cell].values() for up in ups]
            asked = (in_selected and self.wanted(cell, mode)) or (in_added and self.wanted(cell, more))
            moved = [up for up in ups_of if up in planned]
            if not asked and not (moved and (follows or "stale" in more)):
                continue
            if cell in self.absent or any(self.version(up) is None and up not in planned for up in ups_of):
                blocked.add(cell)
                continue
            planned.add(cell)
            waves[cell] = 1 + max((waves[up] for up in moved), default=-1)
            if not asked and not any(self.version(up) is None for up in moved):
                conditional.add(cell)
        return planned, conditional, blocked, waves


def _time(cell: Cell) -> str:
    """The day of a combination, else the key itself."""
    parts = split_key(cell[1])
    return parts[1] if parts else cell[1]


def _rank(cell: Cell) -> tuple[str, str]:
    return cell[0], _time(cell)


def _cells(made: Any, sets: dict[Any, PartitionSet]) -> set[Cell]:
    return {
        (str(key), str(one)) for key, cells in sets.items() for one in made.catalog.space(key, made.as_of).keys(cells)
    }


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_a_plan_equals_the_brute_force_plan(shape: Shape, world: Any, asset_of: Any) -> None:
    """Planned cells, conditional ones, blocked ones and waves, for every mode and expansion."""
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    note(repr(found))
    planned, conditional, blocked, waves = Brute(made, shape).plan()
    assert _cells(made, {asset.key: asset.cells for asset in found.assets}) == planned
    assert _cells(made, {asset.key: asset.conditional for asset in found.assets}) == conditional
    stopped: dict[Any, PartitionSet] = {}
    for one in found.blocked:
        stopped[one.key] = stopped.get(one.key, PartitionSet.empty()) | one.cells
    assert _cells(made, stopped) == blocked
    shown = {cell: index for index, wave in enumerate(found.cells_by_wave()) for cell in _cells(made, dict(wave))}
    assert shown == waves


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_a_plan_that_ran_leaves_nothing_to_do(shape: Shape, world: Any, asset_of: Any) -> None:
    """Complete: after its cells are made in the order of its tasks, the same request plans nothing that is not blocked."""
    made = _build(shape, world, asset_of)
    found = _plan(made, shape._replace(mode=("missing", "failed", "stale")))
    for task in plan_tasks(found, made.catalog):
        for key in task.assets:
            for partition in made.catalog.space(key, made.as_of).keys(task.cells):
                made.run(key, str(partition), "v3")
    again = _plan(made, shape._replace(mode=("missing", "failed", "stale")))
    assert _cells(made, {asset.key: asset.cells for asset in again.assets}) == set()


@given(shape=shapes(), data=st.data())
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_a_plan_without_one_of_its_cells_leaves_a_target_unmet(
    shape: Shape, data: st.DataObject, world: Any, asset_of: Any
) -> None:
    """Minimal: run all of a plan but one cell, and the request still wants something made, or cannot have it."""
    shape = shape._replace(mode=("missing", "failed", "stale") if "all" in shape.mode else shape.mode)
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    cells = sorted(_cells(made, {asset.key: asset.cells for asset in found.assets}))
    if not cells:
        return
    left_out = data.draw(st.sampled_from(cells))
    brute = Brute(made, shape)
    for task in plan_tasks(found, made.catalog):
        for key in task.assets:
            for partition in made.catalog.space(key, made.as_of).keys(task.cells):
                cell = (str(key), str(partition))
                above = [up for ups in brute.needs[cell].values() for up in ups]
                if cell != left_out and all(brute.version(up) is not None for up in above):
                    made.run(*cell, "v3")  # every one changes: what a plan follows has happened
    again = _plan(made, shape)
    stopped = sum(len(one.cells) for one in found.blocked)
    assert again.cell_count or sum(len(one.cells) for one in again.blocked) > stopped


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_launches_are_topological_and_complete(shape: Shape, world: Any, asset_of: Any) -> None:
    """Every planned upstream of a cell is reached from its task over edges and gates, and nothing else is waited for."""
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    launch = to_launch(found, made.catalog, cause={})
    owner = {cell.cell: index for index, task in enumerate(launch.tasks) for cell in task.cells}
    assert len(owner) == found.cell_count
    brute = Brute(made, shape)
    names = {asset_id: str(key) for key, asset_id in made.ids.items()}
    for index, task in enumerate(launch.tasks):
        assert all(up < index for up in task.upstream)
        reached = {
            two
            for one in task.upstream
            for two in ((launch.tasks[one].upstream) if launch.tasks[one].kind == "gate" else (one,))
        }
        above = {
            owner[made.ref(*up)]
            for cell in task.cells
            for ups in brute.needs[names[cell.cell.asset_id], cell.cell.partition].values()
            for up in ups
            if made.ref(*up) in owner
        }
        if task.kind == "step":
            assert reached == above - {index}


@given(shape=shapes())
@settings(suppress_health_check=FIXTURES, max_examples=40)
def test_a_plan_survives_its_stored_form_and_is_deterministic(shape: Shape, world: Any, asset_of: Any) -> None:
    made = _build(shape, world, asset_of)
    found = _plan(made, shape)
    assert decode_plan(encode_plan(found)) == found
    assert _plan(made, shape).hash == found.hash


def _plan(made: Any, shape: Shape) -> Plan:
    # Words that narrow nothing at all are refused: tested by itself.
    narrows = any(shape.partitions[index] is not None and not shape.external[index] for index in shape.selected)
    found: Plan = made.plan(
        ", ".join(f'"{NAMES[index]}"' for index in shape.selected),
        mode=shape.mode,
        upstream=shape.upstream,
        downstream=shape.downstream,
        partitions="latest 2" if shape.latest and narrows else None,
    )
    return found
