"""What cells would look like in another state: for "what would automation do, were it so?". Pure; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal, get_args

from partita.core.automation.view import World
from partita.core.store.values import AssetId, CellFact, CellRef, Fence

State = Literal["missing", "made", "updated", "failed", "in_progress"]
STATES: tuple[str, ...] = get_args(State)
_VERSION = "(assumed)"  # a version that no data has


def assumed(world: World, cells: Iterable[CellRef], given: Mapping[AssetId, State], now: datetime) -> World:
    """The world as it would be were these cells, as far as their asset is given, in that state from now on."""
    chosen = [(cell, given[cell.asset_id]) for cell in cells if cell.asset_id in given]
    facts = {**world.facts, **{cell: _fact(world.facts.get(cell), cell, state, now) for cell, state in chosen}}
    gone = {cell for cell, state in chosen if state == "missing"}
    busy = {cell for cell, state in chosen if state == "in_progress"}
    idle = {cell for cell, _ in chosen} - busy
    return replace(
        world,
        facts={cell: fact for cell, fact in facts.items() if cell not in gone},
        under_way=(set(world.under_way) | busy) - idle,
    )


def _fact(known: CellFact | None, cell: CellRef, state: State, now: datetime) -> CellFact:
    fact = known or CellFact(cell, Fence(0), None, None, None, None, None, None)
    if state == "failed":
        return fact._replace(last_outcome="failed", last_attempt_at=now)
    if state == "updated" or (state == "made" and fact.data_version is None):
        return fact._replace(
            data_version=_VERSION,
            version_at=now,
            published_at=fact.published_at if state == "updated" and fact.published_at is not None else now,
            last_outcome="success",
            last_attempt_at=now,
        )
    return fact._replace(last_outcome="success") if state == "made" else fact
