"""The command line. Owns its front: the application, `--version`, how errors end a command, and the entry `main`.

Refuses weight: commands stand in modules of their own and import the control plane only when they run, so that
`partita --version` and `--help` load none of it (tests/unit/house holds that by module names).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from partita.ui.cli import (
    accept,
    alerts,
    answers,
    assets,
    audit,
    automation,
    backfills,
    by_hand,
    check,
    collect,
    deadlines,
    diff,
    evaluators,
    freshness,
    init,
    jobs,
    lanes,
    look,
    metrics,
    oneoff,
    partitions,
    pause,
    pools,
    processes,
    report,
    requests,
    rerun,
    retention,
    runs,
    tasks,
    work,
    workers,
)
from partita.ui.cli.output import Output
from partita.ui.cli.problems import INTERRUPTED, REFUSED, explained
from partita.ui.cli.session import set_project

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="partita",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"partita {version('partita')}")
        raise typer.Exit


@app.callback()
def front(
    *,
    project: Annotated[
        Path | None,
        typer.Option("--project", help="Folder of partita.toml; default: PARTITA_PROJECT, else here or above."),
    ] = None,
    asked_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """Partitioned data assets: what exists, what should, and what runs."""
    set_project(project)


for part in (
    init, oneoff, work, backfills, rerun, runs, tasks, jobs, evaluators, requests, answers, deadlines, freshness, alerts,
    automation, assets, look, pools, lanes, workers, metrics, partitions, accept, by_hand, collect, report, audit, pause, check,
    diff, retention, processes,
):  # fmt: skip
    part.register(app)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; refusals are said on stderr (and under --json on stdout)."""
    try:
        app(args=list(arguments), standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except Exception as error:
        told = explained(error)
        if told is None:
            raise  # a bug: its traceback is what helps
        Output(json="--json" in arguments).problem(told)
        return REFUSED
    return 0


def main() -> None:
    """The entry of the command `partita`; the exit code is the command's."""
    sys.exit(run(sys.argv[1:]))
