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
from partita.assets.partitions.cron import recurring_cron
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

    >>> Daily("2026-03-01", end="2027-01-01", tz="Europe/Berlin") == TimePartitions(
    ...     "0 0 * * *", datetime(2026, 3, 1), datetime(2027, 1, 1), "Europe/Berlin"
    ... )
    True
    >>> TimePartitions("0 0 30 2 *", datetime(2026, 1, 1))
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: cron '0 0 30 2 *' never fires; no date matches its day and month fields; ...
    """

    cron: str
    start: datetime
    end: datetime | None = None
    tz: str = "UTC"
    horizon: int = 0
    exclude: tuple[str, ...] = ()
    calendar: BusinessDays | None = None

    def __post_init__(self) -> None:
        _of_kind("cron", self.cron, str, 'a text such as "0 6 * * *"')
        _of_kind("horizon", self.horizon, int, "a whole number of windows")
        parsed = recurring_cron(self.cron)
        if self.calendar is not None:
            _of_kind("calendar", self.calendar, BusinessDays, "BusinessDays(...)")
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
    """A fixed list of keys, in the order given.

    >>> StaticPartitions(("EWR", "JFK")) == Static("EWR", "JFK")
    True
    """

    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise DefinitionError("a static partition scheme has no keys", fix="give at least one key")
        for key in self.keys:
            _of_kind("a static key", key, str, "a text")
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

    >>> DynamicPartitions("tenants", ttl_s=86_400.0) == Dynamic("tenants", ttl=timedelta(days=1))
    True
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
"""A scheme of one dimension.

>>> isinstance(Daily("2026-03-01"), SinglePartitions)
True
"""


@dataclass(frozen=True, slots=True)
class MultiPartitions:
    """The product of two or more named single-dimension schemes; the first dimension is the outermost.

    >>> [name for name, scheme in Multi(day=Daily("2026-03-01"), origin=Static("EWR", "JFK"))]
    ['day', 'origin']
    """

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
            if not isinstance(inner, SinglePartitions | MultiPartitions):
                raise DefinitionError(
                    f"dimension {name}={inner!r} is no partition scheme",
                    rule="a dimension is a scheme of times, Static(...) or Dynamic(...)",
                    fix='write for example Daily("2026-01-01")',
                )
            if isinstance(inner, MultiPartitions):
                raise DefinitionError(
                    f"dimension {name!r} is itself multi-dimensional", fix="list all dimensions side by side"
                )
        if len({name for name, _ in self.dims}) != len(self.dims):
            raise DefinitionError("a dimension name is given twice", rule="dimension names are unique")

    def __iter__(self) -> Iterator[tuple[str, SinglePartitions]]:
        return iter(self.dims)


PartitionsDef = SinglePartitions | MultiPartitions
"""Every partition scheme; None stands for an unpartitioned asset.

