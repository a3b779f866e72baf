"""Commands that ask for cells: plan, materialize, backfill.

Owns the order show → ask → launch → wait. Every one of them prints the plan that it would launch (law 6).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, plain
from partita.ui.cli.problems import FAILED, UsageProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partita.ui.api.models import LaunchView, PlanRequest
    from partita.ui.api.services.plans import Preview
    from partita.ui.cli.session import Session

backfills = typer.Typer(no_args_is_help=True, help="Ranges of partitions, with a name, a limit and progress.")


def register(app: typer.Typer) -> None:
    app.command()(plan)
    app.command()(materialize)


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
    lane: o.Lane = None,
    max_active: o.MaxActive = None,
    tag: o.Tag = [],  # noqa: B006 - Typer's form of "none given"; never changed
    timeout: o.Timeout = None,
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Plan, ask, run, and wait for the end. Exit code 1 when the run fails, or when everything asked for is blocked."""
    from partita.ui.api.services.words import tags_of

    asked = o.Asked(selection, partitions, partition, lower, upper, mode, upstream, downstream, param)
    said = {
        "lane": lane,
        "max_active": max_active,
        "timeout_s": o.seconds_of(timeout, "--timeout"),
        "tags": tags_of(tag),
    }
    _act(asked, intent="run", yes=yes, detach=detach, output=Output(json=as_json), said=said)


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
    max_active: o.MaxActive = None,
    priority: Annotated[
        int, typer.Option("--priority", help="Higher goes first among backfills.", min=-1000, max=1000)
    ] = 0,
    order: Annotated[str, typer.Option("--order", help="oldest or newest partitions first.")] = "oldest",
    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None,
    lane: o.Lane = None,
    tag: o.Tag = [],  # noqa: B006 - Typer's form of "none given"; never changed
    timeout: o.Timeout = None,
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Materialize a range: what is missing, failed or stale in it. Waits for the end unless --detach."""
    from partita.ui.api.services.words import tags_of

    asked = o.Asked(selection, partitions, None, lower, upper, mode, upstream, downstream, param)
    output = Output(json=as_json)
    if order not in ("oldest", "newest"):
        raise UsageProblem(f"--order {order!r} is not known", rule="it is oldest or newest", fix="--order oldest")
    said = {
        "name": name,
        "max_active": max_active,
        "priority": priority,
        "order": order,
        "lane": lane,
        "timeout_s": o.seconds_of(timeout, "--timeout"),
        "tags": tags_of(tag),
    }
    _act(asked, intent="backfill", yes=yes, detach=detach, output=output, said=said)


def _act(
    asked: o.Asked,
    *,
    intent: str,
    yes: bool,
    detach: bool,
    output: Output,
    said: Mapping[str, Any],
) -> None:
    from partita.ui.cli.session import session

    request = _request(asked, intent)
    with session() as opened:
        preview = _preview(opened, request, output, limited=said.get("max_active") is not None)
        launch_shown(opened, preview, said, yes=yes, detach=detach, output=output)


def launch_shown(
    opened: Session, preview: Preview, said: Mapping[str, Any], *, yes: bool, detach: bool, output: Output
) -> None:
    """Asks about a plan that was just shown, launches it with what is `said` of it (fields of LaunchRequest), and waits."""
    from partita.core.planner import blocked_summary
    from partita.ui.api.models import LaunchRequest

    if preview.plan.empty:
        if output.json:
            output.value({"plan": preview.view(), "run": None, "backfill_id": None})
        if preview.plan.blocked:
            # Asked for and not made: a script that goes on as if it were there would be wrong.
            output.err.print(f"nothing can run: {blocked_summary(preview.plan)}", soft_wrap=True)
            raise typer.Exit(FAILED)
        return
    count = preview.plan.cell_count
    again = " again" if preview.plan.request.mode == ("all",) else ""
    output.confirm(f"Materialize {count} {'cell' if count == 1 else 'cells'}{again}?", yes=yes)
    launched = opened.services.plans.launch(
        preview.plan_id, LaunchRequest(confirm_cells=count, **said), traceparent=os.environ.get("TRACEPARENT")
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


def _preview(
    opened: Session, request: PlanRequest, output: Output, *, tree: bool = False, limited: bool = False
) -> Preview:
    preview = opened.services.plans.preview(request)
    if not preview.catalog.assets:  # "nothing to do" would pass for done
        raise UsageProblem(
            "no asset is known yet",
            rule="there is nothing to plan before a code location has been loaded",
            fix="start its server (`partita dev` starts all); `partita locations` says what does not load",
        )
    say_plan(preview, output, tree=tree, limited=limited)
    return preview


def say_plan(preview: Preview, output: Output, *, tree: bool = False, limited: bool = False) -> None:
    """On stderr under --json: stdout is for the value alone, and the plan is shown before anything acts. `limited`: it is
    launched with a limit of tasks at once."""
    from partita.core.planner import render_text

    text = render_text(preview.plan, preview.catalog, "tree" if tree else "table", width=output.width, limited=limited)
    if output.json:
        output.err.print(text, soft_wrap=True)
    else:
        output.say(text)
