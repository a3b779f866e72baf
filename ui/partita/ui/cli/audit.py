"""`partita audit`: who did what, when and why."""

from __future__ import annotations

from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    *,
    who: Annotated[str | None, typer.Option("--who", help="Only what this person (or `automation`) did.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Only this action, such as cancel_run.")] = None,
    before: Annotated[
        int | None, typer.Option("--before", metavar="ID", min=1, help="Only entries before this one.")
    ] = None,
    limit: o.Limit = 30,
    as_json: o.Json = False,
) -> None:
    """What people did by hand, newest first, and the command that takes it back."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.audit.page(who=who, action=action, before=before, limit=limit)
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("id", "when", "who", "what", "why", "undo"),
        [
            (str(one.id), ago(one.at, now), one.who, one.text, one.reason or "–",
             f"undone by {one.undone_by}, {ago(one.undone_at, now)}" if one.undone_at is not None else one.undo or "–")
            for one in found.entries
        ],
        empty="Nobody did anything by hand yet.",
    )  # fmt: skip
    if found.before is not None:
        output.say(f"Older ones: partita audit --before {found.before}")
