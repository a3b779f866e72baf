"""Commands about what runs: runs, logs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, counts_text, error_line, state_text, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models import LogLineView, RunSummary, TaskRow
    from partita.ui.cli.session import Session

RUN_STATES = ("running", "success", "failed", "cancelled")
_FOLLOW_S = 0.3
_TASKS_SHOWN = 50
_PAGE = 1_000
_LEVEL_STYLES = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red", "DEBUG": "dim"}

runs = typer.Typer(invoke_without_command=True, help="Runs: list, show, set, cancel.")


def register(app: typer.Typer) -> None:
    app.add_typer(runs, name="runs")
    app.command()(logs)


@runs.callback()
def list_runs(
    context: typer.Context,
    *,
    state: Annotated[str | None, typer.Option("--state", help="running, success, failed or cancelled.")] = None,
    tag: Annotated[list[str], typer.Option("--tag", help="NAME=VALUE; repeatable: runs with all of them.")] = [],  # noqa: B006
    limit: o.Limit = 20,
    as_json: o.Json = False,
) -> None:
    """The newest runs; `show ID`, `set ID` and `cancel ID` for one."""
    if context.invoked_subcommand is not None:
        return
    from partita.ui.api.services.words import tags_of
    from partita.ui.cli.session import session

    output, tags = Output(json=as_json), tags_of(tag)
    o.known_state(state, RUN_STATES)
    with session() as opened:
        found = opened.services.runs.page(state=state, tags=tags, limit=limit)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("id", "state", "cells", "tasks", "why", "assets", "tags", "created"),
            [_run_row(one, ago(one.created_at, now)) for one in found.runs],
            empty="No runs. Make one: partita materialize SELECTION",
        )


def _run_row(one: RunSummary, created: str) -> tuple[str | Text, ...]:
    assets = ", ".join(one.asset_keys[:3]) + (" …" if len(one.asset_keys) > 3 else "")
    cells = one.cells
    done = cells.published + cells.unchanged
    rest = (("unchanged", cells.unchanged), ("failed", cells.failed), ("skipped", cells.skipped))
    return (
        str(one.id),
        state_text(one.state),
        ", ".join([f"{done}/{cells.total}", *(f"{count} {name}" for name, count in rest if count)]),
        str(one.task_count),
        one.cause.kind,
        assets,
        ", ".join(f"{name}={value}" for name, value in one.tags.items()) or "–",
        created,
    )


@runs.command("show")
def show_run(
    run_id: Annotated[int, typer.Argument(metavar="ID")],
    *,
    state: Annotated[str | None, typer.Option("--state", help="Only tasks in this state.")] = None,
    as_json: o.Json = False,
) -> None:
    """One run with its tasks, their states and reasons."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        detail = opened.services.runs.detail(run_id)
        tasks = opened.services.runs.tasks(run_id, state=state, limit=500 if as_json else _TASKS_SHOWN)
        if as_json:
            output.value({"run": detail, "tasks": tasks})
            return
        _say_run(detail, output)
        for wait in detail.waits:
            output.say(f"  {wait.side}: {wait.text}")
        output.table(
            ("task", "step", "partitions", "state", "attempt", "why or error"),
            [_task_row(row) for row in tasks.tasks],
            empty="No tasks in this state." if state else "No tasks of its own: other runs make its cells.",
        )
        if tasks.total > len(tasks.tasks):
            output.say(f"and {tasks.total - len(tasks.tasks)} more tasks; --state narrows, --json has up to 500")


def _say_run(summary: RunSummary, output: Output) -> None:
    from partita.ui.api.models import RunDetail
    from partita.ui.api.services.run_views import cells_text

    head = state_text(summary.state)
    head.append(f"  run {summary.id}: {summary.cause.text}")
    output.say(head)
    if summary.tags:
        output.say("tags: " + ", ".join(f"{name}={value}" for name, value in summary.tags.items()))
    output.say(f"trace: {summary.trace_id}")
    output.say(cells_text(summary.cells))
    output.say(counts_text(summary.tallies))
    if isinstance(summary, RunDetail) and summary.max_active is not None:
        output.say(o.limits_text(summary.max_active))
    if isinstance(summary, RunDetail) and summary.times_out_at is not None:
        said = "timed out" if summary.timed_out_at is not None else "times out"
        output.say(f"{said} at {summary.times_out_at:%Y-%m-%d %H:%M:%S} UTC")


def _task_row(row: TaskRow) -> tuple[str | Text, ...]:
    why = row.reason.text if row.reason is not None else error_line(row.error)
    attempt = f"{row.attempt_number}/{row.max_attempts}"
    state = "unchanged" if row.outcome == "unchanged" else row.state
    return str(row.id), row.step, row.partitions_text, state_text(state), attempt, row.outcome_text or why


