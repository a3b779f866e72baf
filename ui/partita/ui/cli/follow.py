"""Waiting for a run with progress bars, and what is said at its end.

Owns the loop; it wakes by the deployment's events and looks every second at the latest. What is drawn is made of plain values by
the pure functions below.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from partita.ui.cli.output import Output, error_line, state_text
from partita.ui.cli.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from partita.ui.api.models import AssetProgress, ComponentView, RunSummary, TaskRow

_LOOK_S = 1.0
_PAUSE_S = 0.1
_COST_FACTOR = 20.0
_BARS = 20
_FAILURES_SHOWN = 5
_OPEN = frozenset({"scheduled", "queued", "running", "up_for_retry", "deferred", "awaiting_input"})


def follow(session: Session, run_id: int, output: Output) -> RunSummary:
    """Returns the summary of the run at its end. Ctrl-C stops the waiting, not the run; a database that is away stops neither."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from partita.core.store.port import Busy, Unavailable

    runs = session.services.runs
    # Rich's own colours turn into red and grey where a terminal has sixteen.
    bar_column = BarColumn(complete_style="blue", finished_style="green")
    columns = (TextColumn("{task.description}", markup=False), bar_column, MofNCompleteColumn())
    more = (TextColumn("{task.fields[note]}", markup=False), TimeElapsedColumn())
    with Progress(*columns, *more, console=output.err, disable=output.json, transient=False) as progress:
        bars: dict[str, TaskID] = {}
        pause = threading.Event()  # nobody sets it
        away = warned = False
        while True:
            session.changed.clear()
            began = time.monotonic()
            try:
                if not warned:
                    warn(session, output)
                    warned = True
                _draw(progress, bars, runs.progress(run_id))
                summary = runs.summary(run_id)
            except (Busy, Unavailable) as error:
                if not away:
                    output.err.print(f"run {run_id} is waited for, though {error}", style="yellow", markup=False)
                away = True
            else:
                away = False
                if summary.state != "running":
                    return summary
            # Looking at a big run costs the database something: never more than a twentieth of the time goes there.
            pause.wait(max(_PAUSE_S, _COST_FACTOR * (time.monotonic() - began)))
            session.changed.wait(_LOOK_S)


def warn(session: Session, output: Output) -> None:
    """On stderr, of what open tasks wait for in vain."""
    for line in warnings(session.services.system.system().components):
        output.err.print(line, style="yellow")


def _draw(progress: Progress, bars: dict[str, TaskID], assets: Sequence[AssetProgress]) -> None:
    for asset in assets:
        name = asset.asset if asset.asset in bars or len(bars) < _BARS else "the other assets"
        if name not in bars:
            bars[name] = progress.add_task(name, total=0, note="")
    for name, bar in bars.items():
        mine = [one for one in assets if one.asset == name or (name == "the other assets" and one.asset not in bars)]
        done, total = sum(done_of(one.counts) for one in mine), sum(one.total for one in mine)
        note = ", ".join(filter(None, (note_of(one.counts) for one in mine)))
        progress.update(bar, completed=done, total=total, note=note)


def done_of(counts: Mapping[str, int]) -> int:
    """Cells whose outcome is known."""
    return sum(count for state, count in counts.items() if state not in _OPEN)


def note_of(counts: Mapping[str, int]) -> str:
    """What runs and what went wrong, beside a bar."""
    told = ("running", "up_for_retry", "failed", "upstream_failed", "skipped", "cancelled")
    return ", ".join(f"{counts[state]} {state.replace('_', ' ')}" for state in told if counts.get(state))


def warnings(components: Sequence[ComponentView]) -> list[str]:
    """What will keep a run from moving, and the command that helps."""
    alive = {one.kind for one in components if one.state != "down"}
    fixes = {"scheduler": "partita scheduler", "worker": "partita worker", "code-server": "partita code-server"}
    return [
        f"no {kind} is alive: nothing will move; start `partita dev`, or `{command}`"
        for kind, command in fixes.items()
        if kind not in alive
    ]


def say_end(session: Session, summary: RunSummary, output: Output) -> None:
    """One line on the run, then its first failures with their errors and where to read on."""
    from partita.ui.api.services.run_views import cells_text

    line = state_text(summary.state)
    line.append(f"  run {summary.id}: {cells_text(summary.cells)}")
    output.say(line)
    if summary.state == "success":
        return
    failed = session.services.runs.tasks(summary.id, state="failed", limit=_FAILURES_SHOWN)
    for row in failed.tasks:
        output.say(failure_text(row))
    if failed.total > len(failed.tasks):
        output.say(f"and {failed.total - len(failed.tasks)} more: partita runs show {summary.id}")


def failure_text(row: TaskRow) -> str:
    error = error_line(row.error) or "no error was recorded"
    where = f"; partita logs --attempt {row.attempts[-1].id}" if row.attempts else ""
    return f"  {row.step} {row.partitions_text}: {error}{where}"
