"""Commands that ask for cells: plan, materialize, backfill.

Owns the order show → ask → launch → wait. Every one of them prints the plan that it would launch (law 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, counts_text, plain, state_text, utc_now
from partita.ui.cli.problems import FAILED

if TYPE_CHECKING:
    from partita.ui.api.models import BackfillView, LaunchView, PlanRequest
    from partita.ui.api.services.plans import Preview
    from partita.ui.cli.session import Session

backfills = typer.Typer(no_args_is_help=True, help="Ranges of partitions, with a name, a limit and progress.")


def register(app: typer.Typer) -> None:
    app.command()(plan)
    app.command()(materialize)
    app.add_typer(backfills, name="backfill")


def plan(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    lower: o.From = None,
    upper: o.To = None,
    mode: o.Mode = o.DEFAULT_MODE,
    upstream: o.Upstream = False,
    downstream: o.Downstream = False,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    form: o.Format = None,
    compare: o.Compare = None,
    as_json: o.Json = False,
) -> None:
    """Show what would run and why. Changes nothing."""
    from partita.ui.api.services.plan_difference import difference_view
    from partita.ui.cli.session import session

    shown = o.form(form, as_json=as_json)
    asked = o.Asked(selection, partitions, partition, lower, upper, mode, upstream, downstream, param)
    request = _request(asked, "run")
    output = Output(json=shown == "json")
    with session() as opened:
        preview = _preview(opened, request, output, tree=shown == "tree")
        difference = None if compare is None else opened.services.plans.compare(preview, compare)
        if difference is None:
            output.value(preview.view()) if output.json else None
            return
        if output.json:
            output.value({**plain(preview.view()), "difference": plain(difference_view(difference))})
            return
        output.say(f"compared with plan {difference.was[:14]}:" + (" nothing differs" if difference.same else ""))
        for line in difference.lines():
            output.say(f"  {line}")


def materialize(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    lower: o.From = None,
    upper: o.To = None,
    mode: o.Mode = o.DEFAULT_MODE,
    upstream: o.Upstream = False,
    downstream: o.Downstream = False,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Plan, ask, run, and wait for the end. Exit code 1 when the run fails, or when everything asked for is blocked."""
    asked = o.Asked(selection, partitions, partition, lower, upper, mode, upstream, downstream, param)
    _act(asked, intent="run", yes=yes, detach=detach, output=Output(json=as_json))


