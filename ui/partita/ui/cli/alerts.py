"""`partita alerts`: what needs a person, who was told, what somebody knows of already; rules tried, notices held back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models.alerts import AlertView, NoticeView
    from partita.ui.api.services.alerts import AlertService

_STATES = ("open", "acknowledged", "snoozed", "ended", "unended", "all")
_LOOK_S = 0.5
_NOTICE = ("message", "to", "kind", "state", "tries", "when", "error")

Ids = Annotated[
    list[int], typer.Argument(metavar="ID...", help="Numbers of alerts, as `partita alerts list` shows them.")
]
Note = Annotated[str, typer.Option("--note", help="What you know.")]
For = Annotated[str, typer.Option("--for", help='How long: "30m", "4h", "2d".')]

alerts = typer.Typer(name="alerts", help="What needs a person, and who was told.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(alerts)


@alerts.command(name="list")
def list_alerts(
    *,
    state: Annotated[str, typer.Option("--state", help=f"One of {', '.join(_STATES)}.")] = "unended",
    kind: Annotated[str | None, typer.Option("--kind", help="`late`, `retries_exhausted`, ...")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Only what this owner's assets are in.")] = None,
    limit: o.Limit = 50,
    as_json: o.Json = False,
) -> None:
    """Alerts, the worst first: by default all whose cause is not over."""
    from partita.ui.cli.session import session

    o.known_state(state, _STATES)
    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.alerts.page(
            state=None if state in ("unended", "all") else state,
            all_open=state == "unended",
            kind=kind,
            owner=owner,
            limit=limit,
        )
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("alert", "severity", "what", "since", "times", "owner", "state"),
        [
            (
                str(one.id), one.severity, one.text, ago(one.first_at, now), str(one.times), ", ".join(one.owners) or "–",
                _state(one),
            )
            for one in found.alerts
        ],
        empty="No alert." if state == "all" else f"No alert is {state}." if state != "unended" else "Nothing needs a person.",
    )  # fmt: skip
    if found.total > len(found.alerts):
        output.say(f"and {found.total - len(found.alerts):,} more: --limit")


@alerts.command()
def show(alert_id: Annotated[int, typer.Argument(metavar="ID")], *, as_json: o.Json = False) -> None:
    """One alert, and the messages that tell of it."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.alerts.alert(alert_id)
    if as_json:
        output.value(found)
        return
    one, now = found.alert, utc_now()
    output.say(f"[{one.severity}] {one.text}")
    output.say(
        f"  {one.kind}, {_state(one)}, since {ago(one.first_at, now)}, {one.times:,} times, last {ago(one.last_at, now)}"
    )
    for name, text in (("owners", ", ".join(one.owners)), ("rules", ", ".join(one.rules)), ("runbook", one.runbook)):
        if text:
            output.say(f"  {name}: {text}")
    if one.note:
        output.say(f"  note: {one.note}")
    output.table(
        _NOTICE,
        [_notice_row(notice) for notice in found.notices],
        empty="No message tells of it: its rules name no target, or none that is told yet.",
    )


