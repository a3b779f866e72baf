"""`partita requests`: what automation asks for above the limit, and a person's word on it.

Owns the order show → ask → decide.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, state_text, utc_now

if TYPE_CHECKING:
    from partita.ui.api.models import RequestDetail
    from partita.ui.cli.session import Session

STATES = ("awaiting_input", "approved", "rejected", "expired", "superseded")

requests = typer.Typer(no_args_is_help=True, help="Automatic requests above the limit: list, show, approve, reject.")
RequestArgument = Annotated[int, typer.Argument(metavar="ID", help="Of `partita requests list`.")]


def register(app: typer.Typer) -> None:
    app.add_typer(requests, name="requests")


@requests.command("list")
def list_requests(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    state: Annotated[str | None, typer.Option("--state", help=f"One of {', '.join(STATES)}.")] = None,
    limit: o.Limit = 50,
    as_json: o.Json = False,
) -> None:
    """The requests that wait for a person, newest first."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    o.known_state(state, STATES)
    with session() as opened:
        found = opened.services.requests.page(state=None if everything else state or "awaiting_input", limit=limit)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("id", "state", "cells", "limit", "assets", "because", "since", "ended"),
            [
                (
                    str(one.id),
                    state_text(one.state),
                    f"{one.cells:,}",
                    f"{one.cell_limit:,}",
                    ", ".join(asset.key for asset in one.assets[:3]) + (" …" if len(one.assets) > 3 else ""),
                    one.cause,
                    ago(one.created_at, now),
                    _end(one.ended_by, one.end_reason, one.run_id),
                )
                for one in found.requests
            ],
            empty="No automatic request waits for a person.",
        )


def _end(by: str | None, reason: str | None, run_id: int | None) -> str:
    if by is None:
        return "–"
    return f"by {by}" + (f": {reason}" if reason else "") + (f", run {run_id}" if run_id is not None else "")


@requests.command("show")
def show_request(request_id: RequestArgument, *, as_json: o.Json = False) -> None:
    """What one request would make, by asset and reason, and what changed since."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.requests.detail(request_id)
        if as_json:
            output.value(found)
        else:
            _say(found, output)


@requests.command("approve")
def approve_request(request_id: RequestArgument, *, yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Show the request as of now, ask, and launch just that."""
    from partita.ui.api.models import ApproveRequest
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = _shown(opened, request_id, output)
        output.confirm(f"Materialize {found.cells:,} {_cells(found.cells)}?", yes=yes)
        done = opened.services.requests.approve(
            request_id,
            ApproveRequest(revision=found.revision, confirm_cells=found.cells),
            traceparent=os.environ.get("TRACEPARENT"),
        )
        if as_json:
            output.value(done)
        else:
            output.say(f"Approved: run {done.run_id} makes {done.cells:,} {_cells(done.cells)}.")
            output.say(f"To watch it: partita runs show {done.run_id}")


@requests.command("reject")
def reject_request(
    request_id: RequestArgument,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why it is not to be made; kept.")],
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """End it. What its inputs hold now asks no more; new data does."""
    from partita.ui.api.models import RejectRequest
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = _shown(opened, request_id, output)
        output.confirm(f"Reject it? {found.cells:,} {_cells(found.cells)} stay as they are.", yes=yes)
        done = opened.services.requests.reject(request_id, RejectRequest(revision=found.revision, reason=reason))
        if as_json:
            output.value(done)
        else:
            output.say("Rejected. The same state of its inputs is not asked for again; a new one is.")


def _shown(opened: Session, request_id: int, output: Output) -> RequestDetail:
    found = opened.services.requests.detail(request_id)
    if not output.json:
        _say(found, output)
    return found


def _say(found: RequestDetail, output: Output) -> None:
    head = state_text(found.state)
    head.append(f"  request {found.id}: {found.sentence}")
    output.say(head)
    before = f", with {found.before:,} asked for before because of the same run" if found.before else ""
    output.say(f"because {found.cause}; its limit is {found.cell_limit:,}{before}")
    output.table(
        ("asset", "cells", "why", "partitions"),
        [
            (
                one.key,
                f"{one.cells:,}",
                ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in one.by_reason.items()),
                one.partitions,
            )
            for one in found.assets
        ],
        empty="",
    )
    if found.changed:
        output.say(f"since it was asked: {found.changed}")
    if found.ended_by is not None:
        output.say(f"{found.state} {_end(found.ended_by, found.end_reason, found.run_id)}")


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"
