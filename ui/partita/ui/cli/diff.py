"""`partita diff`: the working tree against what is active, before it is deployed.

Owns rendering and the exit code: 0 nothing that costs, 1 cells become stale or assets are removed, 2 the candidate would be
refused. The comparison is the core's; the candidate is loaded as `partita check` loads it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import FAILED, REFUSED

if TYPE_CHECKING:
    from partita.assets import AssetKey
    from partita.core.changes import DeployDiff, Difference, Impact
    from partita.ui.cli.check_rules import CheckedLocation


def register(app: typer.Typer) -> None:
    app.command()(diff)


def diff(
    location: Annotated[list[str] | None, typer.Argument(help="Locations; default: all that are loaded here.")] = None,
    *,
    as_json: o.Json = False,
) -> None:
    """Compare the working tree with what is active: definitions, and the cells that would become stale. Changes nothing."""
    from partita.ui.cli.loading import load_all, loadable
    from partita.ui.cli.session import configuration, session

    output = Output(json=as_json)
    config = configuration()
    chosen = loadable(config, location or [])
    busy = output.err.status(f"loading {', '.join(one.name for one in chosen)}")
    with busy if not as_json else contextlib.nullcontext():
        loaded = asyncio.run(load_all(config, chosen))
    with session() as opened:
        found = opened.services.definitions.deploy_diff([one.snapshot for one in loaded if one.snapshot is not None])
    problems = [*_load_problems(loaded), *found.problems]
    code = REFUSED if problems else FAILED if found.costs else 0
    if as_json:
        output.value(_json(found, problems, code))
    else:
        _say(found, problems, output)
    for one in loaded:
        for module in one.modules:
            for warning in module.warning.splitlines():
                output.err.print(f"warning: {one.name}: {module.name}: {warning}", style="yellow", soft_wrap=True)
    if code:
        raise typer.Exit(code)


def _load_problems(loaded: list[CheckedLocation]) -> Iterator[str]:
    for one in loaded:
        if one.error or one.snapshot is None:
            yield f"{one.name}: {one.error or 'nothing of it loads'}"
        for module in one.modules:
            if not module.ok:
                yield f"{one.name}: {module.name} does not load: {module.error.strip()}"


# ---------------------------------------------------------------------- for people


def _say(found: DeployDiff, problems: list[str], output: Output) -> None:
    from partita.ui.api.services.change_views import impact_text

    told = {one.key: one for one in found.impacts}
    for one in found.differences:
        if not one.empty:
            output.say(f"{one.location}:")
            for line in _difference(one, found, told):
                output.say(line)
    rest = [one for one in found.impacts if one.key in told]
    if rest:
        output.say("Below them:")
        for below in rest:
            output.say(Text(f"  {below.key}: {impact_text(below, found)}", style="yellow"))
    for problem in problems:
        output.say(Text(f"✕ {problem}", style="red"))
    output.say(_conclusion(found, problems))


def _difference(one: Difference, found: DeployDiff, told: dict[AssetKey, Impact]) -> Iterator[Text]:
    """The lines of a location; takes the impacts that it tells out of `told`."""
    from partita.ui.api.services.change_views import change_lines, choice_lines, impact_text

    for key in one.added:
        space = found.space_of(key)
        yield Text(
            f"  + {key}" + (f"  {space.size:,} {_partitions(space.size)}" if space is not None else ""), style="green"
        )
    for key in one.removed:
        impact = told.pop(key, None)
        held = (
            f"  {impact.out_of_reach:,} published {_partitions(impact.out_of_reach)} get out of reach" if impact else ""
        )
        yield Text(f"  - {key}{held}", style="red")
    for rename in one.renames:
        yield Text(
            f"  ? {rename.before} is likely {rename.after} now ({rename.because}); as it stands, its history stays behind"
        )
        yield Text(f"      to keep it, say where {rename.after} is declared: {rename.line}", style="bold")
    for before, after in one.renamed:
        yield Text(f"  > {before} becomes {after}, with its history")
    for change in one.changed:
        impact = told.pop(change.key, None)
        style = "" if change.only_settings else "yellow"
        yield Text(f"  ~ {change.key}" + (f"  {impact_text(impact, found)}" if impact else ""), style=style)
        for line in (*change_lines(change), *choice_lines(change.key, found)):
            yield Text(f"      {line}")
    for check in one.checks:
        yield Text(f"  ~ check {check}")


def _conclusion(found: DeployDiff, problems: list[str]) -> str:
    from partita.ui.api.services.change_views import conclusion

    return "It would be refused; what is active stays." if problems else conclusion(found)


def _partitions(count: int) -> str:
    return "partition" if count == 1 else "partitions"


# ---------------------------------------------------------------------- for programs


def _json(found: DeployDiff, problems: list[str], code: int) -> dict[str, Any]:
    from dataclasses import asdict

    from partita.ui.api.services.change_views import stale_text

    return {
        "outcome": {0: "nothing_stale", FAILED: "costs", REFUSED: "refused"}[code],
        "empty": found.empty and not problems,
        "problems": problems,
        "locations": [_difference_json(one) for one in found.differences],
        "impacts": [
            {
                "asset": one.key, "published": one.published, "stale": len(one.stale), "stale_partitions": stale_text(one, found),
                "fresh_again": one.fresh, "out_of_reach": one.out_of_reach, "upstream_stale": one.upstream_stale,
            }
            for one in found.impacts
        ],
        "choices": {key: asdict(one) for key, one in found.choices.items()},
    }  # fmt: skip


def _difference_json(one: Difference) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "location": one.location,
        "added": one.added,
        "removed": one.removed,
        "likely_renames": [{**asdict(rename), "line": rename.line} for rename in one.renames],
        "renamed": [{"before": before, "after": after} for before, after in one.renamed],
        "changed": [
            {
                "asset": change.key,
                "code": None if change.code is None else {**asdict(change.code), "text": change.code.text},
                "dependencies": change.dependencies,
                "partitions": None if change.partitions is None else asdict(change.partitions),
                "settings": change.settings,
                "only_settings": change.only_settings,
            }
            for change in one.changed
        ],
        "checks": one.checks,
    }
