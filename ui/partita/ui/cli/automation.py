"""`partita automation`: which assets are asked for without a person, and what would be decided about a partition."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.text import Text

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.core.automation.assumed import State
    from partita.ui.api.models import AutomationTold, PartView

automation = typer.Typer(
    invoke_without_command=True, help="Conditions: what is asked for without a person, and why not."
)


def register(app: typer.Typer) -> None:
    app.add_typer(automation, name="automation")


@automation.callback()
def list_automation(context: typer.Context, *, as_json: o.Json = False) -> None:
    """The automated assets with their conditions, when time is heeded next, and what they asked for last."""
    if context.invoked_subcommand is not None:
        return
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.automation.page()
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("asset", "when", "next look", "last asked", "because"),
        [
            (
                one.key,
                one.condition or f"on_code_change={one.on_code_change!r}",
                "–" if one.next_look_at is None else one.next_look_at.isoformat(timespec="minutes"),
                ago(one.last_requested_at, now),
                one.last_reason or "–",
            )
            for one in found.consumers
        ],
        empty="No asset is automated: @asset(automation=eager()) follows its upstreams.",
    )


@automation.command("test")
def try_automation(
    asset: o.Asset,
    *,
    partitions: o.Partitions = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="An instant with its offset; default: now. Cells stay as they are."),
    ] = None,
    given: Annotated[
        list[str],
        typer.Option(
            "--given", metavar="ASSET=STATE", help="As if its partitions were so: missing, made, updated, ..."
        ),
    ] = [],  # noqa: B006 - Typer's form of "none given"; never changed
    looks: Annotated[int, typer.Option("--next", min=0, max=100, help="So many of the next looks at the clock.")] = 5,
    as_json: o.Json = False,
) -> None:
    """Decide about partitions (the newest one by default) as automation would, and change nothing."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        told = opened.services.automation.told(asset, partitions, at=_instant(at), looks=looks, given=_given(given))
    if as_json:
        output.value(told)
    else:
        _say(told, output)


def _given(texts: Sequence[str]) -> dict[str, State]:
    from partita.core.automation.assumed import STATES

    found: dict[str, State] = {}
    for text in texts:
        asset, _, state = text.rpartition("=")
        if not asset or state not in STATES:
            raise UsageProblem(
                f"--given {text!r}", rule=f"ASSET=STATE, a state is one of {', '.join(STATES)}", fix="orders=updated"
            )
        found[asset] = cast("State", state)
    return found


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        told = found.tzinfo is not None
    except ValueError:
        told = False
    if not told:
        raise UsageProblem(
            f"--at {text!r}",
            rule="an instant has a date, a time and an offset",
            fix="write for example 2026-03-10T06:00+01:00",
        )
    return found


def _say(told: AutomationTold, output: Output) -> None:
    if told.condition is None:
        output.say(f"{told.asset} is not automated: only people and backfills ask for it")
        return
    output.say(f"{told.asset}: {told.condition}, at {told.at.isoformat(timespec='seconds')}")
    for cell in told.cells:
        output.say(f"\n{cell.sentence}")
        say_tree(cell.tree, output, 1)
    if not told.cells:
        output.say("no partition of it exists yet")
    if any(cell.decision == "asks" for cell in told.cells):
        output.say(
            "\nIt is asked for when something makes automation look: a publication above it, or time. "
            "What was published before the condition was deployed makes it look no more: "
            f"partita materialize {told.asset}, or on_missing()"
        )
    if told.next_looks:
        output.say(f"\ntime is heeded next ({told.zone}):")
        for one in told.next_looks:
            output.say(f"  {one.local}" + ("  the clocks have changed" if one.clock_changes else ""))


def say_tree(part: PartView, output: Output, depth: int) -> None:
    """What of a condition holds, line by line."""
    mark = Text("✓ " if part.holds else "✗ ", style="green" if part.holds else "red")
    output.say(Text("  " * depth).append_text(mark).append(part.text))
    for one in part.parts:
        say_tree(one, output, depth + 1)
