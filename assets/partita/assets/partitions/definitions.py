"""Partition definitions: what users write down about how an asset is sliced.

Frozen values that validate themselves. They know nothing about which partitions exist at an instant; that is
`space_of`. Start and end of a time scheme are local wall times of its zone, so a naive datetime here always means
"wall time in `tz`".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from partita.assets.errors import DefinitionError, suggest
from partita.assets.keys import partition_key
from partita.assets.partitions.business import BusinessDays
from partita.assets.partitions.cron import parse_cron
from partita.assets.partitions.days import day_rule
from partita.assets.partitions.periods import check_named

WallTime = str | date | datetime
Exclusion = str | date | datetime
_SHORT = re.compile(r"(\d{4})(?:-(\d\d))?")
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


@dataclass(frozen=True, slots=True)
class TimePartitions:
    """Windows between the fire times of `cron` at or after `start`, in the zone `tz`.

    `start` and `end` are wall times of `tz`; `end` is exclusive. `horizon=n` admits n windows more than those
    that have closed; a negative n withholds a window until |n| further ones have closed.

    On days that are not of the `calendar` the cron does not fire, so that the window before lasts longer: windows
    tile. An entry of `exclude` (a minute, day, week, month, year, or FROM..TO, both inclusive) takes away the windows
    that start in it and leaves a hole: nothing else changes its windows, and nobody needs what is excluded.
    """

    cron: str
    start: datetime
    end: datetime | None = None
    tz: str = "UTC"
    horizon: int = 0
    exclude: tuple[str, ...] = ()
    calendar: BusinessDays | None = None

    def __post_init__(self) -> None:
        parsed = parse_cron(self.cron)
        if not parsed.days.ever:
            raise DefinitionError(f"cron {self.cron!r} never fires", rule="no date matches its day and month fields")
        if self.calendar is not None:
            day_rule(parsed.days, self.calendar)  # refuses a cron that never fires on its days
        object.__setattr__(self, "cron", parsed.text)
        for one in self.exclude:
            check_named(one)
        zone(self.tz)
        for name, wall in (("start", self.start), ("end", self.end)):
            if wall is not None and wall.tzinfo is not None:
                raise DefinitionError(
                    f"{name} {wall.isoformat()} carries an offset",
                    rule="start and end are local wall times in tz",
                    fix=f"write it without offset and give tz= (now {self.tz!r})",
                )
        if self.end is not None and self.end <= self.start:
            raise DefinitionError(
                f"end {self.end.isoformat()} is not after start {self.start.isoformat()}", rule="end is exclusive"
            )


@dataclass(frozen=True, slots=True)
class StaticPartitions:
    """A fixed list of keys, in the order given."""

    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise DefinitionError("a static partition scheme has no keys", fix="give at least one key")
        for key in self.keys:
            partition_key(key)
        if len(set(self.keys)) != len(self.keys):
            twice = next(key for key in self.keys if self.keys.count(key) > 1)
            raise DefinitionError(f"static key {twice!r} is given twice", rule="keys are unique within a scheme")


DYNAMIC_CAP = 25_000
"""How many keys a dynamic scheme may have when its definition says nothing."""


@dataclass(frozen=True, slots=True)
class DynamicPartitions:
    """Keys added and removed at run time, kept under `name` by the control plane.

    At most `cap` keys at once; a key is gone `ttl_s` seconds after it was last added (None: never).
    """

    name: str
    cap: int = DYNAMIC_CAP
    ttl_s: float | None = None

    def __post_init__(self) -> None:
        partition_key(self.name)
        if self.cap < 1:
            raise DefinitionError(f"dynamic partitions {self.name!r}: cap={self.cap}", rule="a cap is one or more")
        if self.ttl_s is not None and self.ttl_s <= 0:
            raise DefinitionError(
                f"dynamic partitions {self.name!r}: ttl of {self.ttl_s} s", rule="a time to live is more than nothing"
            )


SinglePartitions = TimePartitions | StaticPartitions | DynamicPartitions


@dataclass(frozen=True, slots=True)
class MultiPartitions:
    """The product of two or more named single-dimension schemes; the first dimension is the outermost."""

    dims: tuple[tuple[str, SinglePartitions], ...]

    def __post_init__(self) -> None:
        if len(self.dims) < 2:
            raise DefinitionError(
                f"a multi partition scheme has {len(self.dims)} dimension(s)",
                rule="it has two or more",
                fix="use the single scheme itself",
            )
        for name, inner in self.dims:
            if not name.isidentifier():
                raise DefinitionError(f"dimension name {name!r} is not an identifier")
            if isinstance(inner, MultiPartitions):
                raise DefinitionError(
                    f"dimension {name!r} is itself multi-dimensional", fix="list all dimensions side by side"
                )
        if len({name for name, _ in self.dims}) != len(self.dims):
            raise DefinitionError("a dimension name is given twice", rule="dimension names are unique")

    def __iter__(self) -> Iterator[tuple[str, SinglePartitions]]:
        return iter(self.dims)


PartitionsDef = SinglePartitions | MultiPartitions


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The time zone called `name`; raises DefinitionError with a suggestion."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise DefinitionError(
            f"time zone {name!r} is not known",
            rule="tz is an IANA name such as 'Europe/Berlin'",
            fix=suggest(name, available_timezones()),
        ) from None


def wall_time(value: WallTime) -> datetime:
    """Read a local wall time: ISO text ("2013", "2013-01", "2013-01-01", "2013-01-01T06:00"), date or datetime."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    short = _SHORT.fullmatch(value)
    try:
        if short:
            return datetime(int(short[1]), int(short[2] or 1), 1)  # noqa: DTZ001 - wall times are naive
        return datetime.fromisoformat(value)
    except ValueError:
        raise DefinitionError(
            f"{value!r} is not a wall time", rule="wall times are ISO text such as 2013-01-01 or 2013-01-01T06:00"
        ) from None


