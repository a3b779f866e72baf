"""The code location `desk`: the part of the example that goes by events, not by a backfill.

The desk of an airport sends a file when it gets to it. The board waits for it without a slot, the briefing follows the board, and
who promised the board hears when it is late.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

from partita.sdk import Freshness, Relation, asset, check, defaults, eager
from partita.sdk.triggers import FileExists

defaults(group="desk", owner="team:desk")

INBOX = Path(os.environ.get("FLIGHTS_INBOX", Path(__file__).parent.parent / ".partita" / "inbox"))
FILE = INBOX / "board.csv"
PROMISE = INBOX / "promise.txt"
"""The demo writes a shorter promise here for a moment, so that nobody has to wait a day to see one broken."""


def promised() -> str:
    try:
        return PROMISE.read_text().strip()
    except OSError:
        return "1d"


@asset(
    key="desk/board",
    wait_for=FileExists(str(FILE)).within("1h", poll="0.5s"),
    freshness=Freshness(max_lag=promised(), objective=0.99),
)
def board() -> Relation:
    """What the desk knows of each airport: flights and cancellations of a day, as it sent them."""
    with FILE.open(newline="") as lines:
        return Relation.from_rows(
            [
                {"origin": one["origin"], "flights": int(one["flights"]), "cancelled": int(one["cancelled"])}
                for one in csv.DictReader(lines)
            ]
        )


@asset(key="desk/briefing", automation=eager())
def briefing(board: Relation) -> Relation:
    """One line for whoever is on duty."""
    return board.sql(
        "select sum(flights)::bigint as flights, sum(cancelled)::bigint as cancelled, count(*) as airports from self"
    )


@check(board, blocking=True)
def no_more_cancelled_than_planned(board: Relation) -> bool:
    """An airport cancels flights that it has."""
    return bool(board.sql("select coalesce(bool_and(cancelled between 0 and flights), true) from self").scalar())
