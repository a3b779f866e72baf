"""The selection grammar of partitions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    Daily,
    DefinitionError,
    Hourly,
    Multi,
    PartitaError,
    PartitionSet,
    PartitionSpace,
    SelectionError,
    Static,
    space_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
days = space_of(Daily("2013-01-01", end="2014-01-01"), NOW)
origins = space_of(Static("EWR", "JFK", "LGA", "a,b", "all", "x..y", 'qu"ote'), NOW)
weather = space_of(Multi(hour=Hourly("2013-01-01", end="2013-02-01"), origin=Static("EWR", "JFK", "LGA", "a;b=c")), NOW)


@pytest.mark.parametrize(
    ("text", "ordinals"),
    [
        ("all", range(365)),
        ("latest", [364]),
        ("latest 3", [362, 363, 364]),
        ("2013-01-05", [4]),
        ("2013-02", range(31, 59)),
        ("2013-12-30..", [363, 364]),
        ("..2013-01-02", [0, 1]),
        ("..", range(365)),
        ("2013-01-31..2013-02", range(30, 59)),
        ("2013-01-01, 2013-01-03 , latest", [0, 2, 364]),
        ('"2013-01-05"', [4]),
        ('"2013-01-05".."2013-01-06"', [4, 5]),
    ],
)
def test_time(text: str, ordinals: range | list[int]) -> None:
    """Keys, periods, ranges, latest, unions."""
    assert list(days.select(text)) == list(ordinals)


@pytest.mark.parametrize(
    ("text", "ordinals"),
    [
        ("JFK", [1]),
        ("a,b", [3]),
        ('"a,b", EWR', [0, 3]),
        ("EWR..LGA", [0, 1, 2]),
        ("all", range(7)),
        ('"all"', [4]),
        ("x..y", [5]),
        ('"qu\\"ote"', [6]),
    ],
)
def test_listed_keys(text: str, ordinals: range | list[int]) -> None:
    """Positions are the order; quoting reaches every key."""
    assert list(origins.select(text)) == list(ordinals)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("all", 31 * 24 * 4),
        ("2013-01-01", 24 * 4),
        ("latest", 4),
        ("hour=2013-01-01; origin=JFK", 24),
        ("origin=JFK,EWR", 31 * 24 * 2),
        ('origin="a;b=c"; hour=latest 2', 2),
        ("hour=2013-01-01..2013-01-02", 48 * 4),
        ('["2013-01-01T00:00+00:00","JFK"]', 1),
        ('["2013-01-01T00:00+00:00","JFK"], ["2013-01-01T01:00+00:00","EWR"]', 2),
    ],
)
def test_dimensions(text: str, count: int) -> None:
    """One clause for each dimension; the others are all."""
    assert len(weather.select(text)) == count


@pytest.mark.parametrize(
    ("space", "text", "says"),
    [
        (days, "", "empty"),
        (days, "2013-01-01,,2013-01-02", "empty part"),
        (days, "2013-01-01..2013-01-02..2013-01-03", "more than one"),
        (days, "2013-01-05..2013-01-01", "FROM lies before TO"),
        (days, "2013-02..2013-01-05", "swap the two"),
        (origins, "LGA..EWR", "swap the two"),
        (days, "latest 0", "at least 1"),
        (days, "tomorrow", "keys look like"),
        (origins, "JFX", "did you mean 'JFK'?"),
        (weather, "orign=JFK", "did you mean 'origin'?"),
        (weather, "origin=JFK; origin=EWR", "twice"),
        (weather, "origin=JFK; EWR", "names no dimension"),
        (weather, "origin=JFX", "did you mean 'JFK'?"),
    ],
)
def test_errors_teach(space: object, text: str, says: str) -> None:
    """What, which rule, what to do."""
    with pytest.raises(PartitaError) as refused:
        space.select(text)  # type: ignore[attr-defined]
    assert isinstance(refused.value, SelectionError | DefinitionError)
    assert says in str(refused.value)


def test_an_unpartitioned_asset_needs_no_selection() -> None:
    """Its one partition is always meant."""
    for text in ("", "all", "latest", "2013-01-01..2013-02-01"):
        assert len(space_of(None, NOW).select(text)) == 1


keys = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable() and text == text.strip())


@given(st.lists(keys, min_size=1, max_size=5, unique=True), st.data())
def test_every_legal_key_can_be_selected_when_quoted(listed: list[str], data: st.DataObject) -> None:
    """Keys are data: any printable Unicode text is a legal static key (law 9)."""
    import json

    space = space_of(Static(*listed), NOW)
    wanted = data.draw(st.lists(st.sampled_from(listed), min_size=1, unique=True))
    assert space.select(", ".join(json.dumps(key) for key in wanted)) == space.set_of(wanted)
    multi = space_of(Multi(left=Static(*listed), right=Static(*listed)), NOW)
    clause = ", ".join(json.dumps(key) for key in wanted)
    assert len(multi.select(f"right={clause}")) == len(wanted) * len(listed)


def _status(word: str) -> PartitionSet:
    return {
        "missing": PartitionSet.from_ordinals([0, 363]),
        "stale": PartitionSet.from_ordinals([1]),
        "failed": PartitionSet.from_ordinals([2, 10_000]),
    }[word]


@pytest.mark.parametrize(
    ("text", "ordinals"),
    [
        ("missing", [0, 363]),
        ("Missing, stale", [0, 1, 363]),
        ("failed", [2]),  # what does not exist is nobody's
        ("missing; latest 7", [363]),
        ("2013-01; missing, stale", [0, 1]),
        ("missing, 2013-01-05", [0, 4, 363]),
    ],
)
def test_status_words(text: str, ordinals: list[int]) -> None:
    """Resolved by who knows the cells; a clause of them narrows the others."""
    assert list(days.select(text, _status)) == ordinals


def test_status_words_by_dimension() -> None:
    """In a clause of a dimension: its keys with such a partition; as a clause of their own: those partitions."""
    grid = space_of(Multi(day=Daily("2013-01-01", end="2013-01-05"), origin=Static("EWR", "JFK", "LGA")), NOW)
    missing = grid.set_of(['["2013-01-01","JFK"]', '["2013-01-03","EWR"]'])
    status = {"missing": missing}.__getitem__
    assert grid.select("missing", status) == missing
    assert grid.select("origin=JFK; missing", status) == grid.set_of(['["2013-01-01","JFK"]'])
    assert grid.select("day=missing; origin=LGA", status) == grid.select("day=2013-01-01,2013-01-03; origin=LGA")
    assert grid.select("origin=missing; day=latest", status) == grid.select("origin=EWR,JFK; day=2013-01-04")


def test_a_key_called_like_a_word_is_reached_by_quoting() -> None:
    odd = space_of(Static("missing", "latest", "x"), NOW)
    assert list(odd.select('"missing", "latest"')) == [0, 1]
    with pytest.raises(SelectionError, match="not known here"):
        odd.select("missing")


@pytest.mark.parametrize(
    ("space", "text", "says"),
    [
        (days, "2013-01-05..2013-01-01", "swap the two: 2013-01-01..2013-01-05"),
        (origins, "LGA..EWR", "swap the two: EWR..LGA"),
        (days, "2013-12-31..2012-12-31", "swap the two"),
        (days, "2030-01-01..2030-02-01", "no partition lies between"),
        (days, "missng", "did you mean 'missing'?"),
        (days, "lastest 7", "did you mean 'latest'?"),
        (days, "stale", "quotes"),
    ],
)
def test_errors_suggest(space: PartitionSpace, text: str, says: str) -> None:
    """Reversed ranges and misspelt words."""
    with pytest.raises(PartitaError) as refused:
        space.select(text)
    assert says in str(refused.value)
