"""Mappings: the laws that hold for all of them, and what each means, against brute force.

Laws: adjoint (d in down(u) iff u in up(d)), additive (the image of a union is the union of images), monotone, and
nothing that is needed is ever dropped (S-001, S-003).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    All,
    BusinessDays,
    Daily,
    DefinitionError,
    DimensionPair,
    Dimensions,
    Dynamic,
    Hourly,
    Identity,
    Last,
    Mapping,
    Monthly,
    Multi,
    MultiPartitions,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    Rolling,
    SinglePartitions,
    Specific,
    Static,
    StaticTable,
    TimeOverlap,
    TimePartitions,
    TimeWindows,
    Weekly,
    check_mapping,
    default_mapping,
    downstream_of,
    split_key,
    upstream_by_cell,
    upstream_of,
)
from partita.assets import space_of as space_of_definition
from partita.assets.partitions.time import TimeSpace

NOW = datetime(2023, 11, 9, 7, tzinfo=UTC)
KEYS = ("a", "b", "c", 'd","e')
DYNAMIC = {"dyn": ["b", "x", "a"]}


def space_of(definition: PartitionsDef | None) -> PartitionSpace:
    """At the one instant of this module."""
    return space_of_definition(definition, NOW, DYNAMIC)


@st.composite
def times(draw: st.DrawFn) -> TimePartitions:
    """Small time schemes around the autumn change of 2023, in several zones and cadences."""
    start = datetime(2023, 10, 28) + timedelta(hours=draw(st.integers(0, 200)))  # noqa: DTZ001 - wall time
    end = start + timedelta(days=draw(st.integers(1, 9))) if draw(st.booleans()) else None
    cron = draw(st.sampled_from(["0 */6 * * *", "0 0 * * *", "30 1 * * *", "0 0 * * 1", "0 18 * * *", "0 0 1 * *"]))
    zone = draw(st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]))
    exclude = draw(st.lists(st.sampled_from(EXCLUSIONS), max_size=2).map(tuple))
    calendar = draw(st.sampled_from([None, None, BusinessDays(holidays=["2023-11-01"])]))
    return TimePartitions(cron, start, end, zone, draw(st.integers(-1, 2)), exclude, calendar)


EXCLUSIONS = ("2023-11-04", "2023-11-05T06:00", "2023-10-30..2023-10-31", "2023-W44", "2023-10-29T01:30..2023-10-30")


statics = st.lists(st.sampled_from(KEYS), min_size=1, unique=True).map(lambda keys: Static(*keys))
singles: st.SearchStrategy[SinglePartitions] = times() | statics | st.just(Dynamic("dyn"))
multis = st.tuples(times(), statics) | st.tuples(statics, times()) | st.tuples(statics, statics)
definitions: st.SearchStrategy[PartitionsDef | None] = (
    st.none() | singles | multis.map(lambda dims: Multi(one=dims[0], two=dims[1]))
)
edges = st.sampled_from(["require", "clip"])
overlaps = st.builds(
    lambda pair, unit, edge: TimeOverlap(min(pair), max(pair), unit, edge),
    st.tuples(st.integers(-3, 2), st.integers(-3, 2)),
    st.sampled_from(["downstream", "upstream"]),
    edges,
)
rollings = st.builds(
    Rolling,
    st.integers(1, 9),
    st.sampled_from(["hours", "days", "weeks", "months"]),
    edges,
    st.booleans(),
)
offsets: st.SearchStrategy[Mapping] = overlaps | rollings
tables = st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), unique=True).map(tuple)).map(
    lambda table: StaticTable(tuple(table.items()))
)
loose: st.SearchStrategy[Mapping] = st.sampled_from([All(), Last(), Specific(("a", "nowhere"))])


def _dims(definition: PartitionsDef | None) -> dict[str, SinglePartitions]:
    if definition is None:
        return {}
    return dict(definition.dims) if isinstance(definition, MultiPartitions) else {"": definition}


@st.composite
def _between(draw: st.DrawFn, down: SinglePartitions, up: SinglePartitions) -> Mapping:
    both_times = isinstance(down, TimePartitions) and isinstance(up, TimePartitions)
    fitting: st.SearchStrategy[Mapping] = offsets if both_times else tables
    return draw(st.one_of(fitting, loose, st.just(Identity())))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mapping, PartitionSpace, PartitionSpace]:
    """A mapping that fits a downstream and an upstream space."""
    down, up = draw(definitions), draw(definitions)
    downs, ups = _dims(down), _dims(up)
    if draw(st.booleans()) and set(downs) == set(ups) == {""}:
        return draw(_between(downs[""], ups[""])), space_of(down), space_of(up)
    if draw(st.booleans()):
        plain: st.SearchStrategy[Mapping] = st.sampled_from([default_mapping(down, up), Identity(), All(), Last()])
        return draw(plain), space_of(down), space_of(up)
    pairs = []
    for name, scheme in ups.items():
        follows = draw(st.sampled_from([None, *downs]))
        mapping = draw(loose if follows is None else _between(downs[follows], scheme))
        pairs.append(DimensionPair(name, follows, mapping))  # type: ignore[arg-type]
    return Dimensions(tuple(pairs[: draw(st.integers(0, len(pairs)))])), space_of(down), space_of(up)


def _one(ordinal: int) -> PartitionSet:
    return PartitionSet.from_ordinals([ordinal])


@given(cases())
def test_downstream_is_the_exact_inverse_of_upstream(case: tuple[Mapping, PartitionSpace, PartitionSpace]) -> None:
    """d in down(u) iff u in up(d), over everything that exists."""
    mapping, down, up = case
    needs = {d: upstream_of(mapping, down=down, up=up, cells=_one(d)).existing for d in range(down.size)}
    for u in range(up.size):
        touched = downstream_of(mapping, down=down, up=up, cells=_one(u))
        assert list(touched) == [d for d, needed in needs.items() if u in needed]


@given(cases(), st.data())
def test_images_of_unions_are_unions_of_images(
    case: tuple[Mapping, PartitionSpace, PartitionSpace], data: st.DataObject
) -> None:
    """Mapping a set equals mapping its cells one by one, absent ones included; hence it is monotone too."""
    mapping, down, up = case
    cells = PartitionSet.from_ordinals(data.draw(st.sets(st.integers(0, max(down.size - 1, 0)), max_size=12)))
    cells &= down.all()
    whole = upstream_of(mapping, down=down, up=up, cells=cells, shown=10_000)
    existing, absent = PartitionSet.empty(), set()
    for cell in cells:
        mapped = upstream_of(mapping, down=down, up=up, cells=_one(cell), shown=10_000)
        existing |= mapped.existing
        absent |= set(mapped.absent)
    assert whole.existing == existing
    assert set(whole.absent) == absent
    assert whole.absent_count == len(absent) == len(whole.absent)
    assert not absent & set(up.keys_of(range(up.size)))
    others = PartitionSet.from_ordinals(data.draw(st.sets(st.integers(0, max(up.size - 1, 0)), max_size=12)))
    touched = PartitionSet.empty()
    for cell in others & up.all():
        touched |= downstream_of(mapping, down=down, up=up, cells=_one(cell))
    assert downstream_of(mapping, down=down, up=up, cells=others) == touched


@given(cases())
def test_by_cell_is_what_one_cell_needs(case: tuple[Mapping, PartitionSpace, PartitionSpace]) -> None:
    """The iterator gives the same answers as one question for each cell."""
    mapping, down, up = case
    answers = list(upstream_by_cell(mapping, down=down, up=up, cells=down.all()))
    assert [cell for cell, _ in answers] == list(range(down.size))
    for cell, mapped in answers:
        assert mapped == upstream_of(mapping, down=down, up=up, cells=_one(cell))


@given(times(), times())
def test_time_overlap_is_overlap_of_windows(down: TimePartitions, up: TimePartitions) -> None:
    """Without offsets: exactly the windows that share an instant."""
    downs, ups = space_of(down), space_of(up)
    assert isinstance(downs, TimeSpace)
    assert isinstance(ups, TimeSpace)
    windows = [ups.window_at(u) for u in range(ups.size)]
    for d in range(downs.size):
        mine = downs.window_at(d)
        mapped = upstream_of(TimeOverlap(), down=downs, up=ups, cells=_one(d))
        assert list(mapped.existing) == [
            u for u, other in enumerate(windows) if other.start < mine.end and mine.start < other.end
        ]
        if not up.exclude:
            assert bool(mapped.absent_count) != (
                bool(windows) and windows[0].start <= mine.start and mine.end <= windows[-1].end
            )


@given(times(), times(), offsets)
def test_mappings_by_time_are_what_brute_force_says(
    down: TimePartitions, up: TimePartitions, mapping: TimeOverlap | Rolling
) -> None:
    """Window by window, from the words of the definitions: what exists, and how much before the start is absent."""
    downs, ups = space_of(down), space_of(up)
    assert isinstance(downs, TimeSpace)
    assert isinstance(ups, TimeSpace)
    theirs = range(-40, ups.size + 40)
    for d in range(downs.size):
        wanted = {u for u in theirs if _wanted(mapping, downs, d, ups, u)}
        mapped = upstream_of(mapping, down=downs, up=ups, cells=_one(d), shown=10_000)
        assert set(mapped.existing) == {u for u in wanted if 0 <= u < ups.size}
        if mapping.edge == "clip":
            wanted = {u for u in wanted if u >= 0}
        labels = {str(ups.label_at(u)): u for u in theirs}
        assert {labels[key] for key in mapped.absent if key in labels} == {u for u in wanted if not 0 <= u < ups.size}


def _span(space: TimeSpace, ordinal: int) -> tuple[int, int]:
    index = space.index_at(ordinal)
    return space.grid.tick(index), space.grid.tick(index + 1)


def _meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _wanted(mapping: TimeOverlap | Rolling, downs: TimeSpace, d: int, ups: TimeSpace, u: int) -> bool:
    if isinstance(mapping, TimeOverlap):
        shifts = range(mapping.offset_start, mapping.offset_end + 1)
        if mapping.unit == "downstream":
            return any(_meets(_span(downs, d + shift), _span(ups, u)) for shift in shifts)
        return any(_meets(_span(downs, d), _span(ups, u - shift)) for shift in shifts)
    start, end = _span(downs, d)
    zone = ZoneInfo(downs.definition.tz)
    wall = datetime.fromtimestamp(end, zone).replace(tzinfo=None)
    hours = {"hours": mapping.n}.get(mapping.unit)
    days = {"days": mapping.n, "weeks": 7 * mapping.n}.get(mapping.unit)
    if hours is not None:
        begin = end - hours * 3600
    elif days is not None:
        begin = int((wall - timedelta(days=days)).replace(tzinfo=zone).timestamp())
    else:
        month = wall.year * 12 + wall.month - 1 - mapping.n
        last = (datetime(month // 12, month % 12 + 1, 28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)  # noqa: DTZ001
        begin = int(
            last.replace(day=min(wall.day, last.day), hour=wall.hour, minute=wall.minute, tzinfo=zone).timestamp()
        )
    seen = (min(begin, start), end) if mapping.current else (begin, start)
    return seen[0] < seen[1] and _meets(seen, _span(ups, u))


@given(times(), times())
def test_identity_is_equality_of_keys(down: TimePartitions, up: TimePartitions) -> None:
    """Also between schemes whose ordinals differ."""
    downs, ups = space_of(down), space_of(up)
    theirs = set(ups.keys_of(range(ups.size)))
    for d in range(downs.size):
        mapped = upstream_of(Identity(), down=downs, up=ups, cells=_one(d))
        key = downs.key_at(d)
        assert ups.keys(mapped.existing) == ([key] if key in theirs else [])
        assert mapped.absent == (() if key in theirs else (key,))


days = Daily("2023-01-01", end="2023-11-01", tz="America/New_York")
hours = Hourly("2023-01-01", end="2023-11-01", tz="America/New_York")
weather = Multi(hour=hours, origin=Static("EWR", "JFK", "LGA"))


def test_a_day_needs_its_hours_of_every_origin() -> None:
    """delays <- weather of the example: 23 hours x 3 origins on the day of the spring change, and back."""
    down, up = space_of(days), space_of(weather)
    mapping = default_mapping(days, weather)
    mapped = upstream_of(mapping, down=down, up=up, cells=down.select("2023-03-12"))
    assert len(mapped.existing) == 69
    assert mapped.existing.runs == 1
    hour = up.select("hour=2023-03-12T05:00; origin=JFK")
    assert down.keys(downstream_of(mapping, down=down, up=up, cells=hour)) == ["2023-03-12"]


def test_a_year_maps_as_one_run() -> None:
    """Costs go by runs, not by partitions."""
    down, up = space_of(Daily("1990-01-01")), space_of(Hourly("1990-01-01"))
    mapped = upstream_of(TimeOverlap(), down=down, up=up, cells=down.all())
    assert (len(mapped.existing), mapped.existing.runs) == (down.size * 24, 1)


def test_absent_keys_are_capped_and_counted() -> None:
    """Twenty are shown, all are counted."""
    down, up = space_of(Daily("2023-01-01")), space_of(Hourly("2023-01-03"))
    mapped = upstream_of(TimeOverlap(), down=down, up=up, cells=down.select("2023-01-01..2023-01-03"))
    assert (len(mapped.existing), len(mapped.absent), mapped.absent_count) == (24, 20, 48)
    assert mapped.absent[0] == "2023-01-01T00:00+00:00"


def test_absent_combinations_name_every_dimension() -> None:
    """Before the start, in an unknown key, and both."""
    down = space_of(Daily("2023-01-01", end="2023-01-03"))
    up = space_of(Multi(day=Daily("2023-01-02"), origin=Static("EWR")))
    pairs = (DimensionPair("day", "", TimeOverlap()), DimensionPair("origin", None, Specific(("EWR", "XXX"))))
    mapped = upstream_of(Dimensions(pairs), down=down, up=up, cells=down.all())
    assert up.keys(mapped.existing) == ['["2023-01-02","EWR"]']
    assert mapped.absent == ('["2023-01-01","EWR"]', '["2023-01-01","XXX"]', '["2023-01-02","XXX"]')


def test_two_upstream_dimensions_may_follow_one() -> None:
    """The image is the diagonal, not the square."""
    down, up = space_of(Static("a", "b")), space_of(Multi(left=Static("a", "b"), right=Static("a", "b")))
    mapping = Dimensions((DimensionPair("left", "", Identity()), DimensionPair("right", "", Identity())))
    mapped = upstream_of(mapping, down=down, up=up, cells=down.all())
    assert [split_key(key) for key in up.keys(mapped.existing)] == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize(
    ("down", "up", "expected"),
    [
        (None, None, All()),
        (None, days, All()),
        (days, None, All()),
        (days, days, Identity()),
        (weather, weather, Identity()),
        (days, hours, TimeOverlap()),
        (Static("a"), Static("b"), Identity()),
        (Static("a"), Dynamic("d"), Identity()),
        (days, Static("a"), All()),
        (
            days,
            weather,
            Dimensions((DimensionPair("hour", "", TimeOverlap()), DimensionPair("origin", None, All()))),
        ),
        (weather, days, Dimensions((DimensionPair("", "hour", TimeOverlap()),))),
        (weather, Static("EWR", "JFK", "LGA"), Dimensions((DimensionPair("", "origin", Identity()),))),
        (weather, Static("UA"), Dimensions((DimensionPair("", None, All()),))),
        (
            Multi(week=Weekly("2023-01-01"), origin=Static("EWR")),
            weather,
            Dimensions((DimensionPair("hour", "week", TimeOverlap()), DimensionPair("origin", "origin", Identity()))),
        ),
        (
            Multi(month=Monthly("2023-01"), carrier=Static("UA", "AA")),
            days,
            Dimensions((DimensionPair("", "month", TimeOverlap()),)),
        ),
    ],
)
def test_the_default_is_what_people_mean(
    down: PartitionsDef | None, up: PartitionsDef | None, expected: Mapping
) -> None:
    """Same key, overlapping time, dimension by dimension, else all."""
    assert default_mapping(down, up) == expected
    check_mapping(expected, down=space_of(down), up=space_of(up))


@pytest.mark.parametrize(
    ("mapping", "down", "up", "says"),
    [
        (TimeOverlap(), days, Static("a"), "without time upstream"),
        (TimeOverlap(), None, days, "without time downstream"),
        (Dimensions((DimensionPair("houre", "", TimeOverlap()),)), days, weather, "did you mean 'hour'?"),
        (Dimensions((DimensionPair("hour", "day", TimeOverlap()),)), days, weather, "no downstream dimension 'day'"),
        (Dimensions((DimensionPair("origin", "", TimeOverlap()),)), days, weather, "without time upstream"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    mapping: Mapping, down: PartitionsDef | None, up: PartitionsDef | None, says: str
) -> None:
    """At definition time, by name."""
    with pytest.raises(DefinitionError) as refused:
        check_mapping(mapping, down=space_of(down), up=space_of(up))
    assert says in str(refused.value)


def test_wrong_mappings_do_not_get_past_their_constructor() -> None:
    """Offsets in order, keys given, one mapping for each dimension."""
    for make, says in (
        (lambda: TimeOverlap(1, 0), "after offset_end"),
        (lambda: Specific(()), "no upstream keys"),
        (lambda: StaticTable((("a", ("b",)), ("a", ("c",)))), "twice"),
        (lambda: DimensionPair("x", None, Identity()), "follows no downstream"),
        (lambda: Dimensions((DimensionPair("x", None, All()), DimensionPair("x", None, Last()))), "mapped twice"),
    ):
        with pytest.raises(DefinitionError, match=says):
            make()


def test_last_of_a_multi_scheme_is_its_newest_window() -> None:
    """With every key of the other dimensions."""
    up = space_of(weather)
    mapped = upstream_of(Last(), down=space_of(None), up=up, cells=PartitionSet.from_ordinals([0]))
    assert len(mapped.existing) == 3
    assert (
        upstream_of(Last(), down=space_of(None), up=space_of(TimeWindows("@daily", "2030")), cells=_one(0)).existing
        == PartitionSet.empty()
    )
