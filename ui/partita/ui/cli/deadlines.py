"""`partita deadlines`: partitions that were not there when they were due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, state_text, utc_now

if TYPE_CHECKING:
    from partita.ui.api.models import DeadlineView


def register(app: typer.Typer) -> None:
    app.command()(deadlines)


def _why(one: DeadlineView) -> str:
    return f"{one.text}; of the time: {one.consumed}" if one.consumed else one.text


def deadlines(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that came after all, too.")] = False,
    limit: o.Limit = 50,
    as_json: o.Json = False,
) -> None:
    """Partitions that are late: their `deadline=` has passed and they are not there. Newest miss first."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.deadlines.page(only_late=not everything, limit=limit)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("asset", "partition", "due", "task", "run", "why"),
            [
                (one.asset, one.partition or "all", ago(one.due_at, now), state_text(one.task_state), str(one.run_id), _why(one))
                for one in found.deadlines
            ],
            empty="No deadline was missed." if everything else "Nothing is late.",
        )  # fmt: skip