@alerts.command()
def ack(ids: Ids, *, note: Note = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Say that somebody knows: nothing more is sent of these causes. Asks before several; `reopen` takes it back."""
    from partita.ui.api.models.alerts import AckRequest
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        _ask_about(opened.services.alerts, ids, "Acknowledge", yes=yes, output=output)
        changed = opened.services.alerts.acknowledge(AckRequest(ids=ids, note=note))
    _changed("acknowledged", changed.ids, ids, output, undo=True)


@alerts.command()
def snooze(
    ids: Ids,
    *,
    lasts: For = "4h",
    note: Note = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Send nothing of these causes for a while; what has not ended by then is told again. Asks before several."""
    from partita.assets.durations import seconds
    from partita.ui.api.models.alerts import SnoozeRequest
    from partita.ui.cli.session import session

    for_s = seconds(lasts, what="--for")
    output = Output(json=as_json)
    with session() as opened:
        _ask_about(opened.services.alerts, ids, "Snooze", yes=yes, output=output)
        changed = opened.services.alerts.snooze(SnoozeRequest(ids=ids, note=note, for_s=for_s))
    _changed(f"snoozed for {lasts}", changed.ids, ids, output, undo=True)


@alerts.command()
def reopen(ids: Ids, *, as_json: o.Json = False) -> None:
    """Take an acknowledgement or a snooze back: nobody knows after all, and they are told once more."""
    from partita.ui.api.models.alerts import ReopenRequest
    from partita.ui.cli.session import session

    with session() as opened:
        changed = opened.services.alerts.reopen(ReopenRequest(ids=ids))
    _changed("open again", changed.ids, ids, Output(json=as_json))


@alerts.command()
def rules(*, as_json: o.Json = False) -> None:
    """What partita.toml says: the rules, whom they tell, and the maintenance windows."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.alerts.rules()
    if as_json:
        output.value(found)
        return
    output.table(
        ("rule", "severity", "on", "assets", "tells", "wrong"),
        [
            (
                one.name,
                one.severity,
                ", ".join(one.on),
                f"{one.assets} of {one.owner}" if one.owner else one.assets,
                ", ".join(target.scheme for target in one.targets) or "the owners",
                one.error or "–",
            )
            for one in found.rules
        ],
        empty="No rule.",
    )
    output.table(
        ("owner", "told by", "runbook"),
        [(one.name, ", ".join(t.scheme for t in one.targets) or "nobody", one.runbook or "–") for one in found.owners],
        empty='No owner is told: [owners."team:ops"] to = [...] in partita.toml.',
    )


@alerts.command(name="test")
def try_rule(
    rule: Annotated[str, typer.Argument(help="A rule's name.")],
    *,
    detach: o.Detach = False,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Send a test message to every target of a rule, through a scheduler as any other, and wait until it was taken."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        _shown(opened.services.alerts.try_preview(rule).sentence, output)
        output.confirm("Send it?", yes=yes)
        ids = opened.services.alerts.try_rule(rule).ids
        notices = _sent(opened.services.alerts, ids, wait_s=0.0 if detach else 90.0)
    if as_json:
        output.value({"notices": [one.model_dump(mode="json") for one in notices]})
    else:
        output.table(
            ("message", "to", "kind", "state", "tries", "when", "error"),
            [_notice_row(one) for one in notices],
            empty="–",
        )
    if not detach and any(one.state == "pending" for one in notices):
        raise UsageProblem(
            "the messages were not sent within 90 s",
            rule="a scheduler sends them",
            fix="partita scheduler, or partita dev",
        )
    if any(one.state == "failed" for one in notices):
        raise typer.Exit(1)


def _sent(service: AlertService, ids: list[int], *, wait_s: float) -> list[NoticeView]:
    until = time.monotonic() + wait_s
    while True:
        found = service.notices(ids).notices
        if time.monotonic() >= until or all(one.state != "pending" for one in found):
            return found
        time.sleep(_LOOK_S)


@alerts.command()
def maintenance(
    selection: Annotated[str | None, typer.Argument(metavar="[SELECTION]", help="Which assets.")] = None,
    *,
    lasts: Annotated[str | None, typer.Option("--for", help='How long from now: "2h".')] = None,
    reason: o.Why = "",
    end: Annotated[int | None, typer.Option("--end", metavar="ID", help="End a window that was made by hand.")] = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Hold messages about assets back for a while, and tell at the end what is not over. Without arguments: the windows."""
    from partita.assets.durations import seconds
    from partita.ui.api.models.alerts import MaintenanceRequest, NewMaintenance
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    if (selection is None) is not (lasts is None) or (end is not None and selection is not None):
        raise UsageProblem(
            "SELECTION and --for go together, and not with --end",
            rule="one of: make a window, end one, list them",
            fix="partita alerts maintenance 'group:raw' --for 2h --reason 'upgrade'",
        )
    with session() as opened:
        service = opened.services.alerts
        if selection is not None and lasts is not None:
            for_s = seconds(lasts, what="--for")
            shown = service.hold_preview(MaintenanceRequest(selection=selection, for_s=for_s))
            _shown(shown.sentence, output)
            output.confirm("Hold them back?", yes=yes)
            made = service.hold_back(
                NewMaintenance(selection=selection, for_s=for_s, reason=reason, confirm_assets=len(shown.assets))
            )
            if as_json:
                output.value(made)
            else:
                output.say(
                    f"Messages about {selection} wait for {lasts}. To end it: partita alerts maintenance --end {made.id}"
                )
            return
        if end is not None:
            _shown(service.end_preview(end).sentence, output)
            output.confirm(f"End maintenance {end}?", yes=yes)
            service.end_hold(end)
            output.say(f"Maintenance {end} is over.")
            return
        found = service.rules()
    if as_json:
        output.value(found.maintenance)
        return
    output.table(
        ("window", "assets", "until", "by", "why"),
        [
            (
                one.name,
                one.selection,
                f"{one.ends_at:%Y-%m-%d %H:%M} UTC" if one.ends_at else "not open now",
                one.by or "partita.toml",
                one.reason or "–",
            )
            for one in found.maintenance
        ],
        empty="No maintenance window.",
    )


def _shown(sentence: str, output: Output) -> None:
    (output.err.print if output.json else output.say)(sentence)


def _ask_about(service: AlertService, ids: list[int], verb: str, *, yes: bool, output: Output) -> None:
    """One is named and can be taken back: nobody is asked. Several are shown first."""
    if len(set(ids)) == 1 or yes:
        return
    for one in sorted(set(ids)):
        alert = service.alert(one).alert
        _shown(f"  {one} [{alert.severity}] {alert.text}, {_state(alert)}", output)
    output.confirm(f"{verb} {len(set(ids)):,} alerts?", yes=yes)


def _changed(done: str, ids: list[int], asked: list[int], output: Output, *, undo: bool = False) -> None:
    if output.json:
        output.value({"ids": ids})
        return
    named = ", ".join(str(one) for one in ids)
    output.say(
        f"Alert {named} is {done}." if len(ids) == 1 else f"Alerts {named} are {done}." if ids else "Nothing changed."
    )
    if undo and ids:
        output.say(f"To take it back: partita alerts reopen {' '.join(str(one) for one in ids)}")
    rest = sorted(set(asked) - set(ids))
    if rest:
        output.say(f"{', '.join(str(one) for one in rest)}: over, or so before.")


def _state(one: AlertView) -> str:
    if one.state == "acknowledged":
        return f"acknowledged by {one.acked_by}"
    if one.state == "snoozed" and one.snoozed_until is not None:
        return f"snoozed until {one.snoozed_until:%Y-%m-%d %H:%M} UTC by {one.snoozed_by}"
    return one.state


def _notice_row(one: NoticeView) -> tuple[str, ...]:
    when = ago(one.ended_at or one.due_at, utc_now())
    to = f"{one.target} ({one.scheme})" if one.scheme else one.target
    return str(one.id), to, one.kind, one.state, str(one.tries), when, one.error or "–"
