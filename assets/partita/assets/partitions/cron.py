"""Cron expressions: parsing, and refusal of wrong ones.

Five fields (minute hour day-of-month month weekday) or an alias (`@daily`). Day of month and weekday are ORed
when both are restricted; a field is unrestricted only when it is exactly `*` or `?`. `L`, `5L` and `wed#3` are
understood. An expression is its times of day (minutes) and a rule of days. Counting days is `days.py`'s matter, what
the clock changes of a zone do to fire times is `grid.py`'s.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from functools import lru_cache

from partita.assets.errors import DefinitionError

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {name.lower(): i for i, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {name: i for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_ITEM = re.compile(r"(?P<from>\*|[a-z0-9]+)(?:-(?P<to>[a-z0-9]+))?(?:/(?P<step>[0-9]+))?")
_NTH = re.compile(r"(?P<day>[a-z0-9]+)#(?P<nth>[1-5])")
_LAST = re.compile(r"(?:(?P<day>[a-z0-9]+?)l|l(?P<other>[0-7]))")


@dataclass(frozen=True, slots=True)
class DayFields:
    """The three day fields: bits of days (1-31), months (1-12), weekdays (0 = Sunday), and the extensions."""

    days: int
    months: int
    weekdays: int
    any_day: bool
    any_weekday: bool
    last_day: bool = False
    nth_weekdays: tuple[tuple[int, int], ...] = ()
    """(weekday, n-th of the month); n = 0 is the last one."""

    def month_mask(self, year: int, month: int) -> int:
        """Bits (day of month) of the matching days of one month."""
        if not self.months >> month & 1:
            return 0
        first = (calendar.weekday(year, month, 1) + 1) % 7
        length = calendar.monthrange(year, month)[1]
        whole = (1 << length + 1) - 2
        if self.any_day and self.any_weekday:
            return whole
        mask = 0
        if not self.any_day:
            mask |= self.days | (1 << length if self.last_day else 0)
        if not self.any_weekday:
            mask |= self._weekday_mask(first, length)
        return mask & whole

    def _weekday_mask(self, first: int, length: int) -> int:
        mask = 0
        for weekday in range(7):
            if self.weekdays >> weekday & 1:
                mask |= sum(1 << day for day in range(1 + (weekday - first) % 7, length + 1, 7))
        for weekday, nth in self.nth_weekdays:
            dates = range(1 + (weekday - first) % 7, length + 1, 7)
            if nth <= len(dates):
                mask |= 1 << dates[nth - 1]
        return mask

    @property
    def ever(self) -> bool:
        """False when no date can match, as for the 31st of April."""
        if self.any_day or not self.any_weekday:
            return True
        longest = {month: 29 if month == 2 else calendar.monthrange(2024, month)[1] for month in range(1, 13)}
        return self.last_day or any(
            self.months >> month & 1 and self.days & ((1 << longest[month] + 1) - 2) for month in longest
        )


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression. `times` are the minutes of a day at which it fires, ascending."""

    text: str
    times: tuple[int, ...]
    days: DayFields
    interval: bool
    """The minute or hour field begins with `*`: it fires at real instants, not once per wall time."""

    @property
    def once_a_day(self) -> bool:
        """It fires at most once on a local date."""
        return len(self.times) == 1 and not self.interval

    @property
    def once_a_month(self) -> bool:
        """It fires at most once in a month, on the first."""
        return self.once_a_day and self.days.any_weekday and self.days.days == 1 << 1 and not self.days.last_day

    @property
    def once_a_year(self) -> bool:
        """It fires on the first of January only."""
        return self.once_a_month and self.days.months == 1 << 1


