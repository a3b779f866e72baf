"""`partita freshness`: which assets keep their freshness policies, and what consumed the time when they did not."""

from __future__ import annotations

from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now


def register(app: typer.Typer) -> None:
    app.command()(freshness)


def freshness(
    asset: Annotated[str | None, typer.Argument(help="Only this asset, with when it was late.")] = None,
    *,
    as_json: o.Json = False,
) -> None:
    """Whether assets are as fresh as their `freshness=` promises. What is late comes first."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.freshness.page(asset)
    if as_json:
        output.value(found)
        return
    now = utc_now()
    output.table(
        ("asset", "policy", "state", "due", "fresh to", "budget left", "in words"),
        [
            (
                one.asset,
                one.policy,
                one.state,
                ago(one.due_at, now),
                "–" if one.fresh_to is None else one.fresh_to.isoformat(timespec="minutes"),
                "–" if one.late_s is None or not one.budget_s else f"{max(1 - one.late_s / one.budget_s, 0.0):.0%}",
                one.sentence,
            )
            for one in found.policies
        ],
        empty="No asset promises freshness: @asset(freshness=Freshness(max_lag='2h')).",
    )
    if asset is not None and found.misses:
        output.table(
            ("partition", "late from", "until", "what consumed the time"),
            [
                (
                    one.partition or "all",
                    one.from_at.isoformat(timespec="minutes"),
                    "now" if one.until_at is None else one.until_at.isoformat(timespec="minutes"),
                    one.text,
                )
                for one in found.misses
            ],
            empty="",
        )