>>> isinstance(Multi(day=Daily("2026-03-01"), origin=Static("EWR")), PartitionsDef)
True
"""


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The time zone called `name`; raises DefinitionError with a suggestion."""
    _of_kind("tz", name, str, "an IANA name such as 'Europe/Berlin'")
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
    _of_kind("start or end", value, str, "ISO text such as 2013-01-01, a date or a naive datetime")
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
    """Windows between the fire times of any cron (five fields), read in `tz`; the options are those of `Daily`.

    `exclude` takes away the windows that start in a minute, day, week, month, year or FROM..TO. On days that are not
    of the `calendar` the cron does not fire, so that the window before lasts longer. Raises DefinitionError.

    >>> off = BusinessDays(holidays=["2026-12-25"])
    >>> closes = TimeWindows("0 18 * * *", "2026-12-23", tz="America/New_York", calendar=off)
    >>> days = space_of(closes, datetime(2027, 1, 1, tzinfo=UTC))
    >>> days.keys_of(range(days.size))
    ['2026-12-23', '2026-12-24', '2026-12-28', '2026-12-29', '2026-12-30']
    >>> days.window_at(1).end.isoformat()  # over the holiday and the week-end
    '2026-12-28T23:00:00+00:00'
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
    """One partition an hour, cut at `minute` past; the options are those of `Daily`.

    Keys carry the offset, so that both hours of an autumn night are told apart. Raises DefinitionError.

    >>> hours = space_of(Hourly("2026-11-01", tz="America/New_York"), datetime(2026, 11, 1, 8, tzinfo=UTC))
    >>> hours.keys_of(range(4))
    ['2026-11-01T00:00-04:00', '2026-11-01T01:00-04:00', '2026-11-01T01:00-05:00', '2026-11-01T02:00-05:00']
    """
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
    """One partition a local day of `tz` (an IANA name), cut at `hour`:`minute`.

    `start` and `end` (exclusive) are wall times of `tz`: ISO text, date or naive datetime. A day exists once it has
    closed; `horizon` admits that many more (negative: withholds them). The key is the local date. Raises
    DefinitionError for an unknown zone, a wall time with an offset, or an end that is not after the start.

    >>> days = space_of(Daily("2026-03-28", tz="Europe/Berlin"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> days
    <TimeSpace 4: '2026-03-28' .. '2026-03-31'>
    >>> night = days.window_at(days.ordinal_of("2026-03-29"))  # the clocks go forward
    >>> night.end - night.start
    datetime.timedelta(seconds=82800)
    """
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
    """One partition a week, cut on `day` (English name) at `hour`:`minute` local time; the options are those of `Daily`.

    The key is the date on which the week starts; `2026-W10` is read too. Raises DefinitionError.

    >>> weeks = space_of(Weekly("2026-01-01", day="sunday"), datetime(2026, 2, 1, tzinfo=UTC))
    >>> weeks.keys_of(range(weeks.size))
    ['2026-01-04', '2026-01-11', '2026-01-18', '2026-01-25']
    """
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
    """One partition a month, cut on its `day` (1-28, so that no month is skipped) at `hour`:`minute` local time.

    The other options are those of `Daily`. Raises DefinitionError.

    >>> space_of(Monthly("2026-01-01", horizon=1), datetime(2026, 3, 15, tzinfo=UTC)).keys_of(range(3))
    ['2026-01', '2026-02', '2026-03']
    """
    _within("day", day, 1, 28)
    _within("hour", hour, 0, 23)
    _within("minute", minute, 0, 59)
    return TimeWindows(
        f"{minute} {hour} {day} * *", start, end=end, tz=tz, horizon=horizon, exclude=exclude, calendar=calendar
    )


def Static(*keys: str) -> StaticPartitions:
    """A fixed list of keys, in this order. Any printable text is a legal key.

    Raises DefinitionError for no key, a key twice, or one that is empty, has blanks around it or control characters.

    >>> Static("EWR", "JFK", "LGA").keys
    ('EWR', 'JFK', 'LGA')
    >>> Static("EWR", "EWR")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: static key 'EWR' is given twice; keys are unique within a scheme
    """
    return StaticPartitions(keys)


def Dynamic(name: str, *, cap: int = DYNAMIC_CAP, ttl: timedelta | None = None) -> DynamicPartitions:
    """Keys that come and go at run time, under `name`: at most `cap` at once, each gone `ttl` after it was last added
    (None: never).

    Raises DefinitionError for a cap below one or a time to live that is not positive.

    >>> Dynamic("tenants", cap=100, ttl=timedelta(days=30))
    DynamicPartitions(name='tenants', cap=100, ttl_s=2592000.0)
    >>> space_of(Dynamic("tenants"), datetime(2026, 3, 1, tzinfo=UTC), {"tenants": ["acme", "globex"]})
    <KeySpace 2: 'acme' .. 'globex'>
    """
    return DynamicPartitions(name, cap, None if ttl is None else ttl.total_seconds())


def Multi(**dims: SinglePartitions) -> MultiPartitions:
    """The product of two or more named dimensions, the first outermost. Raises DefinitionError.

    Its stored keys are JSON arrays in the order of the dimensions.

    >>> cells = space_of(Multi(day=Daily("2026-03-01"), origin=Static("EWR", "JFK")), datetime(2026, 3, 3, tzinfo=UTC))
    >>> cells.keys_of(range(cells.size))
    ['["2026-03-01","EWR"]', '["2026-03-01","JFK"]', '["2026-03-02","EWR"]', '["2026-03-02","JFK"]']
    """
    return MultiPartitions(tuple(dims.items()))


def _of_kind(name: str, value: object, kind: type, rule: str) -> None:
    """For those who do without a type checker."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DefinitionError(f"{name} is {value!r}", rule=f"it is {rule}")


def _within(name: str, value: int, low: int, high: int) -> None:
    _of_kind(name, value, int, "a whole number")
    if not low <= value <= high:
        raise DefinitionError(f"{name}={value} is out of range", rule=f"{name} is from {low} to {high}")