@lru_cache(maxsize=1024)
def parse_cron(text: str) -> Cron:
    """Parse a cron expression; raises DefinitionError naming the wrong field."""
    normal = " ".join(text.lower().split())
    normal = ALIASES.get(normal, normal)
    fields = normal.split(" ")
    if len(fields) != 5:
        raise DefinitionError(
            f"cron {text!r} has {len(fields)} fields",
            rule="a cron has five fields (minute hour day-of-month month weekday) or is an alias such as @daily",
            fix='write for example "0 6 * * mon-fri": at six from Monday to Friday',
        )
    minutes = _plain(text, "minute", fields[0], 0, 59)
    hours = _plain(text, "hour", fields[1], 0, 23)
    times = tuple(h * 60 + m for h in range(24) if hours >> h & 1 for m in range(60) if minutes >> m & 1)
    return Cron(normal, times, _day_fields(text, *fields[2:]), fields[0][0] == "*" or fields[1][0] == "*")


def recurring_cron(text: str) -> Cron:
    """As `parse_cron`; raises DefinitionError for one that no date matches, too.

    What is kept and never comes would look as if it worked.

    >>> recurring_cron("0 6 31 2 *")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: cron '0 6 31 2 *' never fires; no date matches its day and month fields; ...
    """
    parsed = parse_cron(text)
    if not parsed.days.ever:
        raise DefinitionError(
            f"cron {text!r} never fires",
            rule="no date matches its day and month fields",
            fix="choose a day that one of its months has; L is the last day of any month",
        )
    return parsed


def _day_fields(text: str, day: str, month: str, weekday: str) -> DayFields:
    day_items = [item for item in day.split(",") if item != "l"]
    days = 0 if day == "?" else _plain(text, "day-of-month", ",".join(day_items), 1, 31) if day_items else 0
    nth: list[tuple[int, int]] = []
    weekday_items: list[str] = []
    for item in weekday.split(","):
        special = _nth_weekday(text, item)
        if special is None:
            weekday_items.append(item)
        else:
            nth.append(special)
    weekdays = 0
    if weekday_items and weekday != "?":
        weekdays = _plain(text, "weekday", ",".join(weekday_items), 0, 7, _WEEKDAYS)
    return DayFields(
        days=days,
        months=_plain(text, "month", month, 1, 12, _MONTHS),
        weekdays=(weekdays | weekdays >> 7) & 0b111_1111,  # 7 is Sunday too
        any_day=day in "*?",
        any_weekday=weekday in "*?",
        last_day="l" in day.split(","),
        nth_weekdays=tuple(sorted(nth)),
    )


def _nth_weekday(text: str, item: str) -> tuple[int, int] | None:
    found = _NTH.fullmatch(item)
    if found:
        return _number(text, "weekday", found["day"], 0, 7, _WEEKDAYS) % 7, int(found["nth"])
    found = _LAST.fullmatch(item)
    if found:
        return _number(text, "weekday", found["day"] or found["other"], 0, 7, _WEEKDAYS) % 7, 0
    return None


def _plain(text: str, name: str, field: str, low: int, high: int, names: dict[str, int] | None = None) -> int:
    mask = 0
    for item in field.split(","):
        found = _ITEM.fullmatch(item)
        if not found or (found["from"] == "*" and found["to"]):
            raise _wrong(text, name, item, low, high)
        start, stop = low, high
        if found["from"] != "*":
            start = _number(text, name, found["from"], low, high, names)
            stop = high if found["step"] else start
        if found["to"]:
            stop = _number(text, name, found["to"], low, high, names)
            if stop == 0 and start > 0 and name == "weekday":
                stop = 7  # fri-sun: Sunday closes the week
        step = int(found["step"] or 1)
        if step < 1 or stop < start:
            raise _wrong(text, name, item, low, high)
        mask |= sum(1 << value for value in range(start, stop + 1, step))
    return mask


def _number(text: str, name: str, word: str, low: int, high: int, names: dict[str, int] | None = None) -> int:
    value = int(word) if word.isascii() and word.isdigit() else (names or {}).get(word[:3] if names else word, -1)
    if not low <= value <= high or (not word.isdigit() and len(word) != 3):
        raise _wrong(text, name, word, low, high)
    return value


def _wrong(text: str, name: str, item: str, low: int, high: int) -> DefinitionError:
    return DefinitionError(
        f"cron {text!r}: {item!r} is not a legal {name}",
        rule=f"a {name} is a number from {low} to {high}, a range a-b, a step */n, or a comma list of these",
    )
