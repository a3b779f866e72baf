"""Counting the days on which a cron fires, by arithmetic.

A rule answers how many matching days lie before a day and which day is the n-th; days are proleptic Gregorian
ordinals as in `date.toordinal` (1 = 0001-01-01, a Monday). Knows no times of day and no zones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from datetime import MAXYEAR, date
from functools import lru_cache
from threading import Lock
from typing import Protocol

from partita.assets.errors import DefinitionError
from partita.assets.partitions.business import BusinessDays
from partita.assets.partitions.cron import DayFields

_ALL_MONTHS = 0b1_1111_1111_1110
_ALL_WEEKDAYS = 0b111_1111
_ORIGIN_YEAR = 2000
_CYCLE = (date(2000, 1, 1).toordinal(), date(2028, 1, 1).toordinal())
"""The weekdays of all dates repeat after these 28 years."""


class DayRule(Protocol):
    """Which days match. Counts are relative to an origin of the rule's own choice, and negative before it."""

    def matches(self, day: int) -> bool:
        """True when the rule fires on `day`."""

    def before(self, day: int) -> int:
        """How many matching days lie between the origin and `day`, `day` itself not counted."""

    def nth(self, count: int) -> int:
        """The matching day with exactly `count` before it; raises DefinitionError outside years 1 to 9999."""


@lru_cache(maxsize=256)
def day_rule(fields: DayFields, calendar: BusinessDays | None = None) -> DayRule:
    """The cheapest rule that answers for these fields on the days of a calendar.

    Raises DefinitionError when no such day is one of the calendar.
    """
    if calendar is None:
        return _rule_of(fields, _ALL_WEEKDAYS)
    rule = _rule_of(fields, calendar.mask)
    if rule.before(_CYCLE[1]) == rule.before(_CYCLE[0]):
        raise DefinitionError(
            f"the cron never fires on the days of {calendar!r}", rule="a window starts on a day of the calendar"
        )
    return Without(rule, calendar.off) if calendar.off else rule


def _rule_of(fields: DayFields, weekdays: int) -> DayRule:
    plain_months = fields.any_day and fields.months == _ALL_MONTHS
    if plain_months and fields.any_weekday:
        return EveryDay() if weekdays == _ALL_WEEKDAYS else Weekdays(weekdays)
    if plain_months and not fields.nth_weekdays:
        return Weekdays(fields.weekdays & weekdays)
    return Calendar(fields, weekdays)


class Without:
    """The days of another rule but some (ascending): holidays."""

    def __init__(self, rule: DayRule, days: tuple[int, ...]) -> None:
        self._rule = rule
        self._days = [day for day in days if rule.matches(day)]
        self._taken = set(self._days)
        # The place that each day would have among those left: what comes from there on has moved by one more.
        self._places = [rule.before(day) - i for i, day in enumerate(self._days)]

    def matches(self, day: int) -> bool:
        """A day of the rule that is not taken away."""
        return day not in self._taken and self._rule.matches(day)

    def before(self, day: int) -> int:
        """The rule's count, less those taken away."""
        return self._rule.before(day) - bisect_left(self._days, day)

    def nth(self, count: int) -> int:
        """The rule's day at the place that the count had before."""
        return self._rule.nth(count + bisect_right(self._places, count))


class EveryDay:
    """Every day matches."""

    def matches(self, day: int) -> bool:
        """Always."""
        return True

    def before(self, day: int) -> int:
        """The day's own ordinal."""
        return day

    def nth(self, count: int) -> int:
        """The count itself."""
        return count


class Weekdays:
    """Some days of every week."""

    def __init__(self, weekdays: int) -> None:
        # Day 0 (an ordinal that no date has) is a Sunday, as bit 0 is.
        self._days = [day for day in range(7) if weekdays >> day & 1]
        self._before = [sum(1 for one in self._days if one < day) for day in range(7)]
        self.every_s = 7 * 86_400 if len(self._days) == 1 else None
        """Seconds between matching midnights (without clock changes), when always the same."""

    def matches(self, day: int) -> bool:
        """True on the chosen weekdays."""
        return day % 7 in self._days

    def before(self, day: int) -> int:
        """Whole weeks, then the days of the last one."""
        return day // 7 * len(self._days) + self._before[day % 7]

    def nth(self, count: int) -> int:
        """Whole weeks, then the days of the last one."""
        weeks, rest = divmod(count, len(self._days))
        return weeks * 7 + self._days[rest]


