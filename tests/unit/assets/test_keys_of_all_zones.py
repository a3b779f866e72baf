"""key(window(key)) == key in every zone of tzdata, around every change of its clock (S-049)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import available_timezones

import pytest

from partita.assets import TimePartitions, space_of
from partita.assets.partitions.time import TimeSpace
from partita.assets.partitions.zones import changes_in, from_epoch

ZONES = sorted(available_timezones())
CRONS = ("0 * * * *", "0 0 * * *", "30 2 * * *", "45 23 * * *", "0 0 * * 0", "*/30 1,2 * * *", "0 0 1 * *")
AROUND = 3


def _round_trips(zone: str, cron: str, years: Iterable[int]) -> int:
    years = list(years)
    start = datetime(years[0], 1, 2)  # noqa: DTZ001 - wall time
    space = space_of(TimePartitions(cron, start, tz=zone), datetime(years[-1] + 1, 1, 2, tzinfo=UTC))
    assert isinstance(space, TimeSpace)
    seen: dict[str, int] = {}
    for change in (one for year in years for one in changes_in(zone, year)):
        middle = space.first_from(from_epoch(change.at))
        for ordinal in range(max(middle - AROUND, 0), min(middle + AROUND, space.size)):
            key = space.key_at(ordinal)
            window = space.window_at(ordinal)
            assert space.find(key) == ordinal, (zone, cron, key)
            assert space.containing(window.start) == ordinal, (zone, cron, key)
            assert window.start < window.end
            assert seen.setdefault(key, ordinal) == ordinal, f"{zone} {cron}: {key} names two windows"
    return len(seen)


def test_keys_name_their_windows_in_every_zone() -> None:
    """Recent years, two crons a zone, all crons in turn."""
    found = 0
    for place, zone in enumerate(ZONES):
        for cron in ("0 * * * *", CRONS[place % len(CRONS)]):
            found += _round_trips(zone, cron, (2010 + place % 12,))
    assert found > len(ZONES)


@pytest.mark.prove
@pytest.mark.parametrize("cron", CRONS)
def test_keys_name_their_windows_in_every_zone_and_year(cron: str) -> None:
    for zone in ZONES:
        _round_trips(zone, cron, range(1850, 2038))
