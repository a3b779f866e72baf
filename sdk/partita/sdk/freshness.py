"""By when an asset's data is to be there: the word `Freshness` and its errors.

What is due when, and whether it was there, is decided by the control plane without a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from partita.assets import DefinitionError, FreshnessSpec
from partita.assets.durations import Duration, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """A promise about an asset, looked at without runs: who breaks it is late, and people are told.

    `max_lag` (seconds, a timedelta, or a text such as "2h"): each window is there so long after it closed; an asset without
    windows was made no longer ago than that. `by` instead: at this local time ("09:00") in the zone `tz`, on `days` (the last
    field of a cron, such as "mon-fri"), what had closed when the day began is there; an asset without windows was made on that
    day. `objective` is the part of the time that it is to be fresh over the last `over` (30 days): the rest is its error budget,
    and people are told when that burns too fast. Raises DefinitionError.

    >>> @asset(partitions=Daily("2026-03-01"), freshness=Freshness(max_lag="2h", objective=0.99))
    ... def orders() -> Relation: ...
    >>> Freshness(by="09:00", tz="Europe/Berlin", days="mon-fri").spec().text
    'by 09:00 Europe/Berlin on mon-fri'
    >>> Freshness(by="9 o'clock", tz="Europe/Berlin")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: Freshness(by="9 o'clock"): ...
    """

    max_lag: Duration | None = None
    by: str | None = None
    tz: str | None = None
    days: str = "*"
    objective: float | None = None
    over: Duration = "30d"

    def __post_init__(self) -> None:
        if self.by is not None and self.tz is None:
            raise DefinitionError(
                f"Freshness(by={self.by!r}) has no time zone",
                rule="a time of day is one of a zone",
                fix='write for example tz="Europe/Berlin", or tz="UTC"',
            )
        if self.by is None and (self.tz is not None or self.days != "*"):
            raise DefinitionError(
                f"Freshness(tz={self.tz!r}, days={self.days!r})",
                rule="a zone and days belong to a time of day",
                fix='write for example by="09:00", or leave them out',
            )
        self.spec()

    def spec(self) -> FreshnessSpec:
        """Its snapshot form, with all times in seconds."""
        lag_s = None if self.max_lag is None else seconds(self.max_lag, what="Freshness(max_lag=)")
        over_s = seconds(self.over, what="Freshness(over=)")
        try:
            return FreshnessSpec(
                max_lag_s=lag_s,
                by=self.by,
                tz=self.tz or "UTC",
                days=self.days,
                objective=self.objective,
                over_s=over_s,
            )
        except ValidationError as refused:
            said = {name: getattr(self, name) for name in ("max_lag", "by", "days", "objective") if getattr(self, name)}
            shown = ", ".join(f"{name}={value!r}" for name, value in said.items() if value != "*")
            raise DefinitionError(
                f"Freshness({shown}): {refused.errors()[0]['msg'].removeprefix('Value error, ')}",
                rule="it has max_lag or by; an objective is a part of the time below 1, over 1 to 90 days",
                fix='write for example Freshness(max_lag="2h", objective=0.99)',
            ) from None


def checked_freshness(given: object, owner: str) -> Freshness | None:
    """What `freshness=` of an asset says; refuses what is no policy."""
    if given is None or isinstance(given, Freshness):
        return given
    raise DefinitionError(
        f"{owner}: freshness={given!r}",
        rule="it is a Freshness",
        fix='write for example freshness=Freshness(max_lag="2h")',
    )
