"""Policies judged at any instants: the time that is counted as late does not go by who looked when (S-205)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from partita.core.decide.freshness import Answer, Known, judge
from partita.core.store.values_freshness import FreshState

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
END = 120


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def is_late(dues: list[int], came: dict[int, int], minute: int) -> bool:
    """The newest that is due, or a newer one, is not there."""
    due = [n for n, one in enumerate(dues) if one <= minute]
    return bool(due) and not any(came.get(n, END + 1) <= minute for n in range(due[-1], len(dues)))


@given(
    st.lists(st.integers(1, END), min_size=1, max_size=6, unique=True).map(sorted),
    st.dictionaries(st.integers(0, 5), st.integers(0, END)),
    st.lists(st.integers(1, END), max_size=10).map(sorted),
)
def test_lateness_is_counted_the_same_whenever_somebody_looks(
    dues: list[int], came: dict[int, int], looks: list[int]
) -> None:
    known, looked = Known(FreshState.UNKNOWN, at(0), at(0)), 0
    spans: dict[datetime, datetime | None] = {}
    for minute in looks:
        due = [n for n, one in enumerate(dues) if one <= minute]
        new = [n for n in due if dues[n] > looked]
        older = [n for n in due if dues[n] <= looked][-1:]

        def answer(n: int, minute: int = minute, looked: int = looked, known: Known = known) -> Answer:
            met = min((came[m] for m in came if n <= m < len(dues) and came[m] <= minute), default=None)
            if known.state is FreshState.FRESH and dues[n] <= looked and met is not None:
                return Answer(at(dues[n]), at(dues[n]))
            return Answer(at(dues[n]), None if met is None else at(met))

        verdict = judge(known, [answer(n) for n in [*older, *new]], at(minute))
        spans |= dict(verdict.spans)
        assert (verdict.state is FreshState.LATE) == is_late(dues, came, minute)
        assert (verdict.state is FreshState.UNKNOWN) == (not due)
        known, looked = Known(verdict.state, verdict.state_since, known.since), minute
    if looks:
        counted = {
            minute
            for minute in range(looks[-1])
            if any(start <= at(minute) and (end is None or at(minute) < end) for start, end in spans.items())
        }
        assert counted == {minute for minute in range(looks[-1]) if is_late(dues, came, minute)}
        starts = sorted(spans)
        assert all((end := spans[one]) is not None and end < two for one, two in pairwise(starts))


def test_what_was_due_before_the_policy_held_blames_nobody() -> None:
    """A deployment of a policy over a gap is no miss; the next time that something is due is."""
    known = Known(FreshState.UNKNOWN, at(10), at(10))
    before = judge(known, [Answer(at(5), None)], at(20))
    assert (before.state, before.spans) == (FreshState.UNKNOWN, ())
    after = judge(known, [Answer(at(5), None), Answer(at(30), None)], at(31))
    assert (after.state, after.state_since, after.spans) == (FreshState.LATE, at(30), ((at(30), None),))


def test_it_is_fresh_from_the_instant_at_which_the_data_came() -> None:
    known = Known(FreshState.LATE, at(30), at(0))
    found = judge(known, [Answer(at(30), at(41))], at(50))
    assert (found.state, found.state_since, found.spans) == (FreshState.FRESH, at(41), ((at(30), at(41)),))