def TimeWindows(
    cron: str,
    start: WallTime,
    *,
    end: WallTime | None = None,
    tz: str = "UTC",
    horizon: int = 0,
    exclude: Sequence[Exclusion] = (),
    calendar: BusinessDays | None = None,
) -> TimePartitions:
    """Windows between the fire times of any cron.

    >>> TimeWindows("0 9 * * *", "2026-01-01", calendar=BusinessDays(holidays=["2026-12-25"])).cron
    '0 9 * * *'
    """
    texts = tuple(_excluded(one) for one in ([exclude] if isinstance(exclude, str) else exclude))
    stop = None if end is None else wall_time(end)
    return TimePartitions(cron, wall_time(start), stop, tz, horizon, texts, calendar)


def _excluded(one: Exclusion) -> str:
    if isinstance(one, datetime):
        return one.isoformat(timespec="minutes")
    return one.isoformat() if isinstance(one, date) else one


def Hourly(
    start: WallTime,
    *,
    end: WallTime | None = None,
    tz: str = "UTC",
    horizon: int = 0,
    exclude: Sequence[Exclusion] = (),
    calendar: BusinessDays | None = None,
    minute: int = 0,
) -> TimePartitions:
    """One partition an hour, cut at `minute` past."""
    _within("minute", minute, 0, 59)
    return TimeWindows(f"{minute} * * * *", start, end=end, tz=tz, horizon=horizon, exclude=exclude, calendar=calendar)


def Daily(
    start: WallTime,
    *,
    end: WallTime | None = None,
    tz: str = "UTC",
    horizon: int = 0,
    exclude: Sequence[Exclusion] = (),
    calendar: BusinessDays | None = None,
    hour: int = 0,
    minute: int = 0,
) -> TimePartitions:
    """One partition a local day, cut at `hour`:`minute`."""
    _within("hour", hour, 0, 23)
    _within("minute", minute, 0, 59)
    return TimeWindows(
        f"{minute} {hour} * * *", start, end=end, tz=tz, horizon=horizon, exclude=exclude, calendar=calendar
    )


def Weekly(
    start: WallTime,
    *,
    end: WallTime | None = None,
    tz: str = "UTC",
    horizon: int = 0,
    exclude: Sequence[Exclusion] = (),
    calendar: BusinessDays | None = None,
    day: str = "monday",
    hour: int = 0,
    minute: int = 0,
) -> TimePartitions:
    """One partition a week, cut on `day` (English name) at `hour`:`minute`."""
    if day.lower() not in _WEEKDAYS:
        raise DefinitionError(f"{day!r} is not a day of the week", fix=suggest(day.lower(), _WEEKDAYS))
    _within("hour", hour, 0, 23)
    _within("minute", minute, 0, 59)
    cron = f"{minute} {hour} * * {_WEEKDAYS.index(day.lower())}"
    return TimeWindows(cron, start, end=end, tz=tz, horizon=horizon, exclude=exclude, calendar=calendar)


def Monthly(
    start: WallTime,
    *,
    end: WallTime | None = None,
    tz: str = "UTC",
    horizon: int = 0,
    exclude: Sequence[Exclusion] = (),
    calendar: BusinessDays | None = None,
    day: int = 1,
    hour: int = 0,
    minute: int = 0,
) -> TimePartitions:
    """One partition a month, cut on its `day` (1-28, so that no month is skipped) at `hour`:`minute`."""
    _within("day", day, 1, 28)
    _within("hour", hour, 0, 23)
    _within("minute", minute, 0, 59)
    return TimeWindows(
        f"{minute} {hour} {day} * *", start, end=end, tz=tz, horizon=horizon, exclude=exclude, calendar=calendar
    )


def Static(*keys: str) -> StaticPartitions:
    """A fixed list of keys."""
    return StaticPartitions(keys)


def Dynamic(name: str, *, cap: int = DYNAMIC_CAP, ttl: timedelta | None = None) -> DynamicPartitions:
    """Keys that come and go at run time, under `name`: at most `cap` at once, each gone `ttl` after it was last added."""
    return DynamicPartitions(name, cap, None if ttl is None else ttl.total_seconds())


def Multi(**dims: SinglePartitions) -> MultiPartitions:
    """The product of named dimensions, the first outermost."""
    return MultiPartitions(tuple(dims.items()))


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise DefinitionError(f"{name}={value} is out of range", rule=f"{name} is from {low} to {high}")
