"""`partita rerun`: cells made again, whatever they hold now; `partita tasks rerun` for those of one task.

Owns the order show → ask → launch → wait, as `partita materialize` has it.
"""

from __future__ import annotations

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem


def register(app: typer.Typer) -> None:
    app.command()(rerun)


def rerun(
    selection: o.Selection,
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    lower: o.From = None,
    upper: o.To = None,
    downstream: o.Downstream = False,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    max_active: o.MaxActive = None,
    tag: o.Tag = [],  # noqa: B006 - Typer's form of "none given"; never changed
    reason: o.Why = "",
    yes: o.Yes = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Make cells again that are there. What they hold stays until the new is published."""
    from partita.ui.api.models import PlanRequest
    from partita.ui.api.services.words import tags_of
    from partita.ui.cli.session import session
    from partita.ui.cli.work import launch_shown, say_plan

    asked = o.Asked(selection, partitions, partition, lower, upper, "all", downstream=downstream, params=param)
    request = PlanRequest.model_validate(asked.request("run"))
    if request.partitions is None and request.from_key is None and request.to_key is None:
        raise UsageProblem(
            "rerun says which partitions", rule="history is not made again by leaving something out",
            fix="--partitions all, or a part of them",
        )  # fmt: skip
    output, tags = Output(json=as_json), tags_of(tag)
    with session() as opened:
        preview = opened.services.plans.preview(request)
        say_plan(preview, output, limited=max_active is not None)
        said = {"reason": reason, "tags": tags, "max_active": max_active}
        launch_shown(opened, preview, said, yes=yes, detach=detach, output=output)
