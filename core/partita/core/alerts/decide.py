"""What becomes of facts, alerts and notices. Pure.

A cause is told once to each target. What comes while a notice waits joins it, so a thousand cells that fail together are one
message; a rule's pace (`every`) only moves the instant of the next notice, and loses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.core.alerts.rules import Fit, Routing
from partita.core.decide.signals import first_line
from partita.core.store.encode import to_json
from partita.core.store.values_alerts import (
    Alert,
    AlertId,
    AlertKind,
    AlertUpdate,
    NewAlert,
    NewNotice,
    Notice,
    NoticeEnd,
    NoticeId,
    NoticeItem,
    NoticeKind,
    NoticeState,
    SickLocation,
)
from partita.core.store.values_ids import CellRef, RunId, TaskId

TRIES = 8
"""A notice that was tried so often is given up, and says so."""
_FIRST_PAUSE_S = 15.0
_LONGEST_PAUSE_S = 3_600.0
DOWN_S = 60.0
"""A location that was away for less is being started again: nobody is told."""

Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a rule may be about; `name` tells facts of one cell apart (a check), `step` those of a run."""

    kind: AlertKind
    subject: str
    since: datetime
    cell: CellRef | None = None
    run_id: RunId | None = None
    task_id: TaskId | None = None
    name: str = ""
    detail: Mapping[str, object] | None = None

    @property
    def cause(self) -> str:
        """What makes it one and the same, also when it is met again. A run is one cause, whatever it is about."""
        of_run = self.run_id if self.cell is None else None
        cell = None if self.cell is None else [self.cell.asset_id, self.cell.partition]
        return to_json([self.kind.value, cell, of_run, self.name or (self.subject if cell is None else "")])


def alert_of(fact: Fact, fit: Fit, held: tuple[datetime, str] | None) -> NewAlert:
    """The alert of a fact that rules are about; `held` by a maintenance window, nobody is told before its end."""
    return NewAlert(
        cause=fact.cause,
        kind=fact.kind,
        severity=fit.severity,
        subject=fact.subject,
        cell=fact.cell,
        run_id=fact.run_id,
        task_id=fact.task_id,
        owners=fit.owners,
        rules=tuple(rule.name for rule in fit.rules),
        detail=fact.detail or {},
        since=fact.since,
        snoozed_until=None if held is None else held[0],
        snoozed_by=None if held is None else held[1],
    )


def location_facts(location: SickLocation, now: datetime) -> list[Fact]:
    """What is wrong with a location: it has no server, or modules that do not load."""
    detail = {"error": first_line(location.error), "modules": list(location.broken)}
    if location.state == "down":
        if (now - location.since).total_seconds() < DOWN_S:
            return []
        return [Fact(AlertKind.LOCATION_DOWN, location.name, location.since, detail=detail)]
    return [Fact(AlertKind.LOAD_ERROR, location.name, location.since, detail=detail)]


# ------------------------------------------------------------------------------------------------- notices
@dataclass(frozen=True, slots=True)
class Told:
    """Who is to hear of what: alerts by (rule, target)."""

    kind: NoticeKind
    lines: Mapping[Line, Sequence[Alert]]


def told(kind: NoticeKind, alerts: Sequence[Alert], lines: Mapping[AlertId, Sequence[Line]], now: datetime) -> Told:
    """Those that nobody knows of yet, by line."""
    found: dict[Line, list[Alert]] = {}
    for alert in alerts:
        for line in () if alert.quiet(now) else lines.get(alert.id, ()):
            found.setdefault(line, []).append(alert)
    return Told(kind, found)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`new` notices, in order, with the alerts of each; `joined`: alerts that go with a notice that waits already."""

    new: tuple[tuple[NewNotice, tuple[Alert, ...]], ...]
    joined: tuple[NoticeItem, ...]


def outgoing(
    wanted: Told, forming: Sequence[Notice], last: Mapping[Line, datetime], routing: Routing, now: datetime
) -> Outgoing:
    """Puts alerts into the notices of their lines that wait, or into new ones at the rule's pace."""
    waiting = {(one.rule, one.target): one for one in forming if one.kind is wanted.kind}
    new: list[tuple[NewNotice, tuple[Alert, ...]]] = []
    joined: list[NoticeItem] = []
    for line, alerts in sorted(wanted.lines.items()):
        known = waiting.get(line)
        if known is not None:
            joined += items(alerts, known.target, wanted.kind, known.id)
            continue
        rule = routing.rule(line[0])
        wait_s, every_s = (10.0, 60.0) if rule is None else (rule.wait, rule.every)
        due = now + timedelta(seconds=wait_s)
        if line in last:
            due = max(due, last[line] + timedelta(seconds=every_s))
        new.append((NewNotice(line[0], line[1], wanted.kind, due), tuple(alerts)))
    return Outgoing(tuple(new), tuple(joined))


