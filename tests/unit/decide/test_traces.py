"""One trace from a request to what it made (S-248)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from partita.core.decide.traces import CAUSE, known_traceparent, span_id, trace_of, traceparent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "x",
        GIVEN[:-1],
        GIVEN.upper(),
        f"ff{GIVEN[2:]}",
        f"{GIVEN}-more",
        GIVEN.replace("00f067aa0ba902b7", "0" * 16),
        GIVEN.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
    ],
)
def test_what_is_no_traceparent_is_ignored(text: str | None) -> None:
    assert known_traceparent(text) is None


def test_a_later_version_may_say_more() -> None:
    assert known_traceparent(f"01{GIVEN[2:]}-more") == GIVEN


def test_a_run_is_in_the_trace_that_asked_for_it_or_in_one_of_its_own() -> None:
    assert trace_of(7, NOW, {CAUSE: GIVEN}) == "4bf92f3577b34da6a3ce929d0e0e4736"
    own = {trace_of(run, at, {}) for run in (7, 8) for at in (NOW, NOW + timedelta(microseconds=1))}
    assert len(own) == 4
    assert known_traceparent(traceparent(trace_of(7, NOW, {CAUSE: "broken"}), "run", 7)) is not None


def test_spans_are_told_apart_by_kind_and_number() -> None:
    spans = {span_id(GIVEN[3:35], kind, n) for kind in ("run", "task", "attempt") for n in (1, 2)}
    assert len(spans) == 6
    assert traceparent(GIVEN[3:35], "attempt", 1) == f"00-{GIVEN[3:35]}-{span_id(GIVEN[3:35], 'attempt', 1)}-01"