@runs.command("set")
def set_run(
    run_id: Annotated[int, typer.Argument(metavar="ID")],
    *,
    max_active: o.NewLimit = None,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Change its limit while it runs. What is queued above a smaller one goes back in line."""
    from partita.ui.api.models import RunSettings
    from partita.ui.cli.session import session

    if max_active is None:
        raise UsageProblem("nothing to set", rule="--max-active says what", fix="--max-active 4, or none")
    output, limit = Output(json=as_json), o.limit_of(max_active)
    with session() as opened:
        shown = opened.services.runs.limitable(run_id)
        output.confirm(
            f"Run {run_id} has {o.limits_text(shown.max_active)}. Change it to {o.limits_text(limit)}?", yes=yes
        )
        changed = opened.services.runs.change(run_id, RunSettings(max_active=limit, reason=reason))
        if as_json:
            output.value(changed)
        else:
            _say_run(changed, output)


@runs.command("cancel")
def cancel_run(
    run_id: Annotated[int, typer.Argument(metavar="ID")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Cancel what has not started, and ask what runs to stop."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        summary = opened.services.runs.summary(run_id)
        _say_run(summary, output)
        if summary.state != "running":
            output.err.print(f"run {run_id} has ended: there is nothing to cancel", highlight=False)
            if as_json:
                output.value(summary)
            return
        output.say(opened.services.runs.cancel_preview(run_id).sentence)
        output.confirm(f"Cancel run {run_id}?", yes=yes)
        summary = opened.services.runs.cancel(run_id, reason)
        if as_json:
            output.value(summary)
        else:
            _say_run(summary, output)


def logs(
    asset: Annotated[
        str | None, typer.Argument(help="An asset's key: the log of the last attempt at one cell.")
    ] = None,
    *,
    partition: o.Partition = None,
    run: Annotated[int | None, typer.Option("--run", help="All attempts of a run, one after another.")] = None,
    task: Annotated[int | None, typer.Option("--task", help="All attempts of a task.")] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", help="One attempt.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the attempt ends.")] = False,
    level: Annotated[str | None, typer.Option("--level", help="At least this level, such as WARNING.")] = None,
    search: Annotated[str | None, typer.Option("--search", help="Only lines with this text.")] = None,
    as_json: o.Json = False,
) -> None:
    """What attempts said: their logs, stdout and stderr."""
    from partita.ui.cli.session import session

    if sum(one is not None for one in (asset, run, task, attempt)) != 1:
        raise UsageProblem(
            "logs of what?", rule="one of ASSET, --run, --task, --attempt", fix="for example partita logs --run 7 -f"
        )
    if follow and as_json:
        raise UsageProblem("--follow and --json are given together", rule="--json is one value", fix="drop one of them")
    output = Output(json=as_json)
    with session() as opened:
        attempts = _attempts(opened, asset, partition or "", run, task, attempt)
        if as_json:
            output.value({"attempts": [_log_value(opened, one, search, level) for one in attempts]})
            return
        if not attempts:
            output.say("Nothing was attempted yet.")
        for one in attempts:
            if len(attempts) > 1:
                output.say(Text(f"── attempt {one}", style="dim"))
            _print_log(opened, one, output, follow=follow, search=search, level=level)


def _attempts(
    opened: Session, asset: str | None, partition: str, run: int | None, task: int | None, attempt: int | None
) -> list[int]:
    services = opened.services
    if attempt is not None:
        return [attempt]
    if task is not None:
        return [one.id for one in services.runs.task(task).attempts]
    if run is not None:
        return _attempts_of_run(opened, run)
    assert asset is not None
    cell = services.assets.cell(asset, services.assets.partition_of(asset, partition))
    return [cell.last_attempt.id] if cell.last_attempt is not None else []


def _attempts_of_run(opened: Session, run: int) -> list[int]:
    found: list[int] = []
    offset = 0
    while True:
        page = opened.services.runs.tasks(run, offset=offset, limit=_PAGE)
        found += [one.id for row in page.tasks for one in row.attempts]
        offset += len(page.tasks)
        if offset >= page.total or not page.tasks:
            return found


def _log_value(opened: Session, attempt: int, search: str | None, level: str | None) -> dict[str, object]:
    lines: list[LogLineView] = []
    offset, complete = 0, False
    while True:
        page = opened.services.logs.page(attempt, offset=offset, search=search, level=level)
        lines += page.lines
        complete = page.complete
        if complete or page.next_offset == offset:
            return {"attempt_id": attempt, "complete": complete, "lines": lines}
        offset = page.next_offset


def _print_log(
    opened: Session, attempt: int, output: Output, *, follow: bool, search: str | None, level: str | None
) -> None:
    offset, said = 0, False
    quiet = threading.Event()  # log files have no events; nobody sets it
    while True:
        page = opened.services.logs.page(attempt, offset=offset, search=search, level=level)
        for line in page.lines:
            output.say(log_text(line))
            said = True
        if page.complete:
            if not said:
                output.say(Text("nothing was said" + (" that matches" if search or level else ""), style="dim"))
            return
        if page.next_offset == offset:
            if not follow:
                return
            quiet.wait(_FOLLOW_S)
        offset = page.next_offset


def log_text(line: LogLineView) -> Text:
    """Instant, stream, text; the level as a word and a hue."""
    told = Text(line.at.strftime("%H:%M:%S.%f")[:-3] + " ", style="dim")
    word = (
        line.level if line.level and line.level != "INFO" else ("" if line.stream in ("stdout", "log") else line.stream)
    )
    style = _LEVEL_STYLES.get(line.level, "")
    return told.append(f"{word} " if word else "", style=style).append(line.text, style=style)
