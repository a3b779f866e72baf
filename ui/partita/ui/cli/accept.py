"""`partita accept`: the present code and dependencies recorded as equivalent, instead of rebuilding history.

Owns the order show → ask → record, and taking it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.core.changes import AcceptPreview
    from partita.ui.cli.session import Session


def register(app: typer.Typer) -> None:
    app.command()(accept)


def accept(
    selection: Annotated[
        str | None, typer.Argument(help="Assets whose changed code is to count as equivalent.")
    ] = None,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why nothing needs to be rebuilt; kept.")] = None,
    undo: Annotated[int | None, typer.Option("--undo", metavar="ID", help="Take an acceptance back.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="The newest acceptances.")] = False,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Record the present code and dependencies as equivalent for published cells, so that they are not stale. Undoable."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    text = o.Asked(selection or "", partitions, partition).request("run")["partitions"]
    verb = _one_of(selection, text, reason, undo, listed)
    with session() as opened:
        if verb == "list":
            _list(opened, output)
        elif verb == "undo" and undo is not None:
            _undo(opened, undo, yes=yes, output=output)
        elif selection is not None and reason is not None:
            _accept(opened, selection, text, reason, yes=yes, output=output)


def _one_of(selection: str | None, partitions: str | None, reason: str | None, undo: int | None, listed: bool) -> str:
    """Which of its three forms the command has; raises UsageProblem."""
    asked = [
        name
        for name, given in (("SELECTION", selection is not None), ("--undo", undo is not None), ("--list", listed))
        if given
    ]
    fix = "partita accept SELECTION --partitions SET --reason TEXT, partita accept --undo ID, or partita accept --list"
    if len(asked) != 1:
        said = " and ".join(asked) + " are given together" if asked else "accept what?"
        raise UsageProblem(said, rule="it accepts a selection, takes one back, or lists them", fix=fix)
    if asked[0] != "SELECTION":
        if partitions is not None or reason is not None:
            raise UsageProblem(f"{asked[0]} takes no --partitions and no --reason", fix="leave them out")
        return asked[0].removeprefix("--")
    if partitions is None:
        raise UsageProblem(
            "accept says for which partitions", rule="history is not accepted by leaving something out",
            fix="--partitions all, or a part of them",
        )  # fmt: skip
    if not (reason or "").strip():
        raise UsageProblem(
            "accept says why", rule="the reason is read when somebody asks why nothing was rebuilt",
            fix='--reason "only the log line changed"',
        )  # fmt: skip
    return "accept"


def _accept(opened: Session, selection: str, partitions: str | None, reason: str, *, yes: bool, output: Output) -> None:
    service = opened.services.acceptances
    shown = service.preview(selection, partitions)
    if not output.json:
        _say(shown, output)
    if not shown.assets:
        if output.json:
            output.value({"preview": [], "acceptance": None, "cells": 0, "passed_over": 0})
        return
    count = shown.cell_count
    output.confirm(f"Accept {count:,} {_cells(count)} as made with the present code?", yes=yes)
    done = service.apply(shown, reason)
    if output.json:
        output.value(
            {"preview": _json(shown), "acceptance": done.id, "cells": done.cells, "passed_over": done.passed_over}
        )
        return
    output.say(f"Accepted {done.cells:,} {_cells(done.cells)} (acceptance {done.id}).")
    if done.passed_over:
        output.say(f"{done.passed_over:,} had been made again meanwhile and need nothing.")
    output.say(f"To take it back: partita accept --undo {done.id}")


def _undo(opened: Session, acceptance_id: int, *, yes: bool, output: Output) -> None:
    service = opened.services.acceptances
    found = service.found(acceptance_id)
    if found is not None and found["undone_at"] is None:
        output.say(f"acceptance {acceptance_id} of {found['who']}: {found['cells']:,} cells, {found['reason']}")
        output.confirm("Take it back? Its cells show as stale again, unless they were made since.", yes=yes)
    done = service.take_back(acceptance_id)
    if output.json:
        output.value({"acceptance": done.id, "cells": done.cells, "passed_over": done.passed_over})
        return
    output.say(f"Took acceptance {done.id} back for {done.cells:,} {_cells(done.cells)}.")
    if done.passed_over:
        output.say(f"{done.passed_over:,} were attempted or accepted again since and stay as they are.")


def _list(opened: Session, output: Output) -> None:
    found = opened.services.acceptances.recent(100)
    if output.json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("id", "when", "who", "cells", "selection", "reason", "taken back"),
        [
            (str(one["id"]), ago(one["at"], now), one["who"], f"{one['cells']:,}",
             f"{one['request'].get('selection', '')} {one['request'].get('partitions') or ''}".strip(), one["reason"],
             f"{ago(one['undone_at'], now)} by {one['undone_by']}" if one["undone_at"] is not None else "–")
            for one in found
        ],
        empty="No acceptances. Make one: partita accept SELECTION --partitions SET --reason TEXT",
    )  # fmt: skip


def _say(shown: AcceptPreview, output: Output) -> None:
    from partita.ui.api.services.asset_views import ranges_text

    if not shown.assets:
        output.say("Nothing to accept: no published cell of this selection has other code or dependencies.")
        return
    output.table(
        ("asset", "cells", "why", "partitions"),
        [
            (one.key, f"{len(one.cells):,}", _why(one), ranges_text(one.space, one.cells) or "all")
            for one in shown.assets
        ],
        empty="",
    )
    stay = sum(one.still_stale for one in shown.assets)
    if stay:
        output.say(f"{stay:,} {_cells(stay)} stay stale: their inputs hold other data than they were made from.")
    if any(one.dependencies for one in shown.assets):
        output.say("Where dependencies changed, what the inputs hold now counts as consumed.")


def _why(one: Any) -> str:
    parts = [f"{one.code:,} code"] if one.code else []
    parts += [f"{one.dependencies:,} dependencies"] if one.dependencies else []
    return ", ".join(parts)


def _json(shown: AcceptPreview) -> list[dict[str, Any]]:
    from partita.ui.api.services.asset_views import ranges_text

    return [
        {
            "asset": one.key, "cells": len(one.cells), "partitions": ranges_text(one.space, one.cells), "code": one.code,
            "dependencies": one.dependencies, "still_stale": one.still_stale,
        }
        for one in shown.assets
    ]  # fmt: skip


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"