@backfills.command("create")
def backfill_create(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    lower: o.From = None,
    upper: o.To = None,
    mode: o.Mode = o.DEFAULT_MODE,
    upstream: o.Upstream = False,
    downstream: o.Downstream = False,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    max_active: Annotated[
        int | None, typer.Option("--max-active", min=1, help="At most so many tasks queued or running at once.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None,
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Materialize a range: what is missing, failed or stale in it. Waits for the end unless --detach."""
    asked = o.Asked(selection, partitions, None, lower, upper, mode, upstream, downstream, param)
    output = Output(json=as_json)
    _act(asked, intent="backfill", yes=yes, detach=detach, output=output, name=name, max_active=max_active)


@backfills.command("list")
def backfill_list(*, limit: o.Limit = 20, as_json: o.Json = False) -> None:
    """The newest backfills."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.runs.backfills(limit=limit)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("id", "name", "state", "selection", "partitions", "cells", "created"),
            [
                (str(one.id), one.name, state_text(one.state), one.selection, one.partitions_text,
                 str(sum(asset.total for asset in one.progress)), ago(one.created_at, now))
                for one in found.backfills
            ],
            empty="No backfills. Make one: partita backfill create SELECTION --from KEY --to KEY",
        )  # fmt: skip


@backfills.command("show")
def backfill_show(backfill_id: Annotated[int, typer.Argument(metavar="ID")], *, as_json: o.Json = False) -> None:
    """One backfill with its progress by asset."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        _say_backfill(opened.services.runs.backfill(backfill_id), output)


@backfills.command("cancel")
def backfill_cancel(
    backfill_id: Annotated[int, typer.Argument(metavar="ID")], *, yes: o.Yes = False, as_json: o.Json = False
) -> None:
    """Cancel what has not started, and ask what runs to stop."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.runs.backfill(backfill_id)
        if found.state != "running":
            output.err.print(f"backfill {found.id} has ended: there is nothing to cancel", highlight=False)
            _say_backfill(found, output)
            return
        if not as_json:
            _say_backfill(found, output)
        output.confirm(f"Cancel backfill {found.id} ({found.name})?", yes=yes)
        _say_backfill(opened.services.runs.cancel_backfill(backfill_id), output)


def _act(
    asked: o.Asked,
    *,
    intent: str,
    yes: bool,
    detach: bool,
    output: Output,
    name: str | None = None,
    max_active: int | None = None,
) -> None:
    from partita.core.planner import blocked_summary
    from partita.ui.api.models import LaunchRequest
    from partita.ui.cli.session import session

    request = _request(asked, intent)
    with session() as opened:
        preview = _preview(opened, request, output)
        if preview.plan.empty:
            if output.json:
                output.value({"plan": preview.view(), "run": None, "backfill_id": None})
            if preview.plan.blocked:
                # Asked for and not made: a script that goes on as if it were there would be wrong.
                output.err.print(f"nothing can run: {blocked_summary(preview.plan)}", soft_wrap=True)
                raise typer.Exit(FAILED)
            return
        count = preview.plan.cell_count
        output.confirm(f"Materialize {count} {'cell' if count == 1 else 'cells'}?", yes=yes)
        launched = opened.services.plans.launch(
            preview.plan_id, LaunchRequest(confirm_cells=count, name=name, max_active=max_active)
        )
        _wait(opened, preview, launched, detach=detach, output=output)


def _wait(opened: Session, preview: Preview, launched: LaunchView, *, detach: bool, output: Output) -> None:
    from partita.ui.cli.follow import follow, say_end

    run_id = launched.run_id
    what = f"backfill {launched.backfill_id}, run {run_id}" if launched.backfill_id is not None else f"run {run_id}"
    output.say(f"Launched {what}.")
    if detach:
        summary = opened.services.runs.summary(run_id)
        output.say(f"It goes on by itself: partita runs show {run_id}")
    else:
        try:
            summary = follow(opened, run_id, output)
        except KeyboardInterrupt:
            output.err.print(f"\nrun {run_id} goes on; to stop it: partita runs cancel {run_id}")
            raise
        say_end(opened, summary, output)
    if output.json:
        output.value({"plan": preview.view(), "run": summary, "backfill_id": launched.backfill_id})
    if not detach and summary.state != "success":
        raise typer.Exit(FAILED)


def _request(asked: o.Asked, intent: str) -> PlanRequest:
    """Before anything is opened: a mistyped option is told at once."""
    from partita.ui.api.models import PlanRequest

    return PlanRequest.model_validate(asked.request(intent))


def _preview(opened: Session, request: PlanRequest, output: Output, *, tree: bool = False) -> Preview:
    from partita.core.planner import render_text

    preview = opened.services.plans.preview(request)
    text = render_text(preview.plan, preview.catalog, "tree" if tree else "table", width=output.width)
    if output.json:
        output.err.print(
            text, soft_wrap=True
        )  # stdout is for the value alone, and the plan is shown before anything acts
    else:
        output.say(text)
    return preview


def _say_backfill(found: BackfillView, output: Output) -> None:
    from partita.ui.api.services.words import seconds_text

    if output.json:
        output.value(found)
        return
    head = state_text(found.state)
    head.append(f"  backfill {found.id} {found.name}: {found.selection} {found.partitions_text}")
    output.say(head)
    if found.max_active is not None:
        output.say(f"at most {found.max_active} tasks at once")
    if found.eta_s is not None:
        output.say(f"about {seconds_text(found.eta_s)} left at the speed so far")
    output.table(
        ("asset", "cells", "states"),
        [(one.asset, str(one.total), counts_text(one.counts)) for one in found.progress],
        empty="It has no tasks of its own: other runs make its cells.",
    )
