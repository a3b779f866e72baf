"""`partita assets`: the list, and rename, move, retire, delete, scheme.

Owns the order show → ask → do. `partita assets SELECTION` is short for `partita assets list SELECTION`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, counts_text, utc_now

if TYPE_CHECKING:
    from partita.ui.api.models.identity import IdentityPreview, IdentityRequest


class _ListByDefault(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


assets = typer.Typer(
    cls=_ListByDefault, help="Assets: list (the default), rename, move, retire, delete, scheme, former."
)


def register(app: typer.Typer) -> None:
    app.add_typer(assets, name="assets")


@assets.command("list")
def list_assets(
    selection: Annotated[str | None, typer.Argument(help="Which; default: all.")] = None,
    *,
    search: Annotated[str | None, typer.Option("--search", help="Words of key, group, owner or description.")] = None,
    as_json: o.Json = False,
) -> None:
    """Assets with the states of their partitions."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.assets.find(select=selection, search=search)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("asset", "location", "group", "partitions", "states", "materialized"),
            [
                (one.key + (" (does not load)" if one.load_error else ""), one.location, one.group,
                 f"{one.partition_count:,}", counts_text(one.counts), ago(one.last_materialized_at, now))
                for one in found.assets
            ],
            empty="No assets: no code location is loaded. Start `partita dev`; `partita locations` says what does not load.",
        )  # fmt: skip


@assets.command()
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The key that holds the history.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The key that it is to have.")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Give the history of OLD the key NEW; what stands there takes the old key. In code: renamed_from="OLD"."""
    from partita.ui.api.models.identity import RenameRequest

    _change(
        RenameRequest(kind="rename", key=old, to=new),
        f"Rename {old} to {new}?",
        f"{old} is {new} now.",
        reason=reason,
        yes=yes,
        as_json=as_json,
    )


@assets.command()
def move(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The asset.")],
    location: Annotated[str, typer.Argument(metavar="LOCATION", help="Where its definition is to count.")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Let the definition of another location count: both may declare the asset until the old one is deployed without it."""
    from partita.ui.api.models.identity import MoveRequest

    done = f"{key} belongs to {location}; deploy it there, then take it out of the old location."
    _change(
        MoveRequest(kind="move", key=key, location=location),
        f"Move {key} to {location}?",
        done,
        reason=reason,
        yes=yes,
        as_json=as_json,
    )


@assets.command()
def retire(
    selection: Annotated[str, typer.Argument(metavar="SELECTION", help="Which assets.")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Take assets out of the graph whose location no longer says anything. Cells and history stay."""
    from partita.ui.api.models.identity import RetireRequest

    _change(
        RetireRequest(kind="retire", selection=selection),
        "Retire them?",
        "Retired.",
        reason=reason,
        yes=yes,
        as_json=as_json,
    )


@assets.command()
def delete(
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Retired assets.")],
    *,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Remove what retired assets held and their history, for good. Data stay where they are. There is no undo."""
    from partita.ui.api.models.identity import DeleteRequest

    _change(
        DeleteRequest(kind="delete", keys=keys), "Delete for good?", "Deleted.", reason=reason, yes=yes, as_json=as_json
    )


@assets.command()
def scheme(
    key: Annotated[str, typer.Argument(metavar="ASSET", help="The asset whose partition scheme changed.")],
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Cells with the same key and window stay (the default).")
    ] = False,
    derive: Annotated[
        bool, typer.Option("--derive", help="Also publish missing windows that whole former cells tile exactly.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Set all cells aside; every partition is missing.")
    ] = False,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Choose what becomes of the cells after a change of the partition scheme. Nothing is deleted."""
    from partita.ui.api.models.identity import SchemeRequest
    from partita.ui.cli.session import session

    if keep + derive + restart > 1:
        raise typer.BadParameter("--keep, --derive and --restart are one choice: give one of them")
    output = Output(json=as_json)
    request = SchemeRequest(key=key, choice="derive" if derive else "restart" if restart else "keep")
    with session() as opened:
        shown = opened.services.schemes.preview(request)
        chosen = shown.chosen
        if not as_json:
            output.table(
                ("choice", "what it does"),
                [(one.choice + (" *" if one == chosen else ""), one.sentence) for one in shown.choices],
                empty="",
            )
            if chosen.open:
                output.say(f"Work on {chosen.open:,} of these cells is cancelled.")
        if not (chosen.back or chosen.aside or chosen.derived):
            if as_json:
                output.value(shown)
            else:
                output.say(f"{request.choice}: nothing to do.")
            return
        output.confirm(f"{request.choice.capitalize()} the cells of {key}?", yes=yes)
        told = opened.services.schemes.apply(request, shown.hash)
    if as_json:
        output.value(told)
    else:
        output.say(f"{key}: {told.sentence}.")


@assets.command()
def former(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The asset.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, the newest first.")] = 100,
    as_json: o.Json = False,
) -> None:
    """Cells of earlier partition schemes of an asset, with the scheme that each was made under."""
    from partita.ui.api.services.words import scheme_text
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.identities.former(key, limit=limit)
    if as_json:
        output.value([one.model_dump(mode="json") for one in found])
        return
    output.table(
        ("partition", "scheme", "window", "version", "location"),
        [
            (one.partition or "–", scheme_text(one.scheme),
             "–" if one.window_start is None else f"{one.window_start:%Y-%m-%dT%H:%MZ} .. {one.window_end:%Y-%m-%dT%H:%MZ}",
             one.data_version, one.location or "–")
            for one in found
        ],
        empty="No cell of this asset was made under another partition scheme.",
    )  # fmt: skip


def _change(request: IdentityRequest, question: str, done: str, *, reason: str, yes: bool, as_json: bool) -> None:
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        shown = opened.services.identities.preview(request)
        if not as_json:
            _say(shown, output)
        output.confirm(question, yes=yes)
        told = opened.services.identities.apply(request, shown.hash, reason)
        if as_json:
            output.value(told)
        else:
            output.say(done)


def _say(shown: IdentityPreview, output: Output) -> None:
    headers: tuple[str, ...] = ("asset", "becomes", "cells", "")
    if shown.kind == "move":
        headers = ("location", "becomes", "cells", "")
    gone = "deleted" if shown.kind == "delete" else "retired"
    rows: list[tuple[Any, ...]] = [
        (one.was or "–", one.became or gone, f"{one.cells:,}", one.note) for one in shown.assets
    ]
    output.table(headers, rows, empty="")
