"""`partita metrics`: what a scraper of `/metrics` gets, read from the database; works while the API is down."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    app.command()(metrics)


def metrics() -> None:
    """What waits, what holds slots and what duties cost, in the text format of Prometheus; the API serves it at /metrics."""
    from partita.ui.cli.session import session

    with session() as opened:
        typer.echo(opened.services.metrics.text(), nl=False)
