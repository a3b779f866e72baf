"""`partita jobs`: requests that are kept under a name, with or without a schedule.

Owns the order show → ask → do.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output

if TYPE_CHECKING:
    from partita.ui.api.models.jobs import JobPreview, JobView

jobs = typer.Typer(no_args_is_help=True, help="Named jobs: add, list, show, run, pause, resume, remove.")
_CHANGES = "* the clocks change on that day"
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of `partita jobs list`.")]


def register(app: typer.Typer) -> None:
    app.add_typer(jobs, name="jobs")


@jobs.command("add")
def add_job(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")],
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    mode: o.Mode = o.DEFAULT_MODE,
    upstream: o.Upstream = False,
    downstream: o.Downstream = False,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    tag: o.Tag = [],  # noqa: B006 - Typer's form of "none given"; never changed
    lane: Annotated[str | None, typer.Option("--lane", help="In which lane; default: scheduled.")] = None,
    cron: Annotated[str | None, typer.Option("--cron", help='When, for example "0 6 * * 1-5". Needs --tz.')] = None,
    tz: Annotated[str | None, typer.Option("--tz", help="The zone of the cron, for example Europe/Berlin.")] = None,
    max_active: o.MaxActive = None,
    max_cells: Annotated[
        int | None, typer.Option("--max-cells", min=0, help="A tick of more cells asks for nothing.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="In the place of one of this name.")] = False,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Keep a request under a name: shows what it would make now and when it goes, and asks."""
    from partita.ui.api.models.jobs import JobConfirm
    from partita.ui.api.services.words import tags_of
    from partita.ui.cli.session import session
    from partita.ui.cli.work import say_plan

    output = Output(json=as_json)
    asked = o.Asked(selection, partitions, None, None, None, mode, upstream, downstream, param).request("run")
    known = ("selection", "partitions", "mode", "upstream", "downstream", "params")
    body = {"name": name, **{one: asked[one] for one in known}, "tags": tags_of(tag), "lane": lane}
    limits = {"max_cells": max_cells, "max_active": max_active}
    request = JobConfirm.model_validate({**body, **limits, "cron": cron, "tz": tz, "replace": replace})
    with session() as opened:
        plan, shown = opened.services.jobs.preview(request)
        say_plan(plan, output, limited=max_active is not None)
        said = output.err.print if as_json else output.say
        said(shown.sentence)
        if shown.ticks:
            said(f"Next: {_ticks(shown)}")
            if shown.clock_changes:
                said(_CHANGES)
        output.confirm(f"Keep job {name}?", yes=yes)
        kept = opened.services.jobs.add(request)
    if as_json:
        output.value(kept)
    else:
        output.say(f"Kept. By hand: partita jobs run {name}")


@jobs.command("list")
def list_jobs(*, as_json: o.Json = False) -> None:
    """All jobs, when they go next, and what their last tick came to."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.jobs.list()
    if as_json:
        output.value(found)
        return
    output.table(
        ("job", "asks for", "when", "next", "last"),
        [(one.name, _asks(one), _schedule(one), _next(one), _last(one)) for one in found.jobs],
        empty="No job is kept. Keep one: partita jobs add nightly '*' --partitions latest --cron '0 6 * * *' --tz UTC",
    )


@jobs.command("show")
def show_job(name: Name, *, as_json: o.Json = False) -> None:
    """One job with its next ticks."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.jobs.get(name)
    if as_json:
        output.value(found)
        return
    rows = [
        ("asks for", _asks(found)),
        ("mode", ", ".join(found.mode)),
        ("params", ", ".join(f"{one}={value!r}" for one, value in found.params.items()) or "–"),
        ("tags", ", ".join(f"{one}={value}" for one, value in found.tags.items()) or "–"),
        ("lane", found.lane),
        ("limit", o.limits_text(found.max_active)),
        ("when", _schedule(found)),
        ("next", _next(found)),
        ("ticks", _ticks(found) or "–"),
        ("last", _last(found)),
        ("kept by", f"{found.created_by}, {_when(found.created_at)}"),
    ]
    output.table((found.name, ""), rows, empty="")
    if found.clock_changes:
        output.say(_CHANGES)
    output.say(f"Its runs: partita runs --tag job={found.name}")


