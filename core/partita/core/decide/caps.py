"""Caps: limits that are counted as pools, so that admission counts them under the lock that it takes anyway. Pure.

Owns their names and what a task says while one binds. A cap has the name of what it limits: `all`, `location:NAME`,
`asset:KEY`, `backfill:ID`, `run:ID` (`run:*`: of each run that is given none); pools of people may not be named so
(`partita.assets.reserved_pool`). A cap that is taken away keeps its row, without a limit: tasks hold slots of it. A pause is
a cap of no slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from partita.core.store.values import AssetId, BackfillId, Pool, RunId, WaitReason

RUNNING_POOL = "all"
EACH_RUN_POOL = "run:*"
"""Of which nobody takes a slot: its size is the limit of a new run that is given none."""

CapKind = Literal["all", "location", "asset", "backfill", "run", "paused"]
_PAUSED = "!paused"  # sorts before all others: of several pools that lack room the first one binds
_KINDS: Mapping[str, CapKind] = {
    "location": "location", "asset": "asset", "backfill": "backfill", "run": "run", _PAUSED: "paused",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cap:
    """What a pool limits: `of` is the name of the location, the key of the asset, the id of the backfill, of the run
    (`*`: each new one), or of the paused asset."""

    kind: CapKind
    of: str


def backfill_pool(backfill_id: BackfillId) -> str:
    """The name of the pool that caps the active tasks of a backfill."""
    return f"backfill:{backfill_id}"


def run_pool(run_id: RunId) -> str:
    """The name of the pool that caps the active tasks of a run; only runs with a limit have one."""
    return f"run:{run_id}"


def asset_pool(key: str) -> str:
    return f"asset:{key}"


def location_pool(name: str) -> str:
    return f"location:{name}"


def paused_pool(asset_id: AssetId) -> str:
    """The name of the pool without slots of which every task of a paused asset wants one."""
    return f"{_PAUSED}:{asset_id}"


@lru_cache(maxsize=4096)
def cap_of(pool: str) -> Cap | None:
    """What the pool of this name limits; None for a pool of people.

    >>> cap_of("asset:raw/orders"), cap_of("warehouse"), cap_of("duckdb:shop")
    (Cap(kind='asset', of='raw/orders'), None, None)
    """
    if pool == RUNNING_POOL:
        return Cap("all", "")
    head, _, of = pool.partition(":")
    kind = _KINDS.get(head)
    return Cap(kind, of) if kind is not None and ":" in pool else None


def pause_reason(pool: Pool) -> tuple[WaitReason, Mapping[str, Any]] | None:
    """Why a task of a paused pool waits; None when it is not paused."""
    if pool.paused is None:
        return None
    cap = cap_of(pool.name)
    of: dict[str, Any] = {"pool": pool.name}
    if cap is not None and cap.kind == "backfill":
        of = {"backfill": int(cap.of)}
    return WaitReason.PAUSED, {"by": pool.paused.by, "at": pool.paused.at.isoformat(timespec="seconds"), **of}


def cap_reason(cap: Cap, pool: Pool) -> tuple[WaitReason, Mapping[str, Any]]:
    """Why a task waits at a cap that is reached."""
    if cap.kind == "backfill":
        return WaitReason.BACKFILL_CAP, {"backfill": int(cap.of), "max_active": pool.slots}
    if cap.kind == "run":
        return WaitReason.RUN_CAP, {"run": int(cap.of), "max_active": pool.slots}
    if cap.kind == "asset":
        return WaitReason.ASSET_CAP, {"asset": cap.of, "max_active": pool.slots}
    if cap.kind == "location":
        return WaitReason.LOCATION_CAP, {"location": cap.of, "max_running": pool.slots}
    if cap.kind == "paused":
        return WaitReason.PAUSED, {"asset": int(cap.of)}
    return WaitReason.RUNNING_CAP, {"max_running": pool.slots}
