"""Names of times as people write them: a minute, or a period (day, ISO week, month, year). Text only, no zones."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from partita.assets.errors import DefinitionError

_PERIOD = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?|-W(?P<week>\d\d))?")
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d(?::\d\d)?(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)?")
_LABEL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[+-]\d\d:\d\d(?::\d\d)?")


def minute_of(text: str) -> datetime | None:
    """The moment that a text names to the minute (to the second in keys of odd zones); naive without an offset."""
    if not _MINUTE.fullmatch(text) and not _LABEL.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def period_of(text: str) -> tuple[date, date] | None:
    """First day and day after the last of a year, month, ISO week or day."""
    found = _PERIOD.fullmatch(text)
    if not found:
        return None
    year = int(found["year"])
    try:
        if found["week"]:
            first = date.fromisocalendar(year, int(found["week"]), 1)
            return first, first + timedelta(days=7)
        if found["day"]:
            first = date(year, int(found["month"]), int(found["day"]))
            return first, first + timedelta(days=1)
        if found["month"]:
            month = int(found["month"])
            return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
        return date(year, 1, 1), date(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return None


def sides_of(text: str) -> tuple[str, str]:
    """The two sides of FROM..TO; a single name is both."""
    first, dots, last = text.partition("..")
    return (first.strip(), last.strip()) if dots else (text.strip(), text.strip())


def check_named(text: str) -> None:
    """Raise DefinitionError unless an exclusion reads as a time, a period, or a range of them in order."""
    begins: list[datetime] = []
    for side in sides_of(text):
        moment, period = minute_of(side), period_of(side)
        if moment is not None:
            begins.append(moment.replace(tzinfo=None))
        elif period is not None:
            begins.append(datetime.combine(period[0], time()))
        else:
            raise DefinitionError(
                f"exclusion {text!r} is not a time",
                rule="an exclusion is a minute, day, week, month or year, or FROM..TO",
                fix="for example 2026-12-25 or 2026-12-24..2026-12-26",
            )
    first, last = sides_of(text)
    period = period_of(last)
    if begins[1] < begins[0] and (period is None or datetime.combine(period[1], time()) <= begins[0]):
        raise DefinitionError(
            f"exclusion {text!r} runs backwards",
            rule="FROM lies before TO",
            fix=f"did you mean {f'{last}..{first}'!r}?",
        )
