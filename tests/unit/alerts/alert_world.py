"""A small world for alerts: the duties over the store in memory, a catalog of owned assets, and an outbox that a test reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.unit.duties.duty_world import LOCATION, SNAPSHOT, World

from partita.assets import AssetSpec, ModuleSpec, Snapshot, asset_key
from partita.core.alerts import Matchers, Raised, Routing, deliver, raise_alerts, watch_alerts
from partita.core.alerts.delivery import Delivered
from partita.core.catalog import Catalog
from partita.core.catalog.values import StoredSnapshot
from partita.core.config_alerts import AlertConfig, MaintenanceConfig, OwnerConfig
from partita.core.store.values import AssetId
from partita.core.store.values_alerts import NoticeKind

OWNERS: Mapping[int, str | None] = {1: "team:ops", 2: "team:ops", 3: "team:bi", 4: None}


@dataclass(frozen=True, slots=True)
class Sent:
    url: str
    title: str
    body: str
    kind: NoticeKind


@dataclass
class Alerts:
    """Assets `s1` to `s4` with the owners above; `down` are addresses that take nothing."""

    world: World
    routing: Routing
    sent: list[Sent] = field(default_factory=list)
    down: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.matchers = Matchers(self.routing, _Catalogs())

    def send(self, url: str, title: str, body: str, kind: NoticeKind, /) -> str | None:
        if url in self.down:
            return self.down[url]
        self.sent.append(Sent(url, title, body, kind))
        return None

    def raised(self) -> Raised:
        return raise_alerts(self.world.store, self.matchers)

    def watch(self) -> Raised:
        return watch_alerts(self.world.store, self.matchers)

    def deliver(self) -> Delivered:
        return deliver(self.world.store, self.routing, send=self.send)

    def told(self, after_s: float = 60.0) -> list[str]:
        """Raises what was signalled, lets time pass, delivers; the titles that were sent by it."""
        self.raised()
        self.world.clock.forward(after_s)
        before = len(self.sent)
        while self.deliver().more:
            pass
        return [one.title for one in self.sent[before:]]

    def alerts(self) -> list[dict[str, Any]]:
        return self.world.rows("alert")


class _Catalogs:
    def __init__(self) -> None:
        specs = tuple(
            AssetSpec(key=f"s{n}", step=f"s{n}", owner=owner, fingerprint=f"{n}") for n, owner in OWNERS.items()
        )
        snapshot = Snapshot(location="main", modules=(ModuleSpec(name="m", ok=True),), assets=specs)
        stored = StoredSnapshot(LOCATION, "main", SNAPSHOT, "v1", snapshot)
        self._catalog = Catalog([stored], {asset_key(f"s{n}"): AssetId(n) for n in OWNERS})

    def active(self) -> Catalog:
        return self._catalog


def rule(name: str = "nightly", *on: str, **more: Any) -> AlertConfig:
    return AlertConfig(name=name, on=on or ("retries_exhausted",), **more)


def alerts_of(
    world: World,
    *rules: AlertConfig,
    owners: Mapping[str, Mapping[str, Any]] | None = None,
    windows: tuple[MaintenanceConfig, ...] = (),
) -> Alerts:
    found = {name: OwnerConfig(**entry) for name, entry in (owners or {}).items()}
    return Alerts(world, Routing(rules, found, windows, link="https://partita.example.com/", environ={}))
