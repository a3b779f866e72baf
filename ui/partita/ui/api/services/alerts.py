"""Alerts for people: what is open, who was told, what the rules say; acknowledging, snoozing, holding back.

An address is never shown: only its place in the configuration, and its scheme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.assets import PartitaError, select_assets
from partita.core.alerts import people
from partita.core.alerts.rules import Matcher, Routing, window_end
from partita.core.alerts.sending import problem_of
from partita.core.alerts.words import sentence
from partita.core.config_alerts import AlertConfig
from partita.core.duties.channels import Channel
from partita.core.store.postgres.alerts import alert_of
from partita.core.store.queries import api_alerts as sql
from partita.core.store.queries.api_read import now, one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values_alerts import Alert, AlertId, AlertKind
from partita.ui.api.models.alerts import (
    AckRequest,
    AlertActionPreview,
    AlertDetail,
    AlertPage,
    AlertRules,
    AlertsChanged,
    AlertView,
    MadeMaintenance,
    MaintenancePreview,
    MaintenanceRequest,
    MaintenanceView,
    NewMaintenance,
    NoticeList,
    NoticeView,
    OwnerView,
    ReopenRequest,
    RuleView,
    SnoozeRequest,
    TargetView,
    TriedRule,
)
from partita.ui.api.models.system import Need
from partita.ui.api.problems import NotFound, NotWhatWasShown
from partita.ui.api.services import alert_previews as previews
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import plural

Row = Mapping[str, Any]
_SHOWN = 20
# What the list of needs tells in its own words already.
_TOLD_ELSEWHERE = frozenset(
    {AlertKind.LATE, AlertKind.RETRIES_EXHAUSTED, AlertKind.LOAD_ERROR, AlertKind.LOCATION_DOWN}
)


class AlertService:
    def __init__(self, backend: Backend, routing: Routing) -> None:
        self._backend = backend
        self._routing = routing

    # -- looking
    def page(
        self,
        *,
        state: str | None = None,
        all_open: bool = False,
        kind: str | None = None,
        owner: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> AlertPage:
        """The worst first, then the newest; `all_open`: also what somebody acknowledged or snoozed."""
        chosen = {"state": state, "open": all_open, "kind": kind, "owner": owner}
        with self._backend.store.read() as reader:
            found = rows(reader, sql.ALERTS, **chosen, offset=offset, limit=limit)
            total = one(reader, sql.COUNT_ALERTS, **chosen)
        return AlertPage(alerts=[self._view(row) for row in found], total=0 if total is None else total["n"])

    def alert(self, alert_id: int) -> AlertDetail:
        """One, with the notices that tell of it. Raises NotFound."""
        with self._backend.store.read() as reader:
            row = one(reader, sql.ALERT, id=alert_id)
            if row is None:
                raise NotFound(
                    f"there is no alert {alert_id}",
                    rule="alerts are forgotten 30 days after their end",
                    fix="partita alerts list",
                )
            notices = rows(reader, sql.NOTICES_OF, id=alert_id)
        return AlertDetail(
            alert=self._view(row), notices=[self._notice(one) for one in notices], detail=dict(row["detail"])
        )

    def notices(self, ids: Sequence[int] | None = None, *, limit: int = 50) -> NoticeList:
        with self._backend.store.read() as reader:
            found = rows(reader, sql.NOTICES, ids=None if ids is None else list(ids), limit=limit)
        return NoticeList(notices=[self._notice(row) for row in found])

    def rules(self) -> AlertRules:
        routing = self._routing
        matcher = Matcher(routing, self._backend.catalogs.active())
        with self._backend.store.read() as reader:
            at = now(reader)
            by_hand = rows(reader, sql.MAINTENANCES)
        windows = [
            MaintenanceView(
                id=None,
                name=one.name,
                selection=one.assets,
                starts_at=one.start,
                ends_at=window_end(one, at),
                by=None,
                reason="" if one.cron is None else f"at {one.cron} ({one.tz}) for {one.lasts:g} s",
            )
            for one in routing.windows
        ]
        windows += [
            MaintenanceView(
                id=row["id"],
                name=f"maintenance {row['id']}",
                selection=row["selection"],
                starts_at=row["starts_at"],
                ends_at=row["ends_at"],
                by=row["by_whom"],
                reason=row["reason"],
            )
            for row in by_hand
        ]
        return AlertRules(
            rules=[self._rule(rule, matcher) for rule in routing.rules],
            owners=[
                OwnerView(name=name, targets=self._targets(f"owner:{name}", len(one.to)), runbook=one.runbook)
                for name, one in sorted(routing.owners.items())
            ],
            maintenance=windows,
        )

    # -- doing
    def acknowledge(self, request: AckRequest) -> AlertsChanged:
        ids = [AlertId(one) for one in request.ids]
        return self._changed(people.acknowledge(self._backend.store, ids, who=self._backend.who, note=request.note))

    def snooze(self, request: SnoozeRequest) -> AlertsChanged:
        ids = [AlertId(one) for one in request.ids]
        return self._changed(
            people.snooze(self._backend.store, ids, for_s=request.for_s, who=self._backend.who, note=request.note)
        )

    def reopen(self, request: ReopenRequest) -> AlertsChanged:
        ids = [AlertId(one) for one in request.ids]
        return self._changed(people.reopen(self._backend.store, ids, who=self._backend.who))

    def try_preview(self, name: str) -> AlertActionPreview:
        """Whom a test message of a rule would reach. Raises AlertRefused."""
        return previews.of_test(self._routing, name)

    def try_rule(self, name: str) -> TriedRule:
        """Puts a test message into the outbox, as any notice; a scheduler sends it. Raises AlertRefused."""
        made = people.try_rule(self._backend.store, self._routing, name, [], who=self._backend.who)
        return TriedRule(ids=list(made))

    def hold_preview(self, request: MaintenanceRequest) -> MaintenancePreview:
        """Whose messages a window would hold back. Raises SelectionError, AlertRefused."""
        with self._backend.store.read() as reader:
            return previews.of_window(reader, Matcher(self._routing, self._backend.catalogs.active()), request)

    def hold_back(self, request: NewMaintenance) -> MadeMaintenance:
        """Raises SelectionError, AlertRefused, and NotWhatWasShown when it would be about other assets now."""
        about = len(select_assets(self._backend.catalogs.active().graph, request.selection))
        if request.confirm_assets not in (None, about):
            raise NotWhatWasShown(
                f"{plural(request.confirm_assets or 0, 'asset')} were confirmed, and it would be {about} now",
                rule="what is done is what was shown",
                fix="look at it again and confirm its count",
            )
        made = people.hold_back(
            self._backend.store,
            request.selection,
            for_s=request.for_s,
            who=self._backend.who,
            reason=request.reason,
        )
        self._backend.wake([Channel.EVENT])
        return MadeMaintenance(id=made)

    def end_preview(self, maintenance_id: int) -> AlertActionPreview:
        with self._backend.store.read() as reader:
            return previews.of_end(reader, maintenance_id)

    def end_hold(self, maintenance_id: int) -> None:
        people.end_hold(self._backend.store, maintenance_id, who=self._backend.who)
        self._backend.wake([Channel.EVENT])

    def _changed(self, changed: people.Changed) -> AlertsChanged:
        self._backend.wake(changed.channels)
        return AlertsChanged(ids=list(changed.ids))

    # -- views
    def _view(self, row: Row) -> AlertView:
        alert = as_alert(row)
        return AlertView(
            id=alert.id,
            kind=alert.kind.value,
            severity=alert.severity.value,
            state=row["state"],
            text=sentence(alert),
            subject=alert.subject,
            asset=alert.subject if alert.cell is not None or alert.kind is AlertKind.BLOCKED else None,
            partition=None if alert.cell is None else alert.cell.partition,
            run_id=alert.run_id,
            task_id=alert.task_id,
            owners=list(alert.owners),
            rules=list(alert.rules),
            runbook=self._routing.runbook(alert.owners),
            first_at=alert.first_at,
            last_at=alert.last_at,
            times=alert.times,
            acked_at=alert.acked_at,
            acked_by=alert.acked_by,
            snoozed_until=alert.snoozed_until,
            snoozed_by=alert.snoozed_by,
            note=alert.note,
            ended_at=alert.ended_at,
            told=row["told"],
            undelivered=row["undelivered"],
        )

    def _notice(self, row: Row) -> NoticeView:
        target = self._routing.target(row["target"])
        return NoticeView(scheme=None if target is None else target.scheme, **row)

    def _rule(self, rule: AlertConfig, matcher: Matcher) -> RuleView:
        return RuleView(
            name=rule.name,
            on=[kind.value for kind in rule.on],
            assets=rule.assets,
            owner=rule.owner,
            severity=rule.severity.value,
            targets=self._targets(f"alert:{rule.name}", len(rule.to)),
            recovery=rule.recovery,
            wait_s=rule.wait,
            every_s=rule.every,
            blocked_after_s=rule.blocked_after,
            error=self._wrong(rule, matcher),
        )

    def _wrong(self, rule: AlertConfig, matcher: Matcher) -> str | None:
        """What of a rule cannot be used; it then counts for all assets, and the other targets are told."""
        try:
            select_assets(matcher.catalog.graph, rule.assets)
        except PartitaError as error:
            return f"its assets cannot be selected: {str(error).partition(chr(10))[0]}"
        for n in range(1, len(rule.to) + 1):
            target = self._routing.target(f"alert:{rule.name}#{n}")
            if target is None or not target.url:  # schedulers have the variable, or do not start
                continue
            problem = problem_of(target.url)
            if problem is not None:
                return f"target {n}: {problem}"
        return None

    def _targets(self, place: str, count: int) -> list[TargetView]:
        found = (self._routing.target(f"{place}#{n}") for n in range(1, count + 1))
        return [TargetView(name=one.name, scheme=one.scheme) for one in found if one is not None]


def as_alert(row: Row) -> Alert:
    return alert_of(list(row.values()))


def alert_needs(reader: Reader, limit: int = _SHOWN) -> list[Need]:
    """What nobody acknowledged and the list of needs does not tell otherwise; and messages that reached nobody."""
    found = [
        Need(
            severity="warn" if row["severity"] == 3 else "bad",
            text=f"{row['subject']}: {row['kind'].replace('_', ' ')}"
            + (f", {row['n']:,} times" if row["n"] > 1 else ""),
            link=f"/alerts?kind={row['kind']}",
        )
        for row in rows(reader, sql.OPEN_BY_SUBJECT, limit=limit)
        if AlertKind(row["kind"]) not in _TOLD_ELSEWHERE
    ]
    found += [
        Need(
            severity="bad",
            text=f"{plural(row['n'], 'message')} of alert {row['rule']} did not reach {row['target']}: {row['error']}",
            link="/alerts",
        )
        for row in rows(reader, sql.UNDELIVERED)
    ]
    return found
