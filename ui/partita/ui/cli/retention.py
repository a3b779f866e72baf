"""`partita retention`: what of history goes, what has gone, and how large the tables are."""

from __future__ import annotations

from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now

_UNITS = ("B", "kB", "MB", "GB", "TB")


def register(app: typer.Typer) -> None:
    app.command()(retention)


def retention(
    *,
    tables: Annotated[
        bool, typer.Option("--tables", help="How large the tables are, and how much of them is dead.")
    ] = False,
    limit: o.Limit = 30,
    as_json: o.Json = False,
) -> None:
    """Finished history that goes, and the days that went. Changes nothing: schedulers export and delete by themselves."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        service = opened.services.retention
        if tables:
            found = service.tables()
            if as_json:
                output.value(found)
                return
            now = utc_now()
            output.table(
                ("table", "rows", "dead", "size", "indexes", "vacuumed", ""),
                [
                    (
                        one.name,
                        f"{one.rows:,}",
                        f"{one.dead_rows:,}",
                        size_text(one.bytes),
                        size_text(one.index_bytes),
                        ago(one.vacuumed_at, now) if one.vacuumed_at else "never",
                        "bloated: vacuum does not keep up" if one.bloated else "",
                    )
                    for one in found
                ],
                empty="There are no tables.",
            )
            return
        view = service.view(opened.config, limit)
        if as_json:
            output.value(view)
            return
        if view.before is None:
            output.say("Finished history is kept for ever: `days` of [retention] in partita.toml is 0.")
        else:
            output.say(
                f"Finished history is kept for {view.keep_days:g} days, then exported to {view.folder} and deleted.\n"
                f"Due: {view.runs:,} runs with {view.tasks:,} tasks that finished before {view.before}."
            )
        if view.held:
            output.say(f"Kept back: {view.held}.")
        output.table(
            ("day", "state", "runs", "tasks", "attempts", "events", "exported", "gone"),
            [
                (
                    str(one.day),
                    one.state,
                    *(f"{one.rows.get(name, 0):,}" for name in ("run", "task", "attempt", "event")),
                    f"{one.exported_at:%Y-%m-%d %H:%M}" if one.exported_at else "",
                    f"{one.done_at:%Y-%m-%d %H:%M}" if one.done_at else "",
                )
                for one in view.days
            ],
            empty="Nothing has gone yet.",
        )


def size_text(size: float) -> str:
    """Bytes for people.

    >>> size_text(0), size_text(8192), size_text(3_500_000_000)
    ('0 B', '8.2 kB', '3.5 GB')
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