def items(alerts: Sequence[Alert], target: str, kind: NoticeKind, notice_id: NoticeId) -> list[NoticeItem]:
    return [NoticeItem(one.id, target, kind, one.round, notice_id) for one in alerts]


def worth_telling(notice: Notice, alerts: Sequence[Alert], now: datetime) -> list[Alert]:
    """Of the alerts of a notice that is due, those that still have to be told: a cause that ended before anybody heard of it, and
    one that a person knows, are not."""
    if notice.kind is NoticeKind.RECOVERY:
        return [one for one in alerts if not one.quiet(now)]
    return [one for one in alerts if one.ended_at is None and not one.quiet(now)]


def after_try(notice: Notice, error: str | None, now: datetime) -> NoticeEnd:
    """What becomes of a notice after a try to send it."""
    if error is None:
        return NoticeEnd(notice.id, notice.tries, NoticeState.SENT, notice.due_at)
    if notice.tries >= TRIES or notice.kind is NoticeKind.TEST:
        return NoticeEnd(notice.id, notice.tries, NoticeState.FAILED, notice.due_at, error)
    pause = min(_FIRST_PAUSE_S * 2 ** (notice.tries - 1), _LONGEST_PAUSE_S)
    return NoticeEnd(notice.id, notice.tries, NoticeState.PENDING, now + timedelta(seconds=pause), error)


# ------------------------------------------------------------------------------------------------- people
def acknowledge(alert: Alert, who: str, note: str, now: datetime) -> AlertUpdate | None:
    """None when it has ended, or was acknowledged before."""
    if alert.ended_at is not None or alert.acked_at is not None:
        return None
    return AlertUpdate.of(alert, acked_at=now, acked_by=who, snoozed_until=None, snoozed_by=None, note=note)


def snooze(alert: Alert, until: datetime, who: str, note: str) -> AlertUpdate | None:
    """None when it has ended. One that was acknowledged is taken up again at that instant."""
    if alert.ended_at is not None:
        return None
    return AlertUpdate.of(alert, acked_at=None, acked_by=None, snoozed_until=until, snoozed_by=who, note=note)


def reopen(alert: Alert, who: str, now: datetime) -> AlertUpdate | None:
    """Takes an acknowledgement or a snooze back, as a snooze that ends now: it is told once more, for nobody may have been told
    meanwhile. None when it has ended, or is open."""
    if alert.ended_at is not None or not alert.quiet(now):
        return None
    return AlertUpdate.of(alert, acked_at=None, acked_by=None, snoozed_until=now, snoozed_by=who, note="")


def wake(alert: Alert) -> AlertUpdate:
    """The snooze is over and the cause is not: it is told once more."""
    return AlertUpdate.of(alert, snoozed_until=None, snoozed_by=None, round=alert.round + 1)


def end(alert: Alert, now: datetime) -> AlertUpdate:
    return AlertUpdate.of(alert, ended_at=now)


def recovered(
    ended: Collection[Alert], told_of: Mapping[AlertId, Sequence[Line]], routing: Routing
) -> dict[AlertId, list[Line]]:
    """Who hears that a cause is over: those that were sent it by a rule that asks for it."""
    return {
        one.id: [line for line in told_of.get(one.id, ()) if (rule := routing.rule(line[0])) is not None and rule.recovery]
        for one in ended
    }  # fmt: skip
