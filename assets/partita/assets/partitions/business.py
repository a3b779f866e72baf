"""Business calendars: the days on which a cron may fire.

A calendar is data: weekdays and a list of holidays, so that it is hashed, shipped and counted by arithmetic. It knows no
zone; its days are local dates of the scheme that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from partita.assets.errors import DefinitionError, suggest

_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
WORKDAYS = ("mon", "tue", "wed", "thu", "fri")


@dataclass(frozen=True, init=False)
class BusinessDays:
    """The days of some weekdays (Monday to Friday by default) that are no holidays.

    >>> BusinessDays(holidays=["2026-12-25"])
    <BusinessDays mon,tue,wed,thu,fri without 1 holiday>
    """

    weekdays: tuple[str, ...]
    holidays: tuple[date, ...]
    mask: int = field(compare=False)
    """Bits of the weekdays, 0 = Sunday."""
    off: tuple[int, ...] = field(compare=False)
    """The holidays on those weekdays, as ordinals, ascending."""

    def __init__(self, weekdays: Sequence[str] = WORKDAYS, holidays: Sequence[str | date] = ()) -> None:
        bits = {_weekday(one) for one in weekdays}
        if not bits:
            raise DefinitionError("a business calendar has no weekdays", fix="name at least one")
        days = sorted({_day(one) for one in holidays})
        mask = sum(1 << bit for bit in bits)
        object.__setattr__(self, "weekdays", tuple(name for bit, name in enumerate(_NAMES) if bit in bits))
        object.__setattr__(self, "holidays", tuple(days))
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "off", tuple(one.toordinal() for one in days if mask >> one.toordinal() % 7 & 1))

    def __repr__(self) -> str:
        count = len(self.holidays)
        return f"<BusinessDays {','.join(self.weekdays)} without {count} holiday{'' if count == 1 else 's'}>"


def _weekday(name: str) -> int:
    short = name.lower()[:3]
    if short not in _NAMES:
        raise DefinitionError(f"{name!r} is not a day of the week", fix=suggest(name.lower(), _NAMES))
    return _NAMES.index(short)


def _day(value: str | date) -> date:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else date(value.year, value.month, value.day)
    except ValueError:
        raise DefinitionError(f"holiday {value!r} is not a day", rule="holidays are dates such as 2026-12-25") from None
