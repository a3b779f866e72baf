"""`partita workers`: who runs tasks, of which queues, and how many places are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from partita.assets.queues import ALL_QUEUES
from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now

if TYPE_CHECKING:
    from datetime import datetime

    from partita.ui.api.models import WorkerView


def register(app: typer.Typer) -> None:
    app.command()(workers)


def workers(*, as_json: o.Json = False) -> None:
    """The live workers: host, queues, places taken, since when, last heard of, version."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = [one for one in opened.services.system.workers() if one.live]
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("worker", "host", "queues", "places taken", "since", "last heard of", "version"),
        [_line(one, now) for one in found],
        empty="No worker is alive. Start one: partita worker",
    )


def _line(one: WorkerView, now: datetime) -> tuple[str, ...]:
    queues = "all" if ALL_QUEUES in one.queues else ", ".join(one.queues)
    taken = f"{one.running} of {one.capacity}"
    return one.id, one.host, queues, taken, ago(one.started_at, now), ago(one.renewed_at, now), one.version or "–"
