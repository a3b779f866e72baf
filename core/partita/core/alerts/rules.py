"""What the rules of the configuration mean: which facts they fit, who is told, what is held back. Pure.

An address may hold a secret. It is looked up by its place (`alert:nightly#1`, `owner:team:ops#2`) when a notice is sent, and
stands nowhere else: not in the tables, not in logs, not on a screen.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from partita.assets import PartitaError, previous_fires, select_assets
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.config_alerts import AlertConfig, MaintenanceConfig, OwnerConfig
from partita.core.store.values_alerts import AlertKind, Maintenance, Severity

if TYPE_CHECKING:
    from partita.core.config import Config

log = logging.getLogger(__name__)

EVERYBODY = "*"
SEVERITIES = tuple(Severity)
_SOON = timedelta(microseconds=1)

# Where nobody wrote a rule: what needs a person, shown on the page of alerts, and sent to owners that have an entry.
BUILT_IN = AlertConfig(
    name="default",
    on=(
        AlertKind.RETRIES_EXHAUSTED,
        AlertKind.LATE,
        AlertKind.SLO_BURN,
        AlertKind.CHECK_FAILED,
        AlertKind.LOAD_ERROR,
        AlertKind.LOCATION_DOWN,
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One place of the configuration that names an address."""

    name: str
    scheme: str  # of the address: all of it that may be shown; `$NAME` where this process has not that variable
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Fit:
    """The rules that a fact fits, and those owners of its assets that they are about."""

    rules: tuple[AlertConfig, ...]
    owners: tuple[str, ...]

    @property
    def severity(self) -> Severity:
        return max((rule.severity for rule in self.rules), key=SEVERITIES.index)


