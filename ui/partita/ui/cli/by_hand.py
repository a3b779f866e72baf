"""`partita mark`, `partita wipe`, `partita undo`: cells changed on a person's word, with a reason.

Owns the order show → ask → do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models.by_hand import ByHandDone

mark = typer.Typer(no_args_is_help=True, help="Say of cells that they are materialized, or that they failed.")
Reason = Annotated[str | None, typer.Option("--reason", help="Why; read when somebody asks. Required.")]


def register(app: typer.Typer) -> None:
    app.add_typer(mark, name="mark")
    app.command()(wipe)
    app.command()(undo)


@mark.command("materialized")
def mark_materialized(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    reason: Reason = None,
    data_version: Annotated[
        str | None, typer.Option("--data-version", help="What the data are; default: a version of its own.")
    ] = None,
    location: Annotated[
        str | None, typer.Option("--location", help="Where the data of the one cell are; default: where they were.")
    ] = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Say that a person made the data: no task runs, consumers follow."""
    more = {"data_version": data_version, "location": location}
    _do("materialized", o.Asked(selection, partitions, partition), reason, more, yes=yes, output=Output(json=as_json))


@mark.command("failed")
def mark_failed(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    reason: Reason = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Say that what was made is wrong: the cells count as failed, and what they hold stays."""
    _do("failed", o.Asked(selection, partitions, partition), reason, {}, yes=yes, output=Output(json=as_json))


def wipe(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    reason: Reason = None,
    data: Annotated[
        bool, typer.Option("--data", help="Their files may be collected, after a day at least: partita collect.")
    ] = False,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Let cells be missing again. Undoable: their data stay where they are, with --data until they are collected."""
    _do("wipe", o.Asked(selection, partitions, partition), reason, {"data": data}, yes=yes, output=Output(json=as_json))


def undo(
    entry: Annotated[int, typer.Argument(metavar="ID", min=1, help="Of `partita audit`.")],
    *,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Take a mark or a wipe back, by its entry in the audit: its cells hold what they held before."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.audit.page(before=entry + 1, limit=1).entries
        if not found or found[0].id != entry or found[0].undo is None:
            opened.services.by_hand.undo(entry)  # refuses, and says why: there is nothing to confirm
        else:
            said = f"{found[0].who} {found[0].text}: {found[0].reason}"
            (output.err.print if as_json else output.say)(said)
        output.confirm("Take it back? Cells that were attempted since stay as they are.", yes=yes)
        _say(opened.services.by_hand.undo(entry), output, f"Took entry {entry} back for")


def _do(verb: str, asked: o.Asked, reason: str | None, more: dict[str, Any], *, yes: bool, output: Output) -> None:
    from partita.ui.api.models.by_hand import ByHandConfirm, ByHandRequest
    from partita.ui.cli.session import session

    partitions = asked.request("run")["partitions"]
    word = "wipe" if verb == "wipe" else f"mark {verb}"
    if partitions is None:
        raise UsageProblem(
            f"{word} says which partitions", rule="history is not changed by leaving something out",
            fix="--partitions all, or a part of them",
        )  # fmt: skip
    if not (reason or "").strip():
        raise UsageProblem(
            f"{word} says why", rule="the reason is read when somebody asks why the cells are as they are",
            fix='--reason "repaired in the source"',
        )  # fmt: skip
    body = {"verb": verb, "selection": asked.selection, "partitions": partitions, **more}
    with session() as opened:
        shown = opened.services.by_hand.preview(ByHandRequest.model_validate(body))
        if not output.json:
            output.table(
                ("asset", "cells", "published", "failed", "partitions"),
                [
                    (one.key, f"{one.cells:,}", f"{one.published:,}", f"{one.failed:,}", one.partitions)
                    for one in shown.assets
                ],
                empty="",
            )
        (output.err.print if output.json else output.say)(shown.sentence)
        if not shown.cells:
            if output.json:
                output.value(shown)
            return
        output.confirm(f"{word.capitalize()}?", yes=yes)
        confirm = {**body, "reason": reason, "confirm_cells": shown.cells}
        done = opened.services.by_hand.apply(ByHandConfirm.model_validate(confirm))
        _say(done, output, "Done for")
        output.say(f"To take it back: partita undo {done.entry}")


def _say(done: ByHandDone, output: Output, what: str) -> None:
    if output.json:
        output.value(done)
        return
    output.say(f"{what} {done.cells:,} {'cell' if done.cells == 1 else 'cells'}.")
    if done.passed_over:
        output.say(f"{done.passed_over:,} were attempted or changed since and stay as they are.")
