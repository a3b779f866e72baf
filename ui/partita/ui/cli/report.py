"""`partita report`: a producer outside partita says what a partition of an external asset holds."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem

_WORDS = {
    "observed": "holds another version than before: consumers follow",
    "unchanged": "held it already",
    "replaced": "was replaced",
}


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    asset: o.Asset,
    *,
    data_version: Annotated[
        str, typer.Option("--version", help="What the data are: a digest, an upload id, a revision.")
    ],
    partition: o.Partition = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Of this report: said again, it changes nothing and gets the same answer."),
    ] = None,
    scope: Annotated[str, typer.Option("--scope", help="Whose keys these are.")] = "",
    expires: Annotated[str, typer.Option("--expires", help="For how long the key is known.")] = "7d",
    data_time: Annotated[
        str | None, typer.Option("--data-time", help="Up to when the data are complete, with its offset.")
    ] = None,
    metadata: Annotated[
        list[str], typer.Option("--metadata", help="NAME=VALUE; the value is JSON, else text. Repeatable.")
    ] = [],  # noqa: B006 - Typer's form of "none given"; never changed
    as_json: o.Json = False,
) -> None:
    """Say what a partition of an external asset holds now (declared with observe="push"); consumers follow."""
    from partita.ui.api.models.intake import OneEvent
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    event = OneEvent(
        asset=asset,
        partition=partition or "",
        data_version=data_version,
        key=key,
        scope=scope,
        key_expires_in_s=o.seconds_of(expires, "--expires") or 0,
        data_time=None if data_time is None else _instant(data_time),
        metadata=o.params(metadata, "--metadata"),
    )
    with session() as opened:
        taken = opened.services.intake.take(event, traceparent=os.environ.get("TRACEPARENT"))
    if as_json:
        output.value(taken)
        return
    (one,) = taken.events
    output.say(f"{one.asset} {one.partition}".rstrip() + f" at {one.data_version}: {_WORDS[one.outcome]}")


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise UsageProblem(
            f"--data-time {text!r} is not an instant",
            rule="it is a time with its offset",
            fix="for example --data-time 2026-03-10T06:00:00+01:00",
        )
    return at