class Calendar:
    """Any rule of days, months and weekdays: a prefix sum over years, grown on demand, then bits of one year."""

    def __init__(self, fields: DayFields, weekdays: int) -> None:
        self._fields = fields
        self._weekdays = weekdays
        self._since = [0]  # matching days from the origin year's start to the start of the k-th year after it
        self._until = [0]  # the same going back, as positive counts
        self._masks: dict[int, tuple[int, ...]] = {}
        self._growing = Lock()  # rules are shared; two threads must not append the same year twice

    def matches(self, day: int) -> bool:
        """True when the bit of the day is set in its month."""
        on = date.fromordinal(day)
        return bool(self._year(on.year)[on.month - 1] >> on.day & 1)

    def before(self, day: int) -> int:
        """Years before, months before, days before."""
        on = date.fromordinal(day)
        masks = self._year(on.year)
        whole = sum(mask.bit_count() for mask in masks[: on.month - 1])
        return self._year_start(on.year) + whole + (masks[on.month - 1] & ((1 << on.day) - 1)).bit_count()

    def nth(self, count: int) -> int:
        """Find the year by the prefix sums, then walk its months."""
        year = self._year_of(count)
        left = count - self._year_start(year)
        for month, mask in enumerate(self._year(year), start=1):
            here = mask.bit_count()
            if left < here:
                return date(year, month, list(_bits(mask))[left]).toordinal()
            left -= here
        raise AssertionError(f"year {year} of {self._fields} was miscounted")

    def _year(self, year: int) -> tuple[int, ...]:
        masks = self._masks.get(year)
        if masks is None:
            masks = self._masks[year] = tuple(self._month(year, month) for month in range(1, 13))
        return masks

    def _month(self, year: int, month: int) -> int:
        mask = self._fields.month_mask(year, month)
        if self._weekdays == _ALL_WEEKDAYS:
            return mask
        first = date(year, month, 1).toordinal() - 1
        return sum(1 << day for day in _bits(mask) if self._weekdays >> (first + day) % 7 & 1)

    def _total(self, year: int) -> int:
        return sum(mask.bit_count() for mask in self._year(year))

    def _year_start(self, year: int) -> int:
        if year >= _ORIGIN_YEAR:
            if len(self._since) <= year - _ORIGIN_YEAR:
                self._grow(self._since, year - _ORIGIN_YEAR, lambda k: _ORIGIN_YEAR + k - 1)
            return self._since[year - _ORIGIN_YEAR]
        if len(self._until) <= _ORIGIN_YEAR - year:
            self._grow(self._until, _ORIGIN_YEAR - year, lambda k: _ORIGIN_YEAR - k)
        return -self._until[_ORIGIN_YEAR - year]

    def _grow(self, sums: list[int], upto: int, year_at: Callable[[int], int]) -> None:
        with self._growing:
            while len(sums) <= upto:
                sums.append(sums[-1] + self._total(year_at(len(sums))))

    def _year_of(self, count: int) -> int:
        if count >= 0:
            while self._since[-1] <= count:
                self._year_start(self._checked(_ORIGIN_YEAR + len(self._since)))
            return _ORIGIN_YEAR + bisect_right(self._since, count) - 1
        while -self._until[-1] > count:
            self._year_start(self._checked(_ORIGIN_YEAR - len(self._until)))
        # The first entry that reaches back far enough; years without a match share a count and are passed over.
        return _ORIGIN_YEAR - bisect_left(self._until, -count)

    def _checked(self, year: int) -> int:
        if not 1 <= year <= MAXYEAR + 1:  # the year after the last bounds the last
            raise DefinitionError("the asked fire time is outside the calendar", rule="years are from 1 to 9999")
        return year


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