class Routing:
    """The rules, owners and windows of one configuration."""

    def __init__(
        self,
        alerts: Sequence[AlertConfig] = (),
        owners: Mapping[str, OwnerConfig] | None = None,
        windows: Sequence[MaintenanceConfig] = (),
        *,
        link: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.rules = tuple(alerts) or (BUILT_IN,)
        self.owners = dict(owners or {})
        self.windows = tuple(windows)
        self.link = None if link is None else link.rstrip("/")
        self._named = {rule.name: rule for rule in self.rules}
        found = os.environ if environ is None else environ
        places = [(f"alert:{rule.name}", rule.to) for rule in self.rules]
        places += [(f"owner:{name}", one.to) for name, one in self.owners.items()]
        self._targets = {
            one.name: one
            for place, urls in places
            for one in (_target(f"{place}#{n}", url, found) for n, url in enumerate(urls, 1))
        }

    @classmethod
    def of(cls, config: Config) -> Self:
        return cls(config.alerts, config.owners, config.maintenance, link=config.api.public_url)

    def rule(self, name: str) -> AlertConfig | None:
        return self._named.get(name)

    def heeds(self, kind: AlertKind) -> bool:
        return any(kind in rule.on for rule in self.rules)

    def target(self, name: str) -> Target | None:
        """None: the configuration names it no more."""
        return self._targets.get(name)

    def targets(self, rule: AlertConfig, owners: Collection[str]) -> list[str]:
        """Who is told by a rule: the places it names, else the owners."""
        if rule.to:
            return [f"alert:{rule.name}#{n}" for n in range(1, len(rule.to) + 1)]
        names = {owner if owner in self.owners else EVERYBODY for owner in owners} or {EVERYBODY}
        return [
            f"owner:{name}#{n}" for name in sorted(names & self.owners.keys()) for n, _ in enumerate(self.owners[name].to, 1)
        ]  # fmt: skip

    def lines(self, rules: Iterable[str], owners: Collection[str]) -> list[tuple[str, str]]:
        """(rule, target) of an alert: each target once, by the first of its rules that names it."""
        first: dict[str, str] = {}
        for name in rules:
            rule = self._named.get(name)
            for target in [] if rule is None else self.targets(rule, owners):
                first.setdefault(target, name)
        return [(rule, target) for target, rule in first.items()]

    def runbook(self, owners: Collection[str]) -> str | None:
        entries = (self.owners.get(owner, self.owners.get(EVERYBODY)) for owner in [*owners, EVERYBODY])
        return next((one.runbook for one in entries if one is not None and one.runbook), None)


def _target(name: str, url: str, environ: Mapping[str, str]) -> Target:
    full = environ.get(url[1:], "") if url.startswith("$") else url
    if not full:
        return Target(name, url, "")
    return Target(name, full.partition("://")[0] if "://" in full else "?", full)


class Matcher:
    """The rules over the assets of one catalog."""

    def __init__(self, routing: Routing, catalog: Catalog) -> None:
        self.routing = routing
        self.catalog = catalog
        self._chosen: dict[str, frozenset[str] | None] = {}

    def fit(self, kind: AlertKind, assets: Sequence[CatalogAsset]) -> Fit | None:
        """None: no rule is about it. What has no assets fits the rules that are about everything."""
        rules: list[AlertConfig] = []
        owners: set[str] = set()
        for rule in self.routing.rules:
            if kind not in rule.on:
                continue
            concerned = [one for one in assets if self._concerns(rule, one)]
            if concerned or (not assets and rule.assets == "*" and rule.owner is None):
                rules.append(rule)
                owners |= {one.spec.owner for one in concerned if one.spec.owner is not None}
        return Fit(tuple(rules), tuple(sorted(owners))) if rules else None

    def held_until(
        self, assets: Sequence[CatalogAsset], by_hand: Sequence[Maintenance], now: datetime
    ) -> tuple[datetime, str] | None:
        """The end and the name of the maintenance window that all of it is in; the longest."""
        found: list[tuple[datetime, str]] = []
        for window in self.routing.windows:
            end = window_end(window, now)
            if end is not None and self._all_in(window.assets, assets):
                found.append((end, f"maintenance {window.name}"))
        found += [
            (one.ends_at, window_name(one))
            for one in by_hand
            if one.starts_at <= now < one.ends_at and self._all_in(one.selection, assets)
        ]
        return max(found, default=None)

    def _concerns(self, rule: AlertConfig, asset: CatalogAsset) -> bool:
        if rule.owner is not None and asset.spec.owner != rule.owner:
            return False
        chosen = self._keys(rule.assets, f"alert {rule.name}")
        return chosen is None or asset.key in chosen

    def _all_in(self, selection: str, assets: Sequence[CatalogAsset]) -> bool:
        if selection == "*":
            return True
        chosen = self._keys(selection, "a maintenance window")
        # A selection that means nothing here holds nothing back: somebody is told too much rather than not at all.
        return bool(assets) and chosen is not None and all(one.key in chosen for one in assets)

    def _keys(self, selection: str, whose: str) -> frozenset[str] | None:
        """None: the selection cannot be read over these assets; a rule then counts for all of them."""
        if selection not in self._chosen:
            try:
                self._chosen[selection] = frozenset(select_assets(self.catalog.graph, selection))
            except PartitaError as error:
                log.warning("the assets of %s cannot be selected: %s", whose, str(error).partition("\n")[0])
                self._chosen[selection] = None
        return self._chosen[selection]


def window_name(window: Maintenance) -> str:
    """In whose name a window that was made by hand snoozes alerts."""
    return f"maintenance {window.id} by {window.by}"


def window_end(window: MaintenanceConfig, now: datetime) -> datetime | None:
    """When a window that is open now closes; None when it is not open."""
    if window.start is not None and window.end is not None:
        return window.end if window.start <= now < window.end else None
    assert window.cron is not None
    assert window.lasts is not None
    began = next(iter(previous_fires(window.cron, window.tz, now + _SOON)), None)
    if began is None:
        return None
    end = began + timedelta(seconds=window.lasts)
    return end if now < end else None
