"""The duty that looks at what no transaction signals: steps that wait too long, locations that are sick, causes that are over,
snoozes that end. A look every quarter of a minute; its cost follows the open alerts, the open runs and the locations.
"""

from __future__ import annotations

from datetime import timedelta

from partita.core.alerts import decide
from partita.core.alerts.decide import Fact
from partita.core.alerts.raising import Matchers, Raised, assets_of, channels, tell, write_facts
from partita.core.alerts.rules import Matcher
from partita.core.catalog import CatalogAsset
from partita.core.store.port import Store, Tx
from partita.core.store.values import Exclusive, NewEvent
from partita.core.store.values_alerts import AlertKind, NoticeKind

LOOKED_AT = 1_000
KEPT = timedelta(days=30)
"""Alerts and notices that ended are kept so long."""

Facts = list[tuple[Fact, list[CatalogAsset]]]


def watch_alerts(store: Store, matchers: Matchers, limit: int = LOOKED_AT) -> Raised:
    """One look. Raises what is new, ends what is over, wakes what was snoozed, forgets what is old."""
    return store.run(lambda tx: _watch(tx, matchers, limit))


def _watch(tx: Tx, matchers: Matchers, limit: int) -> Raised:
    if not tx.try_duty(Exclusive.ALERTS):
        return Raised()
    routing = matchers.routing
    facts = _new(tx, matchers, limit)
    raised, told = write_facts(tx, matchers.active(), facts) if facts else (0, 0)
    woken = tx.lock_unsnoozed_skip(limit)
    tx.write_alerts([decide.wake(one) for one in woken])
    told += tell(tx, routing, NoticeKind.PROBLEM, tx.lock_alerts([one.id for one in woken])) if woken else 0
    over = tx.lock_over_alerts_skip(limit)
    tx.write_alerts([decide.end(one, tx.now()) for one in over])
    if over:
        lines = decide.recovered(over, tx.told_of([one.id for one in over]), routing)
        told += tell(tx, routing, NoticeKind.RECOVERY, over, lambda alert: lines[alert.id])
        tx.append_events([NewEvent("alert", body={"ended": len(over)})])
    tx.prune_alerts(tx.now() - KEPT, limit)
    more = limit in (len(woken), len(over))
    return Raised(0, raised, len(over), told, more=more, channels=channels(raised + len(over) + len(woken)))


def _new(tx: Tx, matchers: Matchers, limit: int) -> Facts:
    """What rules are about and has no open alert yet."""
    routing = matchers.routing
    found: Facts = []
    if routing.heeds(AlertKind.BLOCKED):
        found += _blocked(tx, matchers.active(), limit)
    if routing.heeds(AlertKind.LOCATION_DOWN) or routing.heeds(AlertKind.LOAD_ERROR):
        found += _sick(tx, matchers)
    return found


def _blocked(tx: Tx, matcher: Matcher, limit: int) -> Facts:
    """Steps that wait for longer than the rule that is about them allows."""
    shortest = min(rule.blocked_after for rule in matcher.routing.rules if AlertKind.BLOCKED in rule.on)
    found: Facts = []
    for one in tx.waiting_steps(tx.now() - timedelta(seconds=shortest), limit):
        assets = assets_of(matcher, [one.asset_id])
        fit = matcher.fit(AlertKind.BLOCKED, assets)
        waited_s = (tx.now() - one.since).total_seconds()
        if fit is None or not assets or waited_s < min(rule.blocked_after for rule in fit.rules):
            continue
        detail = {"step": one.step, "tasks": one.tasks, "reason": one.reason, "waits_since": one.since.isoformat()}
        fact = Fact(
            AlertKind.BLOCKED, assets[0].key, one.since, run_id=one.run_id, name=one.step, detail=detail
        )  # fmt: skip
        found.append((fact, assets))
    known = tx.open_causes([fact.cause for fact, _ in found])
    return [one for one in found if one[0].cause not in known]


def _sick(tx: Tx, matchers: Matchers) -> Facts:
    facts = [fact for one in tx.sick_locations() for fact in decide.location_facts(one, tx.now())]
    known = tx.open_causes([fact.cause for fact in facts])
    facts = [fact for fact in facts if fact.cause not in known]
    if not facts:
        return []
    of_location: dict[str, list[CatalogAsset]] = {}
    for asset in matchers.active().catalog.by_id.values():
        of_location.setdefault(asset.location, []).append(asset)
    return [(fact, of_location.get(fact.subject, [])) for fact in facts]
