"""The tables `[[alert]]`, `[owners]` and `[[maintenance]]` of `partita.toml`. Owns their schema; what they mean is `rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from partita.assets import DefinitionError, check_cron
from partita.assets.durations import seconds
from partita.core.store.values_alert_kinds import AlertKind, Severity


def _seconds(value: Any) -> float:
    try:
        return seconds(value, what="the duration")
    except DefinitionError as error:
        raise ValueError(f"{error.what}; {error.rule}; {error.fix}") from error


DurationS = Annotated[float, BeforeValidator(_seconds)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class AlertConfig(_Table):
    """One rule. `to` empty: the owners of the assets are told. What comes within `wait` is one notice, and a target gets at most
    one notice of a rule `every` so often: what comes meanwhile is in the next one."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    on: tuple[AlertKind, ...] = Field(min_length=1)
    assets: str = "*"
    owner: str | None = None
    severity: Severity = Severity.WARNING
    to: tuple[str, ...] = ()
    blocked_after: DurationS = 6 * 3600.0
    recovery: bool = False
    wait: DurationS = 10.0
    every: DurationS = 60.0


class OwnerConfig(_Table):
    """Where an owner is told; the owner `*` stands for everybody who has no entry, and for what has no owner."""

    to: tuple[str, ...] = ()
    runbook: str | None = None


class MaintenanceConfig(_Table):
    """Notices about these assets wait: from `start` to `end`, or for `lasts` from each time of `cron` in `tz`."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    assets: str = "*"
    start: datetime | None = None
    end: datetime | None = None
    cron: str | None = None
    tz: str = "UTC"
    lasts: DurationS | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        once, again = self.start is not None and self.end is not None, self.cron is not None and bool(self.lasts)
        if once is again or (self.start is None) is not (self.end is None):
            raise ValueError(f"maintenance `{self.name}` has neither `start` and `end` nor `cron` and `lasts`, or both")
        for instant in (self.start, self.end):
            if instant is not None and instant.tzinfo is None:
                raise ValueError(f"maintenance `{self.name}`: {instant} has no offset; write 2026-03-01T22:00:00Z")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError(f"maintenance `{self.name}` ends before it starts")
        if self.cron is not None:
            try:
                check_cron(self.cron, self.tz)
            except DefinitionError as error:
                raise ValueError(f"maintenance `{self.name}`: {error.what}; {error.rule}") from error
        return self


def check_names(alerts: Sequence[AlertConfig]) -> None:
    """Raises ValueError for a name that comes twice."""
    names = [one.name for one in alerts]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"alert `{min(twice)}` is there twice; give each [[alert]] a name of its own")


def unset_variables(
    alerts: Sequence[AlertConfig], owners: Mapping[str, OwnerConfig], environ: Mapping[str, str]
) -> list[tuple[str, str]]:
    """(place, variable) of each address that is to come from a variable that is not there, or is empty."""
    places = [(f"alert `{one.name}`", one.to) for one in alerts]
    places += [(f"owner `{name}`", one.to) for name, one in owners.items()]
    return [
        (where, url[1:]) for where, urls in places for url in urls if url.startswith("$") and not environ.get(url[1:])
    ]
