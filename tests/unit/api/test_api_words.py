"""What the services say, without a database: verdicts, reasons, selections, strips, health."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import Daily, Dynamic, Hourly, Monthly, Multi, PartitionSet, Static, TimeWindows, Weekly, space_of
from partita.core.cells import STATES, Shown, counts_of
from partita.ui.api.services.asset_views import cadence_of, fresh_to, next_due, ranges_text
from partita.ui.api.services.backfill_views import backfill_view
from partita.ui.api.services.board import moved
from partita.ui.api.services.health import SYMPTOMS, components, needs
from partita.ui.api.services.run_views import progress
from partita.ui.api.services.strips import edges_of, parse_where, strip_of, tallies_of
from partita.ui.api.services.verdict import verdict_of
from partita.ui.api.services.words import seconds_text, wait_text

AT = datetime(2013, 2, 10, 12, tzinfo=UTC)
FRESH, MISSING = STATES.index("fresh"), STATES.index("missing")


@pytest.mark.parametrize(
    ("definition", "cadence"),
    [
        (Hourly("2013-01-01"), "hour"),
        (Daily("2013-01-01"), "day"),
        (Weekly("2013-01-01"), "week"),
        (Monthly("2013-01-01"), "month"),
        (TimeWindows("*/5 * * * *", "2013-01-01"), "other"),
        (Static("a"), None),
        (Dynamic("d"), None),
        (Multi(o=Static("a"), day=Daily("2013-01-01")), "day"),
        (None, None),
    ],
)
def test_the_cadence_is_that_of_the_time_dimension(definition: Any, cadence: str | None) -> None:
    assert cadence_of(definition) == cadence


def test_the_next_window_is_due_at_the_next_fire_and_never_past_the_end() -> None:
    assert next_due(Daily("2013-01-01", tz="America/New_York"), AT) == datetime(2013, 2, 11, 5, tzinfo=UTC)
    assert next_due(Daily("2013-01-01", end="2013-02-10"), AT) is None
    assert next_due(Daily("2013-01-01", end="2013-02-11"), AT) == datetime(2013, 2, 11, tzinfo=UTC)
    assert next_due(Static("a"), AT) is None


def test_fresh_to_is_the_end_of_the_first_unbroken_run() -> None:
    space = space_of(Daily("2013-01-01", end="2013-01-06"), AT)
    codes = np.array([MISSING, FRESH, FRESH, MISSING, FRESH], dtype=np.uint8)
    assert fresh_to(space, codes) == "2013-01-03"
    assert fresh_to(space, np.full(5, FRESH, dtype=np.uint8)) == "2013-01-05"
    assert fresh_to(space, np.full(5, MISSING, dtype=np.uint8)) is None
    grid = space_of(Multi(o=Static("a", "b"), day=Daily("2013-01-01", end="2013-01-04")), AT)
    both = np.array([FRESH, FRESH, MISSING, FRESH, MISSING, MISSING], dtype=np.uint8)
    assert fresh_to(grid, both) == "2013-01-01"


_ODD = st.lists(
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=6).filter(
        lambda text: text == text.strip() and text.isprintable()
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(keys=_ODD, chosen=st.sets(st.integers(0, 5)))
def test_the_text_of_a_static_set_selects_it_again(keys: list[str], chosen: set[int]) -> None:
    """The text beside a drag always stays in step with it, whatever the keys are (law 9)."""
    space = space_of(Static(*keys), AT)
    wanted = PartitionSet.from_ordinals(one for one in chosen if one < space.size)
    text = ranges_text(space, wanted)
    assert (space.select(text) if text else PartitionSet.empty()) == wanted


@pytest.mark.parametrize("word", ["missing", "stale", "Failed", "all", "latest", "latest 3"])
def test_a_key_that_is_a_word_of_the_grammar_is_quoted(word: str) -> None:
    space = space_of(Static("a", word), AT)
    text = ranges_text(space, PartitionSet(((1, 2),)))
    assert text == f'"{word}"'
    assert space.select(text) == PartitionSet(((1, 2),))


@given(keys=_ODD, days=st.tuples(st.integers(0, 4), st.integers(0, 4)), chosen=st.sets(st.integers(0, 5), min_size=1))
def test_the_text_of_a_box_selects_it_again(keys: list[str], days: tuple[int, int], chosen: set[int]) -> None:
    space = space_of(Multi(day=Daily("2013-01-01", end="2013-01-06"), o=Static(*keys)), AT)
    rows = {one for one in chosen if one < len(keys)} or {0}
    low, high = min(days), max(days)
    wanted = PartitionSet.from_ordinals(day * len(keys) + row for day in range(low, high + 1) for row in rows)
    assert space.select(ranges_text(space, wanted)) == wanted


@given(lo=st.integers(0, 50), span=st.integers(0, 500), buckets=st.integers(1, 60))
def test_buckets_tile_the_range_and_differ_by_one_at_most(lo: int, span: int, buckets: int) -> None:
    edges = edges_of(lo, lo + span, buckets)
    assert len(edges) == min(span, buckets)
    assert [one for edge in edges for one in range(*edge)] == list(range(lo, lo + span))
    sizes = {hi - lo for lo, hi in edges}
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(
    codes=st.lists(st.integers(0, len(STATES) - 1), min_size=1, max_size=60),
    rows=st.integers(1, 3),
    buckets=st.integers(1, 70),
)
def test_tallies_are_what_counting_each_bucket_gives(codes: list[int], rows: int, buckets: int) -> None:
    table = np.array([codes[row:] + codes[:row] for row in range(rows)], dtype=np.uint8)
    edges = edges_of(0, len(codes), buckets)
    assert tallies_of(table, edges) == [counts_of(np.ascontiguousarray(table[:, lo:hi])) for lo, hi in edges]


def test_three_dimensions_show_two_and_count_the_third_together() -> None:
    space = space_of(Multi(a=Static("x", "y"), day=Daily("2013-01-01", end="2013-01-04"), b=Static("p", "q", "r")), AT)
    codes = np.full(space.size, MISSING, dtype=np.uint8)
    codes[space.ordinal_of('["y","2013-01-02","q"]')] = FRESH
    strip = strip_of(Shown(space, codes), lo=None, hi=None, buckets=10, where={})
    assert strip.row_dim == "a"
    assert strip.buckets[1].counts == {"fresh": 1, "missing": 5}
    assert strip.rows is not None
    assert [row.buckets[1] for row in strip.rows] == [{"missing": 3}, {"fresh": 1, "missing": 2}]
    fixed = strip_of(Shown(space, codes), lo=None, hi=None, buckets=10, where={"a": "y", "b": "q"})
    assert (fixed.rows, [one.counts for one in fixed.buckets]) == (None, [{"missing": 1}, {"fresh": 1}, {"missing": 1}])


def test_where_is_an_object_of_texts() -> None:
    assert parse_where(None) == {}
    for wrong in ("[1]", "{", '{"a": 1}'):
        with pytest.raises(Exception, match="JSON object"):
            parse_where(wrong)


def test_a_verdict_says_what_it_is_and_what_to_do() -> None:
    """UI.md: a verdict in words, then what to do about it."""
    told = verdict_of(
        {"fresh": 31, "stale": 3, "failed": 1},
        partitioned=True,
        cadence="day",
        external=False,
        fresh_to="2013-01-31",
        next_due_at=AT + timedelta(hours=2),
        now=AT,
        stale_because="weather changed",
        load_error=None,
    )
    assert told.sentence == "Fresh to 2013-01-31. 1 day failed. 3 days are stale: weather changed. Next due in 2 h."
    assert told.advice == "Read the log of the last attempt, then materialize the 1 day again."
    assert told.severity == "bad"


def test_a_verdict_begins_with_a_broken_promise() -> None:
    """S-205: what is fresh by its partitions may be late by its policy."""
    told = verdict_of(
        {"fresh": 1},
        partitioned=False,
        cadence=None,
        external=False,
        fresh_to=None,
        next_due_at=None,
        now=AT,
        stale_because=None,
        load_error=None,
        late_since=AT - timedelta(minutes=90),
    )
    assert (told.sentence, told.severity) == ("Late for 1 h 30 min. Fresh.", "bad")


def test_a_reason_is_a_sentence_even_without_its_evidence() -> None:
    """Law 5: every state that waits has one reason, readable by people."""
    assert wait_text("upstream", {"waiting_on": 1}) == "waits for 1 upstream task"
    assert wait_text("pool_full", {"pool": "warehouse", "slots": 4, "held": 4, "wants": 1}).startswith(
        "waits for pool warehouse"
    )
    assert wait_text("pool_full", None) == "waits for pool ?: ? of ? slots are held, it wants ?"
    assert wait_text("something_new", None) == "something new"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.048, "48 ms"), (3.2, "3.2 s"), (245, "4 min 5 s"), (7200, "2 h"), (100_000, "1 d 3 h")]
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_an_estimate_of_the_end_needs_something_to_go_by() -> None:
    """By what the last minutes made; nothing is told while it is paused, or before three tasks have ended."""
    row = {
        "id": 7, "name": "b", "state": "running", "request": {"selection": "a"}, "run_ids": [3, 5], "created_by": "ada",
        "created_at": AT, "finished_at": None, "max_active": None, "priority": 0, "newest_first": False, "pausable": True,
        "paused_by": None, "paused_at": None, "cancelling": False,
    }  # fmt: skip
    cells = [
        {"asset": "a", "cell_state": "pending", "task_state": "scheduled", "n": 10},
        {"asset": "a", "cell_state": "failed", "task_state": "failed", "n": 2},
    ]
    some, few = {"tasks": 4, "cells": 40, "seconds": 20.0}, {"tasks": 2, "cells": 40, "seconds": 20.0}
    found = backfill_view(row, cells, some)
    assert (found.cells_per_s, found.eta_s, found.unmade, found.run_id) == (2.0, 5.0, 2, 5)
    assert backfill_view(row, cells, few).eta_s is None
    paused = backfill_view(row | {"paused_by": "ada", "paused_at": AT}, cells, some)
    assert (paused.eta_s, paused.paused_by) == (None, "ada")


def test_pending_cells_show_the_state_of_their_task() -> None:
    rows = [
        {"asset": "a", "cell_state": "pending", "task_state": "none", "n": 2},
        {"asset": "a", "cell_state": "published", "task_state": "success", "n": 3},
        {"asset": "a", "cell_state": "upstream_failed", "task_state": "upstream_failed", "n": 1},
    ]
    [one] = progress(rows)
    assert (one.counts, one.total) == ({"scheduled": 2, "fresh": 3, "upstream_failed": 1}, 6)


def test_only_assets_whose_tokens_differ_moved() -> None:
    """Law 4: cost follows what changed."""
    before: Any = {"a": (1,), "b": (1,), "c": (1,)}
    after: Any = {"a": (1,), "b": (2,), "d": (1,)}
    assert moved(before, after) == {"b", "c", "d"}


def test_a_kind_that_must_be_there_and_is_not_comes_as_down_with_its_symptom() -> None:
    """S-039: exactly these components and symptoms."""
    process = {"kind": "worker", "name": "w", "silent_s": 3.0, "last_seen_at": AT}
    found = {one.kind: one for one in components([process], [], pulse_at=AT, now=AT)}
    assert (found["worker"].state, found["worker"].symptom) == ("ok", None)
    assert (found["scheduler"].state, found["scheduler"].symptom) == ("down", SYMPTOMS["scheduler"])
    assert found["database"].state == "ok"
    silent = components([process | {"silent_s": 70.0}], [], pulse_at=AT, now=AT)
    assert {one.kind: one.state for one in silent}["worker"] == "down"


def test_a_dead_process_beside_a_living_one_of_its_kind_does_not_say_that_nothing_starts() -> None:
    dead = {"kind": "scheduler", "name": "old", "silent_s": 70.0, "last_seen_at": AT}
    alone = [one for one in components([dead], [], pulse_at=AT, now=AT) if one.name == "old"]
    assert [one.symptom for one in alone] == [SYMPTOMS["scheduler"]]
    both = components([dead, dead | {"name": "new", "silent_s": 1.0}], [], pulse_at=AT, now=AT)
    told = {one.name: (one.state, one.symptom) for one in both if one.kind == "scheduler"}
    assert told == {"old": ("down", "it ended; another scheduler is at work"), "new": ("ok", None)}


def test_what_no_triggerer_means_is_said() -> None:
    """S-039: "triggerer triggerer is late: None" told nobody what stands still."""
    dead = {"kind": "triggerer", "name": "t1", "silent_s": 30.0, "last_seen_at": AT}
    (need, *_) = needs([], [one for one in components([dead], [], pulse_at=AT, now=AT) if one.kind == "triggerer"], {})
    assert need.text == f"triggerer t1 is late: {SYMPTOMS['triggerer']}"
    forgotten = components([dead | {"silent_s": 9_000.0}], [], pulse_at=AT, now=AT, triggerer_wanted=True)
    assert [(one.name, one.state) for one in forgotten if one.kind == "triggerer"] == [("triggerer", "down")]
    assert "triggerer" not in {one.kind for one in components([], [], pulse_at=AT, now=AT)}, "nothing waits for one"
    both = components([dead | {"silent_s": 70.0}, dead | {"name": "t2", "silent_s": 1.0}], [], pulse_at=AT, now=AT)
    told = {one.name: one.symptom for one in both if one.kind == "triggerer"}
    assert told == {"t1": "it ended; another triggerer has what it watched", "t2": None}


def test_a_code_server_that_ended_is_shown_until_another_one_has_its_location_for_a_while() -> None:
    """Law 10: a list of dead servers that nobody can clear hides the one that matters."""

    def server(address: str, *, ended_s: float | None = None) -> dict[str, Any]:
        end = AT + timedelta(seconds=30) if ended_s is None else AT - timedelta(seconds=ended_s)
        return {"address": address, "location_id": 1, "live": ended_s is None, "lease_expires_at": end}

    def shown(*servers: dict[str, Any]) -> dict[str, str | None]:
        found = components([], servers, pulse_at=AT, now=AT)
        return {one.name: one.symptom for one in found if one.kind == "code-server"}

    lost = SYMPTOMS["code-server"]
    assert shown(server("old", ended_s=9_000.0)) == {"old": lost}
    assert shown(server("old", ended_s=9_000.0), server("new")) == {"new": None}
    assert shown(server("old", ended_s=60.0), server("new")) == {
        "old": "it ended; another one serves its location",
        "new": None,
    }
