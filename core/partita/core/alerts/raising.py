"""The duty that raises alerts: signals become alerts, new alerts become notices, all in one transaction.

One scheduler does it at a time (`Exclusive.ALERTS`); whatever the number, the open cause and the item of a notice are unique in
the tables, so that a cause is one alert and each target hears of it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from partita.core.alerts import decide
from partita.core.alerts.decide import Fact, Line
from partita.core.alerts.rules import Matcher, Routing
from partita.core.automation.values import ActiveCatalog
from partita.core.catalog import CatalogAsset
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, CellState, Exclusive, NewEvent, TaskId
from partita.core.store.values_alerts import Alert, AlertId, AlertKind, Maintenance, NewAlert, NoticeKind, Signal

SIGNALS = 500

_STILL_OPEN = frozenset({CellState.PENDING, CellState.FAILED})


@dataclass(frozen=True, slots=True)
class Raised:
    """`taken` signals; `raised` causes are new, `ended` ones over; `told` alerts went into notices."""

    taken: int = 0
    raised: int = 0
    ended: int = 0
    told: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.taken + self.raised + self.ended


class Matchers:
    """The matcher of the present catalog; made again when the catalog is another one."""

    def __init__(self, routing: Routing, catalogs: ActiveCatalog) -> None:
        self.routing = routing
        self._catalogs = catalogs
        self._made: Matcher | None = None

    def active(self) -> Matcher:
        catalog = self._catalogs.active()
        if self._made is None or self._made.catalog is not catalog:
            self._made = Matcher(self.routing, catalog)
        return self._made


def raise_alerts(store: Store, matchers: Matchers, limit: int = SIGNALS) -> Raised:
    """Takes up to `limit` signals. Those that no rule is about leave nothing."""
    return store.run(lambda tx: _raise(tx, matchers, limit))


def _raise(tx: Tx, matchers: Matchers, limit: int) -> Raised:
    if not tx.try_duty(Exclusive.ALERTS):
        return Raised()
    signals = tx.take_signals_skip(limit)
    if not signals:
        return Raised()
    matcher = matchers.active()
    heeded = [one for one in signals if matcher.routing.heeds(one.kind)]
    raised, told = write_facts(tx, matcher, _facts(tx, matcher, heeded))
    return Raised(len(signals), raised, 0, told, more=len(signals) == limit, channels=channels(raised))


def channels(moved: int) -> tuple[Channel, ...]:
    return (Channel.EVENT,) if moved else ()


def _facts(tx: Tx, matcher: Matcher, signals: Sequence[Signal]) -> list[tuple[Fact, list[CatalogAsset]]]:
    tasks = sorted({one.task_id for one in signals if one.cell is None and one.task_id is not None})
    cells: dict[TaskId, list[CellRef]] = {}
    for own in tx.task_cells(tasks) if tasks else ():
        if own.state in _STILL_OPEN:
            cells.setdefault(own.task_id, []).append(own.cell)
    found: list[tuple[Fact, list[CatalogAsset]]] = []
    for signal in signals:
        if signal.kind is AlertKind.RUN_FAILED and signal.run_id is not None:
            assets = assets_of(matcher, tx.failed_assets(signal.run_id))
            found.append((_of_run(signal), assets))
            continue
        if signal.cell is None and "asset" in signal.detail:
            found += _of_policy(matcher, signal)
            continue
        own_cells = [signal.cell] if signal.cell is not None else cells.get(signal.task_id or TaskId(0), [])
        found += [(fact, assets) for cell in own_cells for fact, assets in _of_cell(matcher, signal, cell)]
    return found


def _of_run(signal: Signal) -> Fact:
    return Fact(
        signal.kind, f"run {signal.run_id}", signal.at, run_id=signal.run_id, detail=signal.detail
    )  # fmt: skip


def _of_policy(matcher: Matcher, signal: Signal) -> list[tuple[Fact, list[CatalogAsset]]]:
    """A freshness policy is the asset's, whatever its window: it is one cause while the windows go by."""
    asset = matcher.catalog.by_id.get(signal.detail["asset"])
    if asset is None:
        return []
    return [(Fact(signal.kind, asset.key, signal.at, name=f"freshness {asset.id}", detail=signal.detail), [asset])]


def _of_cell(matcher: Matcher, signal: Signal, cell: CellRef) -> Iterable[tuple[Fact, list[CatalogAsset]]]:
    asset = matcher.catalog.by_id.get(cell.asset_id)
    if asset is None:  # retired meanwhile: nobody waits for it
        return
    # What is late is so since somebody asked: it may have come between its deadline and the look that saw the miss.
    asked_at = signal.detail.get("asked_at")
    since = signal.at if asked_at is None else datetime.fromisoformat(asked_at)
    name = str(signal.detail.get("check", ""))
    yield (
        Fact(signal.kind, asset.key, since, cell, signal.run_id, signal.task_id, name, signal.detail),
        [asset],
    )


def assets_of(matcher: Matcher, ids: Iterable[AssetId]) -> list[CatalogAsset]:
    return [matcher.catalog.by_id[one] for one in ids if one in matcher.catalog.by_id]


# ------------------------------------------------------------------------------------------------- shared with the watch
def write_facts(tx: Tx, matcher: Matcher, facts: Sequence[tuple[Fact, Sequence[CatalogAsset]]]) -> tuple[int, int]:
    """Raises the alerts of those facts that rules are about, and tells of the new ones: (new causes, alerts told)."""
    windows: list[Maintenance] | None = None
    alerts: dict[str, NewAlert] = {}
    for fact, assets in facts:
        fit = matcher.fit(fact.kind, assets)
        if fit is None:
            continue
        if windows is None:
            windows = tx.maintenances()
        new = decide.alert_of(fact, fit, matcher.held_until(assets, windows, tx.now()))
        known = alerts.get(new.cause)
        alerts[new.cause] = new if known is None else replace(new, since=max(new.since, known.since))
    if not alerts:
        return 0, 0
    new_ones, _ = tx.put_alerts(list(alerts.values()))
    count = tell(tx, matcher.routing, NoticeKind.PROBLEM, new_ones, _lines(matcher.routing))
    if new_ones:
        tx.append_events([NewEvent("alert", body={"raised": len(new_ones)})])
    return len(new_ones), count


def _lines(routing: Routing) -> Callable[[Alert], Sequence[Line]]:
    return lambda alert: routing.lines(alert.rules, alert.owners)


def tell(
    tx: Tx,
    routing: Routing,
    kind: NoticeKind,
    alerts: Sequence[Alert],
    lines_of: Callable[[Alert], Sequence[Line]] | None = None,
) -> int:
    """Puts these alerts into notices; how many somebody will hear of."""
    find = lines_of or _lines(routing)
    lines: Mapping[AlertId, Sequence[Line]] = {one.id: find(one) for one in alerts}
    wanted = decide.told(kind, alerts, lines, tx.now())
    if not wanted.lines:
        return 0
    where = list(wanted.lines)
    out = decide.outgoing(wanted, tx.lock_forming_notices_skip(where), tx.last_notices(where), routing, tx.now())
    made = tx.insert_notices([one for one, _ in out.new])
    items = list(out.joined)
    for notice_id, (notice, own) in zip(made, out.new, strict=True):
        items += decide.items(own, notice.target, kind, notice_id)
    tx.insert_notice_items(items)
    return len({one.alert_id for one in items})
