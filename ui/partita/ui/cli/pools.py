"""`partita pools`: pools and caps with the holders of their slots; `partita pools set` resizes a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partita.ui.api.models import PoolView

_HOLDERS_NAMED = 5

pools = typer.Typer(invoke_without_command=True, help="Pools and caps: who holds their slots; set the size of a pool.")


def register(app: typer.Typer) -> None:
    app.add_typer(pools, name="pools")


@pools.callback()
def list_pools(context: typer.Context, *, as_json: o.Json = False) -> None:
    """Pools and caps with their slots, who holds them, and how many tasks wait."""
    if context.invoked_subcommand is not None:
        return
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.pools.all()
    if as_json:
        output.value(found)
        return
    caps = [one for one in found if one.kind != "pool"]
    _table("pool", [one for one in found if one.kind == "pool"], output)
    if caps:
        output.say("")
        _table("cap", caps, output)


@pools.command("set", context_settings={"ignore_unknown_options": True})  # -1 is a number, and refused as one
def set_pool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which pool.")],
    slots: Annotated[int, typer.Argument(metavar="SLOTS", min=0, max=1_000_000, help="How many slots it shall have.")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Resize a pool, at once. With more held than that, nothing more starts in it until it fits; 0 stops it."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.pools.get(name)
        output.confirm(
            f"{shown.name} has {shown.slots} slots; {shown.held} are held, {shown.waiting} tasks wait. {_becomes(shown, slots)}",
            yes=yes,
        )
        now = opened.services.pools.resize(name, slots, reason)
    if as_json:
        output.value(now)
    else:
        output.say(f"{now.name} has {now.slots} slots; {now.held} are held, {now.waiting} tasks wait")


def _becomes(shown: PoolView, slots: int) -> str:
    """What a size does, as a question."""
    if slots == 0:
        return "Make it 0: nothing of it starts any more?"
    if slots < shown.held:
        return f"Make it {slots}: nothing more of it starts until {shown.held - slots} have come free?"
    return f"Make it {slots}?"


def _table(title: str, found: Sequence[PoolView], output: Output) -> None:
    output.table(
        (title, "slots", "held", "waiting", "holders"),
        [
            (one.limits or one.name, str(one.slots), str(one.held), str(one.waiting), _holders(one))
            for one in found
        ],
        empty="No pools.",
    )  # fmt: skip


def _holders(pool: PoolView) -> str:
    named = ", ".join(f"{one.step} (task {one.task_id}, {one.lane})" for one in pool.holders[:_HOLDERS_NAMED])
    return named + (" …" if len(pool.holders) > _HOLDERS_NAMED else "")
