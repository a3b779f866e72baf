"""What people do about alerts: acknowledge, snooze, reopen, hold back for maintenance, try a rule. Each audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from partita.assets import PartitaError
from partita.core.alerts import decide
from partita.core.alerts.rules import Routing, window_name
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent
from partita.core.store.values_alerts import Alert, AlertId, AlertUpdate, NewNotice, NoticeId, NoticeKind


class AlertRefused(PartitaError):
    """Nothing can be done about it as it was asked."""


class NoSuchAlert(AlertRefused):
    """There is no alert, window or rule of this name."""


@dataclass(frozen=True, slots=True)
class Changed:
    """`ids` changed; the others that were named had ended, or were so before."""

    ids: tuple[AlertId, ...]
    channels: tuple[Channel, ...] = (Channel.EVENT,)


def acknowledge(store: Store, ids: Sequence[AlertId], *, who: str, note: str = "") -> Changed:
    """Somebody knows: nothing more is sent of these causes. Raises AlertRefused for unknown ids, and changes nothing then."""
    return _change(
        store, ids, lambda alert, now: decide.acknowledge(alert, who, note.strip(), now), who, "alert_ack", note, {}
    )


def snooze(store: Store, ids: Sequence[AlertId], *, for_s: float, who: str, note: str = "") -> Changed:
    """Nothing is sent of these causes for so long; what has not ended by then is told again."""
    if not 0 < for_s <= 90 * 86_400:
        raise AlertRefused("this is no time to snooze", rule="more than nothing, 90 days at most", fix="--for 4h")

    def one(alert: Alert, now: datetime) -> AlertUpdate | None:
        return decide.snooze(alert, now + timedelta(seconds=for_s), who, note.strip())

    return _change(store, ids, one, who, "alert_snooze", note, {"for_s": for_s})


def reopen(store: Store, ids: Sequence[AlertId], *, who: str) -> Changed:
    """Nobody knows of them after all: takes back what acknowledged or snoozed them, and they are told once more."""
    return _change(store, ids, lambda alert, now: decide.reopen(alert, who, now), who, "alert_reopen", "", {})


def _change(
    store: Store,
    ids: Sequence[AlertId],
    change: Callable[[Alert, datetime], AlertUpdate | None],
    who: str,
    action: str,
    note: str,
    said: dict[str, Any],
) -> Changed:
    def work(tx: Tx) -> Changed:
        found = tx.lock_alerts(ids)
        missing = sorted(set(ids) - {one.id for one in found})
        if missing:
            raise NoSuchAlert(
                f"there is no alert {missing[0]}", rule="alerts are named by number", fix="partita alerts list"
            )
        updates = [update for one in found if (update := change(one, tx.now())) is not None]
        if not updates:
            return Changed((), ())
        tx.write_alerts(updates)
        changed = tuple(one.id for one in updates)
        tx.audit(who, action, {**said, "alerts": list(changed)}, reason=note.strip())
        tx.append_events([NewEvent("alert", body={"changed": len(changed)})])
        return Changed(changed)

    return store.run(work)


def hold_back(store: Store, selection: str, *, for_s: float, who: str, reason: str) -> int:
    """A maintenance window from now on. What goes wrong in it is recorded, and told at its end if it has not ended by then."""
    check_window(for_s)

    def work(tx: Tx) -> int:
        made = tx.insert_maintenance(selection, tx.now(), tx.now() + timedelta(seconds=for_s), who, reason.strip())
        tx.audit(
            who, "maintenance", {"maintenance": made, "selection": selection, "for_s": for_s}, reason=reason.strip()
        )
        tx.append_events([NewEvent("alert", body={"maintenance": made})])
        return made

    return store.run(work)


def check_window(for_s: float) -> None:
    """Raises AlertRefused for a length that no window may have."""
    if not 0 < for_s <= 90 * 86_400:
        raise AlertRefused("this is no length of a window", rule="more than nothing, 90 days at most", fix="--for 2h")


def no_window(maintenance_id: int) -> NoSuchAlert:
    return NoSuchAlert(
        f"there is no open maintenance window {maintenance_id}",
        rule="those of partita.toml end by the file",
        fix="partita alerts maintenance",
    )


def end_hold(store: Store, maintenance_id: int, *, who: str) -> None:
    """Ends a window that was made by hand; what it held back and has not ended is told now. Raises AlertRefused when there is
    none."""

    def work(tx: Tx) -> None:
        window = next((one for one in tx.maintenances() if one.id == maintenance_id), None)
        if window is None or not tx.end_maintenance(maintenance_id):
            raise no_window(maintenance_id)
        tx.end_snoozes(window_name(window))
        tx.audit(who, "maintenance_end", {"maintenance": maintenance_id, "selection": window.selection})
        tx.append_events([NewEvent("alert", body={"maintenance": maintenance_id})])

    store.run(work)


def try_rule(store: Store, routing: Routing, name: str, owners: Sequence[str], *, who: str) -> list[NoticeId]:
    """Puts a test message to every target of a rule into the outbox. Raises AlertRefused for one without targets."""
    targets = targets_of(routing, name, owners)

    def work(tx: Tx) -> list[NoticeId]:
        made = tx.insert_notices([NewNotice(name, target, NoticeKind.TEST, tx.now()) for target in targets])
        tx.audit(who, "alert_test", {"rule": name, "targets": len(targets)})
        return made

    return store.run(work)


def targets_of(routing: Routing, name: str, owners: Sequence[str] = ()) -> list[str]:
    """Whom a test message of a rule reaches. Raises AlertRefused for one without targets."""
    rule = routing.rule(name)
    if rule is None:
        names = ", ".join(one.name for one in routing.rules)
        raise NoSuchAlert(f"there is no alert rule {name!r}", rule=f"the rules are {names}", fix="name one of them")
    targets = routing.targets(rule, owners or list(routing.owners))
    if not targets:
        raise AlertRefused(
            f"nobody is told by alert {name!r}",
            rule="a rule without `to` tells the owners of the assets, and [owners] names none that fits",
            fix='give it `to = [...]`, or [owners."team:ops"] to = [...] in partita.toml',
        )
    return targets
