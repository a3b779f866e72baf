"""Durations, retries, batches and automation as users write them and as the snapshot carries them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    BatchSpec,
    Daily,
    DefinitionError,
    Dynamic,
    Hourly,
    Multi,
    PartitionsDef,
    PartitionSet,
    Rolling,
    Static,
    StaticTable,
    TimeOverlap,
    space_of,
)
from partita.assets.durations import seconds
from partita.core.planner.batches import batches_of
from partita.sdk import (
    RetryPolicy,
    all_,
    any_size,
    by_dimension,
    enumerated,
    last,
    overlap,
    per,
    rolling,
    specific,
    table,
    up_to,
)
from partita.sdk.batches import tasks_of
from partita.sdk.policies import SINGLE

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "found_s"),
    [(30, 30), (0.5, 0.5), ("30s", 30), ("1.5h", 5400), ("250ms", 0.25), (" 2 d ", 172800), (timedelta(minutes=1), 60)],
)
def test_durations(written: Any, found_s: float) -> None:
    assert seconds(written, what="x") == found_s


@pytest.mark.parametrize("written", ["", "30", "1h30m", -1, "-1s", True, None, float("nan"), float("inf")])
def test_what_is_no_duration(written: Any) -> None:
    with pytest.raises(DefinitionError, match="the wait is"):
        seconds(written, what="the wait")


def test_a_retry_policy_in_the_snapshot() -> None:
    spec = RetryPolicy(3, delay="30s", backoff="exponential", max_delay="5m", jitter=0.5).spec()
    assert spec.model_dump() == {
        "max_retries": 3, "delay_s": 30.0, "backoff": "exponential", "max_delay_s": 300.0, "jitter": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [{"jitter": 2}, {"delay": "x"}, {"max_delay": -1}, {"backoff": "linear"}])
def test_a_retry_policy_is_checked_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        RetryPolicy(1, **wrong)


SCHEME = Multi(hour=Hourly("2013-11-01", end="2013-11-05", tz="America/New_York"), origin=Static("EWR", "JFK", "LGA"))
BATCHES: list[tuple[BatchSpec, PartitionsDef | None]] = [
    (SINGLE.spec, SCHEME),
    (up_to(7).spec, SCHEME),
    (any_size().spec, SCHEME),
    (per(hour="1d", origin=all_).spec, SCHEME),
    *((per(hour=size).spec, SCHEME) for size in ("90min", "6h", "2d", "1w", "1mo", "1y")),
    (per(origin=all_).spec, SCHEME),
    (per(hour=all_).spec, SCHEME),
    (up_to(3).spec, Daily("2013-01-01", end="2013-02-01")),
    (SINGLE.spec, None),
]


@given(st.sampled_from(BATCHES), st.sets(st.integers(0, 290)))
def test_a_batch_cuts_in_process_as_the_planner_does(
    case: tuple[BatchSpec, PartitionsDef | None], some: set[int]
) -> None:
    batch, scheme = case
    space = space_of(scheme, AS_OF)
    cells = PartitionSet.from_ordinals(one for one in some if one < space.size)
    if not cells:
        return
    assert tasks_of(batch, space, cells) == [list(one) for one in batches_of(batch, space, cells)]


def test_one_task_a_local_day_also_when_the_clocks_change() -> None:
    space = space_of(SCHEME, AS_OF)
    tasks = tasks_of(per(hour="1d", origin=all_).spec, space, space.all())
    assert [len(one) for one in tasks] == [72, 72, 75, 72]


def test_the_mapping_words() -> None:
    assert repr(all_()) == "All()"
    assert (overlap(-1, 0).offset_start, last(), specific("a", "b").keys) == (-1, last(), ("a", "b"))
    assert table({"x": "a", "y": ["b", "c"]}).table == (("x", ("a",)), ("y", ("b", "c")))
    pairs = by_dimension(day="day", origin=all_, hour=("day", overlap()), zone=specific("z")).pairs
    assert [(one.up, one.down, type(one.mapping).__name__) for one in pairs] == [
        ("day", "day", "Identity"), ("origin", None, "All"), ("hour", "day", "TimeOverlap"), ("zone", None, "Specific"),
    ]  # fmt: skip


def test_rolling_says_its_length_once() -> None:
    assert rolling(7) == TimeOverlap(-6, 0)
    assert rolling(1, edge="clip") == TimeOverlap(0, 0, edge="clip")
    assert rolling(days=7, edge="clip") == Rolling(7, "days", "clip")
    assert overlap(-1, -1, unit="upstream") == TimeOverlap(-1, -1, "upstream")
    with pytest.raises(DefinitionError, match="needs one length"):
        rolling()
    with pytest.raises(DefinitionError, match="needs one length"):
        rolling(7, days=7)
    with pytest.raises(DefinitionError, match=r"rolling\(0\)"):
        rolling(0)
    with pytest.raises(DefinitionError, match="a rolling window of 0 days"):
        rolling(days=0)


def test_an_enumerated_mapping_is_a_table_of_all_own_keys() -> None:
    """Computed where the location is loaded, and shipped as data."""
    word = enumerated(lambda key: [f"{key}1", f"{key}2"] if key != "c" else [])
    rows = word.rows(Static("a", "b", "c"), "asset 'x'")
    assert rows == StaticTable((("a", ("a1", "a2")), ("b", ("b1", "b2")), ("c", ())))
    pairs = enumerated(lambda key: [(key, "EWR")]).rows(Static("a"), "asset 'x'")
    assert pairs.table == (("a", ('["a","EWR"]',)),)
    days = enumerated(lambda key: key[:7]).rows(Daily("2026-01-30", end="2026-02-02"), "asset 'x'")
    assert days.table[-1] == ("2026-02-01", ("2026-02",))


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        (Daily("2026-01-01"), "some that are not known yet"),
        (Dynamic("d"), "some that are not known yet"),
        (Multi(day=Daily("2026-01-01"), shop=Static("a")), "dimension 'day' has some"),
        (Hourly("2000-01-01", end="2026-01-01"), "table of 227,928 rows"),
        (Static("a", "boom"), "failed for partition 'boom': KeyError"),
    ],
)
def test_an_enumerated_mapping_needs_known_keys_and_a_sound_function(scheme: PartitionsDef, says: str) -> None:
    with pytest.raises(DefinitionError, match=says) as refused:
        enumerated(lambda key: {"a": ["x"]}[key]).rows(scheme, "asset 'x'")
    assert "asset 'x'" in str(refused.value)
