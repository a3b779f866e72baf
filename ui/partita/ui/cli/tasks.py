"""`partita tasks`: one task of a run, and what people do to it.

Owns the order show → ask → do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, error_line, state_text

if TYPE_CHECKING:
    from partita.ui.api.models import TaskDetail

_CELLS_SHOWN = 20

tasks = typer.Typer(no_args_is_help=True, help="One task of a run: show, cancel, rerun.")
TaskArgument = Annotated[int, typer.Argument(metavar="ID", min=1, help="Of `partita runs show`.")]


def register(app: typer.Typer) -> None:
    app.add_typer(tasks, name="tasks")


@tasks.command("show")
def show_task(task_id: TaskArgument, *, as_json: o.Json = False) -> None:
    """One task with its attempts and cells."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        _say(opened.services.runs.task(task_id), output)


@tasks.command("cancel")
def cancel_task(task_id: TaskArgument, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
    """Cancel one task: it ends at once, or is asked to stop when it runs. The rest of its run goes on."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.runs.cancel_task_preview(task_id)
        found = opened.services.runs.task(task_id)
        if not as_json:
            _say_head(found, output)
        if not shown.at_once and not shown.running:
            output.err.print(f"task {task_id} has ended: there is nothing to cancel", highlight=False)
        else:
            (output.err.print if as_json else output.say)(shown.sentence)
            output.confirm(f"Cancel task {task_id}?", yes=yes)
            found = opened.services.runs.cancel_task(task_id, reason)
        if as_json:
            output.value(found)
        else:
            _say_head(found, output)


@tasks.command("rerun")
def rerun_task(
    task_id: TaskArgument,
    *,
    downstream: o.Downstream = False,
    max_active: o.MaxActive = None,
    reason: o.Why = "",
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Make the cells of a task that has ended again, in a new run with the params of the old one."""
    from partita.ui.cli.session import session
    from partita.ui.cli.work import launch_shown, say_plan

    output = Output(json=as_json)
    with session() as opened:
        _, preview = opened.services.reruns.preview(task_id, downstream=downstream)
        say_plan(preview, output, limited=max_active is not None)
        said = {"reason": reason, "max_active": max_active}
        launch_shown(opened, preview, said, yes=yes, detach=detach, output=output)


def _say(found: TaskDetail, output: Output) -> None:
    if output.json:
        output.value(found)
        return
    _say_head(found, output)
    output.table(
        ("attempt", "number", "state", "error"),
        [(str(one.id), str(one.number), state_text(one.state), error_line(one.error) or "–") for one in found.attempts],
        empty="No attempt has started.",
    )
    output.table(
        ("asset", "partition", "state"),
        [(one.asset, one.partition or "–", state_text(one.state)) for one in found.cells[:_CELLS_SHOWN]],
        empty="",
    )
    if len(found.cells) > _CELLS_SHOWN:
        output.say(f"and {found.cell_count - _CELLS_SHOWN:,} more cells")


def _say_head(found: TaskDetail, output: Output) -> None:
    head = state_text(found.state)
    head.append(f"  task {found.id} of run {found.run_id}: {found.step} {found.partitions_text}".rstrip())
    if found.reason is not None:
        head.append(f": {found.reason.text}")
    output.say(head)
