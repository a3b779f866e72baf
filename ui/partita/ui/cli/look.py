"""Commands that only look: partitions, why, locations. (`locations reload` asks the servers to load again.)"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.automation import say_tree
from partita.ui.cli.output import Output, ago, counts_text, state_text, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from datetime import datetime

    from partita.core.cells import HeldBack
    from partita.ui.api.models import AssetWhy, LocationView, PartitionPage, Why
    from partita.ui.cli.session import Session

_PAGE = 500
_ROWS_SHOWN = 100
_RELOAD_S = 600.0

locations = typer.Typer(invoke_without_command=True, help="Code locations: list, reload.")


def register(app: typer.Typer) -> None:
    app.command()(why)
    app.add_typer(locations, name="locations")


def partitions(
    asset: o.Asset,
    *,
    chosen: o.Partitions = None,
    state: Annotated[str | None, typer.Option("--state", help="Only partitions in this state.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Only how many, by state.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many; default: 100 as text, all as JSON.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """The partitions of an asset with state, version and place."""
    from partita.core.cells.status import STATES
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    o.known_state(state, STATES)
    with session() as opened:
        if count:
            _count(opened, asset, chosen, output)
            return
        page = _pages(opened, asset, chosen, state, limit or (None if as_json else _ROWS_SHOWN))
        if as_json:
            output.value(page)
            return
        now = utc_now()
        timed = any(one.window_start for one in page.items)
        output.table(
            ("partition", *(("covers from", "due at") if timed else ()), "state", "version", "published", "error"),
            [
                (one.partition or "all", *((_utc(one.window_start), _utc(one.due_at)) if timed else ()),
                 state_text(one.state), (one.data_version or "")[:16], ago(one.published_at, now), one.reason or "")
                for one in page.items
            ],
            empty=f"No partitions of {asset} are in this selection.",
        )  # fmt: skip
        if page.total > len(page.items):
            output.say(
                f"and {page.total - len(page.items):,} more; --limit shows more, --partitions and --state narrow"
            )


def _utc(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%d %H:%MZ}"


def _count(opened: Session, asset: str, chosen: str | None, output: Output) -> None:

    resolved = opened.services.assets.resolve(asset, chosen or "all")
    if resolved.error is not None:
        raise UsageProblem(resolved.error.what, rule=resolved.error.rule, fix=resolved.error.fix)
    if output.json:
        output.value(resolved)
        return
    output.say(f"{resolved.count:,} partitions: {resolved.ranges_text}")
    output.say(counts_text(resolved.counts))


def _pages(opened: Session, asset: str, chosen: str | None, state: str | None, limit: int | None) -> PartitionPage:
    from partita.ui.api.models import PartitionPage

    text = chosen or None
    items: list[object] = []
    total = 0
    while limit is None or len(items) < limit:
        size = _PAGE if limit is None else min(_PAGE, limit - len(items))
        page = opened.services.assets.partitions(asset, state=state, offset=len(items), limit=size, partitions=text)
        items += page.items
        total = page.total
        if not page.items or len(items) >= total:
            break
    return PartitionPage(total=total, items=items)


def why(
    asset: o.Asset,
    partition: Annotated[str, typer.Argument(help="A partition, existing or not; none: the asset as a whole.")] = "",
    *,
    old: Annotated[
        bool, typer.Option("--old", help="How far the asset's data reaches, and the one cell that holds it back.")
    ] = False,
    as_json: o.Json = False,
) -> None:
    """Why a cell is in its state and its task waits; of an asset, why nothing (more) is made of it."""
    from partita.ui.cli.follow import warn
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    if old and partition:
        raise UsageProblem("--old is about an asset as a whole", fix=f"leave {partition!r} out")
    with session() as opened:
        services = opened.services.assets
        if old:
            _say_old(services.held_back(asset), output)
            return
        found = _existing(opened, asset, partition) if partition else None
        if found is None:
            whole = opened.services.hindrances.why(asset, partition or None)
            task = whole.cell.open_task if whole.cell is not None else None
            decision = whole.decision
        else:
            told = services.why(asset, found)
            task = told.open_task
            decision = None if as_json else opened.services.automation.of_cell(asset, found)
        if as_json:
            output.value(whole if found is None else told)
            return
        if found is None:
            _say_asset(whole, output)
        else:
            _say_cell(told, output)
        if task is not None:
            warn(opened, output)  # of a deployment that is down every task is as it was: "running" would be believed
        if decision is not None:
            output.say(f"automation: {decision.sentence}")
            say_tree(decision.tree, output, 1)


def _existing(opened: Session, asset: str, partition: str) -> str | None:
    """The stored key; None where no such partition exists."""
    from partita.assets import UnknownPartition

    try:
        return opened.services.assets.partition_of(asset, partition)
    except UnknownPartition:
        return None


def _say_cell(told: Why, output: Output) -> None:
    from partita.ui.api.services.windows import window_text

    output.say(told.sentence)
    for reason in told.reasons:
        output.say(f"  {reason.code}: {reason.text}")
    if told.window is not None:
        output.say(f"  {window_text(told.window)}")
    if told.open_task is not None:
        task = told.open_task
        line = state_text(task.state)
        line.append(f"  task {task.id} of run {task.run_id}" + (f" {task.reason.text}" if task.reason else ""))
        output.say(line)


def _say_asset(told: AssetWhy, output: Output) -> None:
    from partita.ui.api.services.windows import window_text

    whole = told.cell is not None and not told.latest  # of an asset without partitions its one cell says it best
    output.say(told.cell.sentence if whole and told.cell is not None else told.sentence)
    for reason in told.reasons:
        output.say(f"  {reason.code}: {reason.text}")
    if told.window is not None and told.partition is not None:
        output.say(f"  {told.window.partition} {window_text(told.window)}")
    if told.cell is not None and not whole:
        output.say(f"latest: {told.cell.sentence}")


def _say_old(found: HeldBack, output: Output) -> None:
    if output.json:
        holder = found.holder
        output.value(
            {
                "asset": found.key,
                "reaches": found.reaches,
                "held_back_by": None if holder is None else {"asset": holder[0], "partition": holder[1]},
                "path": [{"asset": key, "partition": partition} for key, partition in found.path],
                "state": found.because.state if found.because is not None else None,
                "sentence": found.sentence,
            }
        )
        return
    output.say(found.sentence)
    if len(found.path) > 1:
        output.say("  through " + " ← ".join(f"{key} {partition}".rstrip() for key, partition in found.path))


@locations.callback()
def list_locations(context: typer.Context, *, as_json: o.Json = False) -> None:
    """Code locations, what they serve, and which modules do not load."""
    if context.invoked_subcommand is not None:
        return
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.system.locations()
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("location", "state", "version", "assets", "servers", "loaded"),
            [
                (one.name, one.state, (one.active_version or "–")[:12], str(one.asset_count),
                 ", ".join(server.address for server in one.servers if server.live) or "none", ago(one.loaded_at, now))
                for one in found
            ],
            empty="No locations. Configure a [[location]] in partita.toml and start `partita dev`.",
        )  # fmt: skip
        for one in found:
            _say_problems(one, output)


def _say_problems(one: LocationView, output: Output) -> None:
    if one.error and one.state != "serving":
        output.out.print(f"{one.name}: {one.error}", style="red", soft_wrap=True)
    for module in one.modules:
        if not module.ok:
            output.out.print(f"{one.name}: {module.name} does not load", style="red", soft_wrap=True)
            output.out.print((module.error or "").rstrip(), soft_wrap=True)
        for warning in module.warnings:
            output.out.print(f"{one.name}: {module.name}: {warning}", style="yellow", soft_wrap=True)
    if one.kept_assets:
        kept = ", ".join(one.kept_assets[:5]) + (" …" if len(one.kept_assets) > 5 else "")
        output.out.print(f"{one.name}: on their last good definition: {kept}", soft_wrap=True)


@locations.command("reload")
def reload_location(
    name: Annotated[str, typer.Argument(help="The location.")], *, yes: o.Yes = False, as_json: o.Json = False
) -> None:
    """Have the servers of a location load its modules again; the old version serves until the new one is ready."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        system = opened.services.system
        addresses = system.addresses(name)
        output.say(f"{name}: load again at {', '.join(addresses)}; what runs goes on with the version it started with")
        output.confirm(f"Reload {name}?", yes=yes)
        told = asyncio.run(system.reload(name, wait_s=_RELOAD_S))
        if as_json:
            output.value(told)
        else:
            output.say(f"{name}: {told.text}")
            for one in system.locations():
                if one.name == name:
                    _say_problems(one, output)
    if told.broken:
        raise typer.Exit(1)
