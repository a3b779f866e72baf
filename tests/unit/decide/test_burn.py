"""Error budgets: when they burn too fast, against a count minute by minute (the Site Reliability Workbook, chapter 5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.core.decide.burn import budget_s, burning, late_s, next_change, pairs_of
from partita.core.decide.freshness import Span

NOW = datetime(2026, 3, 10, tzinfo=UTC)
MONTH_S = 30 * 86_400.0


def at(minute: float) -> datetime:
    return NOW + timedelta(minutes=minute)


def spans_of(edges: list[int], *, open_ended: bool) -> list[Span]:
    sorted_edges = sorted(set(edges))
    pairs = list(zip(sorted_edges[::2], sorted_edges[1::2], strict=False))
    found: list[Span] = [(at(one), at(two)) for one, two in pairs]
    if open_ended and found:
        found[-1] = (found[-1][0], None)
    return found


spans = st.builds(spans_of, st.lists(st.integers(-5_000, 0), max_size=12), open_ended=st.booleans())
objectives = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.995, 0.999])
periods = st.sampled_from([86_400.0, 7 * 86_400.0, MONTH_S, 90 * 86_400.0])


def counted(late: list[Span], window_s: float, end: datetime) -> float:
    """Minute by minute."""
    minutes = int(window_s // 60)
    starts = [end - timedelta(minutes=n + 1) for n in range(minutes)]
    return 60.0 * sum(any(one <= start and (two is None or start < two) for one, two in late) for start in starts)


@given(spans, objectives, periods)
def test_burning_is_what_the_count_says(late: list[Span], objective: float, over_s: float) -> None:
    budget = (1 - objective) * over_s
    expected = None
    for name, long_s, short_s, part in (
        ("1 h", 3_600, 300, 0.02), ("6 h", 21_600, 1_800, 0.05), ("3 d", 259_200, 21_600, 0.10)
    ):  # fmt: skip
        limit = part * budget
        if part * over_s < long_s or limit > long_s:
            continue
        within = counted(late, long_s, NOW), counted(late, short_s, NOW)
        if within[0] >= limit and within[1] >= limit * short_s / long_s:
            expected = name
            break
    assert burning(late, objective, over_s, NOW) == expected


@given(spans, objectives, periods)
def test_nothing_changes_before_the_next_look(late: list[Span], objective: float, over_s: float) -> None:
    """So that one clock is enough: no burn begins or ends between two looks."""
    until = next_change(late, objective, over_s, NOW)
    said = burning(late, objective, over_s, NOW)
    horizon = NOW + timedelta(days=8) if until is None else until - timedelta(seconds=1)
    step = (horizon - NOW) / 200
    for n in range(201):
        instant = NOW + step * n
        if instant <= horizon:
            assert burning(late, objective, over_s, instant) == said


def test_an_hour_late_of_a_hundredth_burns_within_nine_minutes() -> None:
    """99 % of 30 days are 7.2 h of budget; two per cent of it are 8 min 38 s."""
    begun: list[Span] = [(NOW, None)]
    assert budget_s(0.99, MONTH_S) == pytest.approx(7.2 * 3_600)
    assert burning(begun, 0.99, MONTH_S, at(8.6)) is None
    assert burning(begun, 0.99, MONTH_S, at(8.7)) == "1 h"
    said = next_change(begun, 0.99, MONTH_S, NOW)
    assert said is not None
    assert NOW < said <= at(8.7)


def test_it_ends_soon_after_its_cause() -> None:
    """Five minutes without lateness, though the hour remembers it."""
    over: list[Span] = [(NOW, at(30))]
    assert burning(over, 0.999, MONTH_S, at(30)) == "1 h"
    assert burning(over, 0.999, MONTH_S, at(36)) != "1 h"
    assert late_s(over, NOW, at(60)) == 1_800


def test_what_lateness_alone_cannot_reach_is_left_out() -> None:
    assert [pair.name for pair in pairs_of(0.9, MONTH_S)] == ["6 h", "3 d"]
    assert [pair.name for pair in pairs_of(0.99, 86_400.0)] == []
