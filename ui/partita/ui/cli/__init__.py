"""The command line. Owns its front: the application, `--version` and the entry `main`.

Refuses weight: commands stand in modules of their own and import the control plane only when they run, so that
`partita --version` loads none of it (tests/unit/house holds that by module names).
"""

from importlib.metadata import version
from typing import Annotated

import typer

app = typer.Typer(
    name="partita",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"partita {version('partita')}")
        raise typer.Exit


@app.callback()
def front(
    *,
    asked_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """Partitioned data assets: what exists, what should, and what runs."""


def main() -> None:
    """The entry of the command `partita`; the exit code is the command's."""
    app()
