"""`partita backfill`: list, show, pause, resume, cancel, retry, set. Creating one is `work.py`'s, beside `materialize`.

Owns the words and the confirmations; what is allowed is decided by the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, counts_text, state_text, utc_now
from partita.ui.cli.problems import UsageProblem
from partita.ui.cli.work import backfills, launch_shown, say_plan

if TYPE_CHECKING:
    from partita.ui.api.models import BackfillView

_Id = Annotated[int, typer.Argument(metavar="ID")]


def register(app: typer.Typer) -> None:
    app.add_typer(backfills, name="backfill")


@backfills.command("list")
def list_backfills(*, limit: o.Limit = 20, as_json: o.Json = False) -> None:
    """The newest backfills."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.backfills.page(limit=limit)
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("id", "name", "state", "selection", "partitions", "cells", "created"),
        [
            (str(one.id), one.name, state_text(_shown(one)), one.selection, one.partitions_text, str(one.cells),
             ago(one.created_at, now))
            for one in found.backfills
        ],
        empty="No backfills. Make one: partita backfill create SELECTION --from KEY --to KEY",
    )  # fmt: skip


@backfills.command("show")
def show(backfill_id: _Id, *, as_json: o.Json = False) -> None:
    """One backfill with its progress by asset."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        _say(opened.services.backfills.get(backfill_id), output)


@backfills.command("pause")
def pause(backfill_id: _Id, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Start nothing more of it. What runs goes on to its end; what is queued gives its slots back."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        opened.services.backfills.open(backfill_id, "pause")
        output.say(opened.services.backfills.pause_preview(backfill_id).sentence)
        output.confirm(f"Pause backfill {backfill_id}?", yes=yes)
        _say(opened.services.backfills.pause(backfill_id, reason), output)


@backfills.command("resume")
def resume(backfill_id: _Id, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Let a paused backfill go on."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.backfills.open(backfill_id, "resume")
        output.confirm(f"Resume backfill {backfill_id} ({_limits(shown.max_active, shown.priority)})?", yes=yes)
        _say(opened.services.backfills.resume(backfill_id, reason), output)


@backfills.command("set")
def change(
    backfill_id: _Id,
    *,
    max_active: o.NewLimit = None,
    priority: Annotated[
        int | None, typer.Option("--priority", help="Higher goes first among backfills.", min=-1000, max=1000)
    ] = None,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Change its limit or its priority while it runs. What is queued above a smaller limit goes back in line."""
    from partita.ui.api.models import BackfillSettings
    from partita.ui.cli.session import session

    given: dict[str, object] = {"reason": reason}
    if max_active is not None:
        given["max_active"] = o.limit_of(max_active)
    if priority is not None:
        given["priority"] = priority
    if len(given) == 1:
        raise UsageProblem("nothing to set", rule="at least one of --max-active, --priority")
    output = Output(json=as_json)
    with session() as opened:
        settings = BackfillSettings.model_validate(given)
        shown = opened.services.backfills.open(backfill_id, "set")
        was = _limits(shown.max_active, shown.priority)
        wanted = shown.model_copy(update=given)
        output.confirm(
            f"Backfill {backfill_id} has {was}. Change it to {_limits(wanted.max_active, wanted.priority)}?", yes=yes
        )
        _say(opened.services.backfills.change(backfill_id, settings), output)


def _limits(max_active: int | None, priority: int) -> str:
    return f"{o.limits_text(max_active)}, priority {priority}"


@backfills.command("retry")
def retry(backfill_id: _Id, *, yes: o.Yes = False, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Make what failed, could not start or was cancelled again: a further run of the same backfill."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        preview = opened.services.plans.retry(backfill_id)
        say_plan(preview, output)
        launch_shown(opened, preview, {}, yes=yes, detach=detach, output=output)


@backfills.command("cancel")
def cancel(backfill_id: _Id, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Cancel what has not started, and ask what runs to stop."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.backfills.get(backfill_id)
        if found.state != "running":
            output.err.print(f"backfill {found.id} has ended: there is nothing to cancel", highlight=False)
            _say(found, output)
            return
        if not as_json:
            _say(found, output)
        output.say(opened.services.backfills.cancel_preview(backfill_id).sentence)
        output.confirm(f"Cancel backfill {found.id} ({found.name})?", yes=yes)
        _say(opened.services.backfills.cancel(backfill_id, reason), output)


def _shown(found: BackfillView) -> str:
    return "paused" if found.paused_by is not None else found.state


def _say(found: BackfillView, output: Output) -> None:
    from partita.ui.api.services.words import plural, seconds_text

    if output.json:
        output.value(found)
        return
    head = state_text(_shown(found))
    head.append(f"  backfill {found.id} {found.name}: {found.selection} {found.partitions_text}")
    output.say(head)
    if found.paused_by is not None and found.paused_at is not None:
        output.say(f"paused by {found.paused_by} {ago(found.paused_at, utc_now())}: partita backfill resume {found.id}")
    if found.cancelling:
        output.say("is being cancelled")
    limits = [o.limits_text(found.max_active)] if found.max_active is not None else []
    limits += [f"priority {found.priority}"] if found.priority else []
    limits += ["newest partitions first"] if found.order == "newest" else []
    if limits:
        output.say(", ".join(limits))
    if len(found.run_ids) > 1:
        output.say(f"runs {', '.join(map(str, found.run_ids))}")
    if found.eta_s is not None and found.cells_per_s is not None:
        output.say(f"about {seconds_text(found.eta_s)} left at {found.cells_per_s:.3g} cells a second")
    if found.unmade:
        output.say(f"{plural(found.unmade, 'cell')} not made: partita backfill retry {found.id}")
    output.table(
        ("asset", "cells", "states"),
        [(one.asset, str(one.total), counts_text(one.counts)) for one in found.progress],
        empty="It has no tasks of its own: other runs make its cells.",
    )
