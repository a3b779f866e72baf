"""`partita lanes`: shares of capacity, who is at work and who waits in each; `partita lanes set` changes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models import LaneView

_PARTIES_NAMED = 4

lanes = typer.Typer(invoke_without_command=True, help="Lanes: shares of capacity by weight, so that none starves.")


def register(app: typer.Typer) -> None:
    app.add_typer(lanes, name="lanes")


@lanes.callback()
def list_lanes(context: typer.Context, *, as_json: o.Json = False) -> None:
    """Lanes with their weights, what is kept for them, and who holds slots and who waits in them."""
    if context.invoked_subcommand is not None:
        return
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.lanes.all()
    if as_json:
        output.value(found)
        return
    output.table(
        ("lane", "weight", "reserved", "share", "active", "waiting", "whose (active, waiting)"),
        [
            (one.name, str(one.weight), f"{one.reserved:.0%}", f"{one.share:.0%}", str(one.active), str(one.waiting), _whose(one))
            for one in found
        ],
        empty="No lanes.",
    )  # fmt: skip


@lanes.command("set")
def set_lane(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which lane.")],
    *,
    weight: Annotated[
        int | None, typer.Option("--weight", min=1, max=1_000, help="Its part among the lanes that wait.")
    ] = None,
    reserved: Annotated[
        float | None, typer.Option("--reserved", min=0.0, help="Which part of each pool is kept for it: 0 to under 1.")
    ] = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Change a lane, at once. What others hold already is not taken from them."""
    from partita.ui.cli.session import session

    if weight is None and reserved is None:
        raise UsageProblem(
            "nothing to change", rule="a lane has a weight and a reserved part", fix="give --weight or --reserved"
        )
    if reserved is not None and reserved >= 1:
        raise UsageProblem(
            f"--reserved {reserved:g} is not possible", rule="it is 0 to under 1", fix="0.25 is a quarter"
        )
    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.lanes.get(name)
        wanted = shown.model_copy(
            update={
                "weight": shown.weight if weight is None else weight,
                "reserved": shown.reserved if reserved is None else reserved,
            }
        )
        output.confirm(f"Lane {name} has {_standing(shown)}. Give it {_standing(wanted)}?", yes=yes)
        now = opened.services.lanes.set(name, weight=weight, reserved=reserved)
    if as_json:
        output.value(now)
    else:
        output.say(f"lane {now.name} has {_standing(now)}; {now.active} of its tasks hold slots, {now.waiting} wait")


def _standing(lane: LaneView) -> str:
    return f"weight {lane.weight} and {lane.reserved:.0%} of each pool kept for it"


def _whose(lane: LaneView) -> str:
    named = ", ".join(f"{one.key or '-'} ({one.active}, {one.waiting})" for one in lane.parties[:_PARTIES_NAMED])
    return named + (" …" if len(lane.parties) > _PARTIES_NAMED else "")
