"""`partita pause` and `partita resume`: the big red button, for a selection or everything.

Owns the order show → ask → do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from partita.assets import suggest
from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models.pause import PauseRequest

_LISTED = 20

CatchUp = Literal["all", "latest", "none"]

What = Annotated[str | None, typer.Argument(metavar="SELECTION", help="Which assets.")]
All = Annotated[bool, typer.Option("--all", help="Everything, also assets that come later.")]


def register(app: typer.Typer) -> None:
    app.command()(pause)
    app.command()(resume)


def pause(
    selection: What = None,
    *,
    everything: All = False,
    listed: Annotated[bool, typer.Option("--list", help="What is paused.")] = False,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Let nothing of these assets start: no task, no automation. What runs ends as it will."""
    if listed:
        if selection is not None or everything:
            raise UsageProblem("--list takes no SELECTION and no --all", fix="leave them out")
        _list(Output(json=as_json))
        return
    _change(_request("pause", selection, everything), reason, yes=yes, output=Output(json=as_json))


def resume(
    selection: What = None,
    *,
    everything: All = False,
    catch_up: Annotated[
        str | None, typer.Option("--catch-up", help="What automation asks for of what it missed: all, latest, none.")
    ] = None,
    pace: Annotated[
        int | None, typer.Option("--pace", min=1, help="All of it as a backfill of so many tasks at a time.")
    ] = None,
    reason: o.Why = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Let them start again. What automation would ask for of what it missed is shown first."""
    if catch_up is not None and catch_up not in get_args(CatchUp):
        raise UsageProblem(
            f"--catch-up {catch_up}",
            rule=f"it is one of {', '.join(get_args(CatchUp))}",
            fix=suggest(catch_up, get_args(CatchUp)),
        )
    if pace is not None and catch_up == "none":
        raise UsageProblem("--pace with --catch-up none", rule="nothing is asked for", fix="leave --pace out")
    chosen = (cast(CatchUp | None, catch_up), pace)
    _change(_request("resume", selection, everything), reason, yes=yes, output=Output(json=as_json), chosen=chosen)


def _request(verb: str, selection: str | None, everything: bool) -> PauseRequest:
    from partita.ui.api.models.pause import PauseRequest

    if (selection is None) is not everything:
        said = f"{verb} what?" if selection is None else "SELECTION and --all are given together"
        raise UsageProblem(
            said, rule="one of SELECTION and --all", fix=f"partita {verb} 'raw/*', or partita {verb} --all"
        )
    return PauseRequest.model_validate({"verb": verb, "selection": selection})


def _change(
    request: PauseRequest,
    reason: str,
    *,
    yes: bool,
    output: Output,
    chosen: tuple[CatchUp | None, int | None] = ("all", None),
) -> None:
    from partita.ui.api.models.pause import PauseConfirm
    from partita.ui.cli.session import session

    with session() as opened:
        shown = opened.services.pauses.preview(request)
        (output.err.print if output.json else output.say)(shown.sentence)
        for key in shown.assets[:_LISTED]:
            output.say(f"  {key}")
        if len(shown.assets) > _LISTED:
            output.say(f"  and {len(shown.assets) - _LISTED:,} more")
        if shown.missed:
            output.say("missed, and asked for as you choose:")
            for one in shown.missed[:_LISTED]:
                output.say(f"  {one.asset} {one.partitions}".rstrip() + f" ({one.count:,})")
        changes = (
            bool(shown.assets)
            if not shown.everything
            else (opened.services.pauses.active().everything is None) is (request.verb == "pause")
        )
        if not changes:
            if output.json:
                output.value(shown)
            return
        catch_up, pace = chosen
        if catch_up is None and pace is None and shown.missed:
            catch_up = cast(CatchUp, output.choose("Ask for how much of it?", get_args(CatchUp), yes=yes))
        output.confirm(f"{request.verb.capitalize()}?", yes=yes)
        confirm = PauseConfirm(
            verb=request.verb,
            selection=request.selection,
            reason=reason,
            confirm_assets=len(shown.assets),
            catch_up=catch_up or "all",
            pace=pace,
        )
        told = opened.services.pauses.apply(confirm)
        if output.json:
            output.value(told)
        elif request.verb == "pause":
            output.say(f"Paused. To end it: {told.cli.replace('pause', 'resume', 1)}")
        else:
            output.say("Resumed.")


def _list(output: Output) -> None:
    from partita.ui.cli.session import session

    with session() as opened:
        found = opened.services.pauses.active()
    if output.json:
        output.value(found)
        return
    every = [found.everything] if found.everything is not None else []
    output.table(
        ("what", "by", "since", "why"),
        [
            (one.key or "everything", one.by, f"{one.at:%Y-%m-%d %H:%M} UTC", one.reason or "–")
            for one in (*every, *found.assets)
        ],
        empty="Nothing is paused.",
    )
