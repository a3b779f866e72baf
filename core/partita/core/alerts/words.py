"""What a notice says. Pure text; no address, no secret, and nothing that only a machine reads.

One cause is told by itself; many are told by kind and asset, with how many cells each has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from partita.core.alerts.rules import SEVERITIES, Routing
from partita.core.store.values_alerts import Alert, AlertKind, NoticeKind

_LISTED = 10
_VERBS = {
    AlertKind.FAILED: "with a failed attempt",
    AlertKind.RETRIES_EXHAUSTED: "failed",
    AlertKind.LATE: "late",
    AlertKind.SLO_BURN: "burning an error budget",
    AlertKind.BLOCKED: "waiting for too long",
    AlertKind.CHECK_FAILED: "failing a check",
    AlertKind.RUN_FAILED: "failed",
    AlertKind.LOAD_ERROR: "not loading",
    AlertKind.LOCATION_DOWN: "without a code server",
}


def sentence(alert: Alert) -> str:
    """One alert in words: "raw/orders 2026-03-01 failed and is not tried again: no such table"."""
    what = f"{alert.subject} {alert.cell.partition}".rstrip() if alert.cell is not None else alert.subject
    detail = alert.detail
    said = str(detail.get("error") or "")
    match alert.kind:
        case AlertKind.FAILED:
            text = f"an attempt at {what} failed"
        case AlertKind.RETRIES_EXHAUSTED:
            text = f"{what} failed and is not tried again"
        case AlertKind.LATE:
            text, said = f"{what} is late", _late(detail)
        case AlertKind.SLO_BURN:
            text = f"{what} is late too much of the time"
            said = f"its error budget burns too fast within {detail.get('within', '?')}, {_left(detail)}"
        case AlertKind.BLOCKED:
            text = f"{what} waits since {_instant(detail.get('waits_since'))} in run {alert.run_id}"
            said = f"{_plural(int(detail.get('tasks', 1)), 'task')}, {str(detail.get('reason') or 'no reason').replace('_', ' ')}"
        case AlertKind.CHECK_FAILED:
            text = f"{what} fails the check {detail.get('check', '?')}"
        case AlertKind.RUN_FAILED:
            text, said = f"{what} failed", _tallies(detail.get("tallies"))
        case AlertKind.LOAD_ERROR:
            modules = ", ".join(detail.get("modules") or ())
            text = f"location {what} does not load" + (f": {modules}" if modules else "")
        case AlertKind.LOCATION_DOWN:
            text = f"location {what} has no live code server"
    return text + (f": {said}" if said else "")


def message(kind: NoticeKind, alerts: Sequence[Alert], routing: Routing) -> tuple[str, str]:
    """The title and the body of a notice."""
    if kind is NoticeKind.TEST:
        return "[test] partita can reach you", "Somebody asked for this message: partita alerts test."
    head = _head(alerts)
    if kind is NoticeKind.RECOVERY:
        title = f"[over] {head}"
    else:
        worst = max((one.severity for one in alerts), key=SEVERITIES.index)
        title = f"[{worst.value}] {head}"
    lines = [sentence(one) for one in alerts[:_LISTED]] if len(alerts) <= _LISTED else _by_subject(alerts)
    owners = sorted({owner for one in alerts for owner in one.owners})
    runbook = routing.runbook(owners)
    lines += [""]
    lines += [f"owners: {', '.join(owners)}"] if owners else []
    lines += [f"runbook: {runbook}"] if runbook else []
    lines += [f"{routing.link}{_page(alerts)}"] if routing.link else []
    ids = " ".join(str(one.id) for one in alerts[:_LISTED])
    if kind is not NoticeKind.RECOVERY:
        lines += [
            f"acknowledge: partita alerts ack {ids}" if len(alerts) <= _LISTED else "acknowledge: partita alerts list"
        ]
    return title, "\n".join(lines).strip("\n")


def _head(alerts: Sequence[Alert]) -> str:
    if len(alerts) == 1:
        return sentence(alerts[0])
    cells = [one for one in alerts if one.cell is not None]
    kinds = sorted({_VERBS[one.kind] for one in alerts})
    what = " and ".join(kinds) if len(kinds) <= 2 else "in trouble"
    if len(cells) == len(alerts):
        several = len({one.cell for one in cells})
        return f"{_plural(several, 'cell')} of {_plural(len({one.subject for one in cells}), 'asset')} {what}"
    return f"{_plural(len(alerts), 'cause')}: {what}"


def _by_subject(alerts: Sequence[Alert]) -> list[str]:
    counts = Counter((one.subject, _VERBS[one.kind]) for one in alerts)
    some: dict[tuple[str, str], list[Alert]] = defaultdict(list)
    for one in alerts:
        some[one.subject, _VERBS[one.kind]].append(one)
    lines = []
    for (subject, verb), n in counts.most_common(_LISTED):
        first = some[subject, verb][0]
        lines.append(f"{subject}: {_plural(n, 'cell')} {verb}, such as {sentence(first)}")
    if len(counts) > _LISTED:
        lines.append(f"and {_plural(len(counts) - _LISTED, 'more asset')}")
    return lines


def _page(alerts: Sequence[Alert]) -> str:
    if len(alerts) == 1 and (cell := alerts[0].cell) is not None:
        return "/asset?" + urlencode({"key": alerts[0].subject, "cell": cell.partition})
    return "/alerts"


def _late(detail: Mapping[str, Any]) -> str:
    """Of one that has a freshness policy, of a partition with a deadline."""
    due = f"it was due at {_instant(detail.get('due_at'))}"
    if "asset" in detail:
        partition = f"{detail['partition']} is not there; " if detail.get("partition") else ""
        due = f"{partition}{due} ({detail.get('policy', '?')})"
    else:
        due = f"{due}, its task is {detail.get('state', '?')}"
    return f"{due}; of the time: {detail['spent']}" if detail.get("spent") else due


def _instant(iso: object) -> str:
    return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M:%S} UTC" if isinstance(iso, str) else "?"


def _left(detail: Mapping[str, Any]) -> str:
    left = float(detail.get("left", 0.0))
    policy = detail.get("policy", "?")
    return f"{left:.0%} of it is left ({policy})" if left > 0 else f"nothing of it is left ({policy})"


def _tallies(tallies: object) -> str:
    if not isinstance(tallies, dict):
        return ""
    return ", ".join(f"{n:,} {state.replace('_', ' ')}" for state, n in sorted(tallies.items()) if n)


def _plural(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