@jobs.command("run")
def run_job(
    name: Name,
    *,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    max_active: o.MaxActive = None,
    reason: o.Why = "",
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Show what it asks for now, ask, run it, and wait for the end. --param and --max-active for this time only."""
    from partita.ui.api.models.jobs import JobRun
    from partita.ui.cli.session import session
    from partita.ui.cli.work import launch_shown, say_plan

    output = Output(json=as_json)
    with session() as opened:
        preview, found = opened.services.jobs.plan(name, JobRun(params=o.params(param)))
        limit = found.max_active if max_active is None else max_active
        say_plan(preview, output, limited=limit is not None)
        said = {"reason": reason, "tags": found.tags, "lane": found.lane, "max_active": limit}
        launch_shown(opened, preview, said, yes=yes, detach=detach, output=output)


@jobs.command("pause")
def pause_job(name: Name, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """No tick of it asks for anything until it is resumed."""
    from partita.ui.api.models.jobs import JobChange
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.jobs.get(name)
        output.confirm(f"Pause job {name} ({_schedule(shown)}; next {_next(shown)})?", yes=yes)
        found = opened.services.jobs.pause(name, JobChange(reason=reason))
    output.value(found) if as_json else output.say(f"Paused. To end it: partita jobs resume {name}")


@jobs.command("resume")
def resume_job(
    name: Name,
    *,
    catch_up: Annotated[
        str, typer.Option("--catch-up", help="Of the ticks that passed: none is heeded, or the latest.")
    ] = "none",
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Let its ticks ask again; says how many passed meanwhile."""
    from partita.ui.api.models.jobs import JobResume
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    change = JobResume.model_validate({"catch_up": catch_up, "reason": reason})
    with session() as opened:
        shown = opened.services.jobs.get(name)
        what = (
            "one request is made for them at once"
            if catch_up == "latest" and shown.missed
            else "none of them is heeded"
        )
        ticks = f"next {_when(shown.ticks[0])}" if shown.ticks else "it goes by hand"
        said = output.err.print if as_json else output.say
        said(
            f"{shown.missed:,} {'tick' if shown.missed == 1 else 'ticks'} passed since it was paused: {what}; {ticks}."
        )
        output.confirm(f"Resume job {name}?", yes=yes)
        found = opened.services.jobs.resume(name, change)
    output.value(found) if as_json else output.say("Resumed.")


@jobs.command("remove")
def remove_job(name: Name, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Forget a job. Its runs, and what they made, stay."""
    from partita.ui.api.models.jobs import JobChange
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.jobs.get(name)
        output.confirm(f"Remove job {name} ({shown.selection}, {_schedule(shown)})?", yes=yes)
        done = opened.services.jobs.remove(name, JobChange(reason=reason))
    output.value(done) if as_json else output.say("Removed.")


def _asks(job: JobView) -> str:
    return f"{job.selection} {job.partitions or ''}".rstrip()


def _schedule(job: JobView) -> str:
    return "by hand" if job.cron is None else f"{job.cron} {job.tz}"


def _next(job: JobView) -> str:
    if job.paused_by is not None:
        return f"paused by {job.paused_by}" + (f": {job.pause_reason}" if job.pause_reason else "")
    return "–" if job.next_at is None else _when(job.next_at)


def _last(job: JobView) -> str:
    if job.last_tick is None:
        return "–"
    return f"{_when(job.last_tick)}: {job.last_note or ''}"


def _ticks(shown: JobView | JobPreview) -> str:
    """The next ticks; `*` where the clocks change on that day."""
    changes = set(shown.clock_changes)
    return ", ".join(f"{_when(at)}{'*' if at in changes else ''}" for at in shown.ticks)


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
