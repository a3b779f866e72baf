"""A naive datetime is refused where an instant is meant, and an aware one where a wall time is (law 10)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from partita.assets import DefinitionError, TimePartitions, count_fires, next_fires, previous_fires, space_of
from partita.sdk import Daily, Relation, TimeWindows, asset, materialize
from partita.sdk.testing import definitions

NAIVE = datetime(2026, 3, 1)  # noqa: DTZ001 - that is the point
AWARE = datetime(2026, 3, 1, tzinfo=timezone(timedelta(hours=1)))

DAYS = Daily("2026-01-01")


def _materialized() -> object:
    with definitions():

        @asset(partitions=DAYS)
        def orders() -> Relation:
            return Relation.from_rows([{"n": 1}])

        return materialize(orders, partitions="latest", as_of=NAIVE)


INSTANTS: dict[str, Callable[[], object]] = {
    "space_of": lambda: space_of(DAYS, NAIVE),
    "containing": lambda: space_of(DAYS, datetime(2026, 4, 1, tzinfo=UTC)).containing(NAIVE),  # type: ignore[attr-defined]
    "next_fires": lambda: next_fires("0 0 * * *", "UTC", NAIVE),
    "previous_fires": lambda: previous_fires("0 0 * * *", "UTC", NAIVE),
    "count_fires": lambda: count_fires("0 0 * * *", "UTC", NAIVE, NAIVE),
    "materialize": _materialized,
}
WALL_TIMES: dict[str, Callable[[], object]] = {
    "start": lambda: Daily(AWARE),
    "end": lambda: Daily("2026-01-01", end=AWARE),
    "start as text": lambda: Daily("2026-03-01T00:00+01:00"),
    "windows": lambda: TimeWindows("0 9 * * *", AWARE),
    "the value itself": lambda: TimePartitions("0 0 * * *", AWARE),
}


@pytest.mark.parametrize("call", INSTANTS.values(), ids=INSTANTS)
def test_a_naive_instant_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError) as refused:
        call()
    assert refused.value.what == "instant 2026-03-01T00:00:00 has no time zone"
    assert refused.value.rule == "instants are aware datetimes"
    assert refused.value.fix == "use datetime(..., tzinfo=UTC)"


@pytest.mark.parametrize("call", WALL_TIMES.values(), ids=WALL_TIMES)
def test_an_aware_wall_time_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError, match=r"2026-03-01T00:00:00\+01:00 carries an offset") as refused:
        call()
    assert refused.value.rule == "start and end are local wall times in tz"
    assert "write it without offset and give tz=" in refused.value.fix
