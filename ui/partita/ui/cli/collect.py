"""`partita collect`: removes data that were wiped with them, where the data are.

Owns the order show → ask → do. Runs no user code: the files of the lake alone are removed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output

_SHOWN = 20


def register(app: typer.Typer) -> None:
    app.command()(collect)


def collect(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    grace: Annotated[str, typer.Option("--grace", help="Leave what was wiped within so long.")] = "1d",
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many files.")] = 1000,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Remove files of the lake that `partita wipe --data` left without a pointer. Run it where the lake is."""
    from partita.sdk.io.lake import remove_file
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    grace_s = o.seconds_of(grace, "--grace")
    assert grace_s is not None
    with session() as opened:
        shown = opened.services.collections.preview(grace_s, limit)
        said = output.err.print if as_json else output.say
        said(shown.sentence)
        for one in shown.files[:_SHOWN]:
            said(f"  {one}")
        if dry_run or not shown.files:
            if as_json:
                output.value(shown)
            return
        output.confirm(f"Remove {len(shown.files):,} {'file' if len(shown.files) == 1 else 'files'} for good?", yes=yes)
        done = opened.services.collections.collect(shown.files, grace_s, remove_file)
    if as_json:
        output.value(done)
        return
    output.say(f"Removed {done.removed:,} {'file' if done.removed == 1 else 'files'}.")
    for line in done.left:
        output.say(f"left: {line}")
