"""The wire form of a freshness policy: by when an asset's data is to be there, and how much of the time (S-205).

Owns the form and what makes a policy illegal; when something is due by it is worked out in the control plane.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from partita.assets.errors import PartitaError
from partita.assets.partitions.fires import check_cron
from partita.assets.scheme_specs import Spec

DAY_S = 86_400.0


class FreshnessSpec(Spec):
    """Either `max_lag_s`: data is there so long after its window closed (without windows: it was made no longer ago), or `by`: at
    this time of day in `tz`, on `days`, what had closed when the day began is there (without windows: it was made on that day).

    `objective` is the part of the time that it is to be fresh, over the last `over_s` seconds; None: nobody counts.

    >>> FreshnessSpec(by="09:00", tz="Europe/Berlin").cron
    '0 9 * * *'
    """

    max_lag_s: float | None = Field(None, gt=0)
    by: str | None = None
    tz: str = "UTC"
    days: str = "*"
    objective: float | None = Field(None, gt=0, lt=1)
    over_s: float = Field(30 * DAY_S, ge=DAY_S, le=90 * DAY_S)

    @model_validator(mode="after")
    def _one_of_both(self) -> FreshnessSpec:
        if (self.max_lag_s is None) == (self.by is None):
            raise ValueError("freshness is by max_lag or by a time of day: one of both")
        if self.by is not None:
            try:
                check_cron(self.cron, self.tz)
            except PartitaError as refused:
                raise ValueError(str(refused)) from None
        return self

    @property
    def cron(self) -> str:
        """When the time of day comes. Empty for a policy by lag."""
        if self.by is None:
            return ""
        hour, colon, minute = self.by.partition(":")
        if not (colon and len(minute) == 2 and hour.isdecimal() and minute.isdecimal()):
            raise ValueError(f"by={self.by!r} is no time of day such as 09:00")
        return f"{int(minute)} {int(hour)} * * {self.days}"

    @property
    def text(self) -> str:
        """The policy as people read it.

        >>> FreshnessSpec(max_lag_s=7200, objective=0.99).text
        'at most 2 h behind, 99 % of 30 d'
        """
        if self.max_lag_s is not None:
            said = f"at most {_span(self.max_lag_s)} behind"
        else:
            said = f"by {self.by} {self.tz}" + (f" on {self.days}" if self.days != "*" else "")
        return said if self.objective is None else f"{said}, {self.objective * 100:g} % of {_span(self.over_s)}"


def _span(span_s: float) -> str:
    for unit, size in (("d", DAY_S), ("h", 3600.0), ("min", 60.0)):
        if span_s >= size and span_s % size == 0 and (unit != "d" or span_s >= 2 * DAY_S):
            return f"{span_s / size:g} {unit}"
    return f"{span_s:g} s"
