"""Our fire times against croniter's, where both follow the same rules: in UTC no clock ever changes.

Only forward and without one-value ranges: croniter reads `1-1` as everything.
"""

from __future__ import annotations

from datetime import UTC, datetime

from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from partita.assets.partitions.fires import next_fires


def field(low: int, high: int) -> st.SearchStrategy[str]:
    """A cron field: everything, a value, a list, a range, a step."""
    value = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        value.map(str),
        st.lists(value, min_size=2, max_size=3, unique=True).map(lambda some: ",".join(map(str, some))),
        st.tuples(value, value).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.integers(2, 15).map(lambda step: f"*/{step}"),
    )


# Days up to 28 and no mixture of day and weekday: every expression fires, and soon.
expressions = st.one_of(
    st.tuples(field(0, 59), field(0, 23), field(1, 28), field(1, 12), st.just("*")),
    st.tuples(field(0, 59), field(0, 23), st.just("*"), field(1, 12), field(0, 6)),
).map(" ".join)
instants = st.integers(915_148_800, 2_208_988_800).map(lambda second: datetime.fromtimestamp(second, UTC))


@given(expressions, instants)
def test_next_fires_are_croniters(cron: str, at: datetime) -> None:
    theirs = croniter(cron, at)
    expected = [theirs.get_next(datetime) for _ in range(5)]
    assert next_fires(cron, "UTC", at, 5) == expected
