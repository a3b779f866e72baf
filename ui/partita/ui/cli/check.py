"""`partita check`: does everything load, and fit together? The first line of defence, for CI (S-063).

Owns what is said of a load (`loading.py`) and the exit code. Touches no database and starts nothing that stays.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, utc_now
from partita.ui.cli.problems import FAILED

if TYPE_CHECKING:
    from partita.ui.cli.check_rules import CheckedLocation, Finding


def register(app: typer.Typer) -> None:
    app.command()(check)


def check(
    location: Annotated[list[str], typer.Option("--location", help="Only this location. Repeatable.")] = [],  # noqa: B006
    *,
    max_import_s: Annotated[
        float, typer.Option("--max-import-s", min=0, help="Warn of modules whose import takes longer.")
    ] = 5.0,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    as_json: o.Json = False,
) -> None:
    """Import every module as a deployment would, and check the graph. Exit code 1 when something is wrong."""
    from partita.core.catalog import activation_problems
    from partita.ui.cli.check_rules import fails, findings_of
    from partita.ui.cli.loading import load_all, loadable
    from partita.ui.cli.session import configuration

    output = Output(json=as_json)
    config = configuration()
    chosen = loadable(config, location)
    with (
        output.err.status(f"loading {', '.join(one.name for one in chosen)}")
        if not as_json
        else contextlib.nullcontext()
    ):
        checked = asyncio.run(load_all(config, chosen))
    snapshots = [one.snapshot for one in checked if one.snapshot is not None]
    findings = findings_of(checked, activation_problems(snapshots, utc_now()), max_import_s=max_import_s)
    failed = fails(findings, strict=strict)
    if as_json:
        output.value(
            {
                "ok": not failed,
                "locations": [_location_json(one) for one in checked],
                "findings": [one.to_json() for one in findings],
            }
        )
    else:
        _say(checked, findings, output)
    if failed:
        raise typer.Exit(FAILED)


def _location_json(one: CheckedLocation) -> dict[str, object]:
    return {
        "name": one.name,
        "assets": len(one.snapshot.assets) if one.snapshot is not None else 0,
        "modules": [{"name": module.name, "ok": module.ok, "import_s": module.import_s} for module in one.modules],
    }


def _say(checked: list[CheckedLocation], findings: list[Finding], output: Output) -> None:
    from partita.ui.api.services.words import plural

    for one in checked:
        assets = len(one.snapshot.assets) if one.snapshot is not None else 0
        output.say(f"{one.name}: {plural(assets, 'asset')}, {plural(len(one.modules), 'module')}")
        for module in one.modules:
            output.say(
                Text(
                    f"  {'✓' if module.ok else '✕'} {module.name}  {module.import_s:.2f} s",
                    style="" if module.ok else "red",
                )
            )
    for finding in findings:
        style = "red" if finding.severity == "error" else "yellow"
        where = ": ".join(part for part in (finding.location, finding.subject) if part)
        output.say(Text(f"{finding.severity}: {where + ': ' if where else ''}{finding.what}", style=style))
        if finding.fix:
            output.say(f"  fix: {finding.fix}")
    errors = sum(1 for one in findings if one.severity == "error")
    output.say(
        f"{plural(errors, 'error')}, {plural(len(findings) - errors, 'warning')}"
        if findings
        else "Everything loads and fits together."
    )
