"""What a pause means for an open task, and the end of one. Pure.

A task of a paused asset wants a slot of a pool that has none (`caps.paused_pool`), so admission passes over it as over any
other pool set that is blocked. One that was admitted and has not started gives its slots back; a running one ends as it will.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from partita.core.decide.caps import cap_of, paused_pool
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import AssetId, PoolUse, Task, TaskState, TaskUpdate, WaitReason
from partita.core.store.values_actions import EVERYTHING, Pause


def with_pauses(pools: Iterable[PoolUse], assets: Iterable[AssetId]) -> tuple[PoolUse, ...]:
    """The pools of a task that makes these assets, of which just these are paused."""
    rest = [use for use in pools if not is_pause(use.name)]
    return tuple(sorted((*rest, *(PoolUse(paused_pool(one), 1) for one in set(assets))), key=lambda use: use.name))


def is_pause(pool: str) -> bool:
    """Whether this is the name of a pool that stands for a pause."""
    cap = cap_of(pool)
    return cap is not None and cap.kind == "paused"


def binding(pauses: Mapping[AssetId, Pause], assets: Iterable[AssetId]) -> list[Pause]:
    """The pauses that hold a task which makes these assets, the one to be told first."""
    return [pauses[one] for one in sorted({EVERYTHING, *assets}) if one in pauses]


@lru_cache(maxsize=256)
def evidence(pause: Pause) -> Mapping[str, Any]:
    """Of the reason `paused`: who, when and why."""
    return {"asset": pause.asset_id, "by": pause.by, "at": pause.at.isoformat(timespec="seconds"), "why": pause.reason}


def with_evidence(update: TaskUpdate, pauses: Mapping[AssetId, Pause]) -> TaskUpdate:
    """A reason that names only which pause binds, with who, when and why. One that has ended meanwhile stays as it is."""
    if update.reason is not WaitReason.PAUSED or update.reason_detail is None:
        return update
    pause = pauses.get(AssetId(update.reason_detail["asset"]))
    return update if pause is None else update._replace(reason_detail=evidence(pause))


def hold(task: Task, pause: Pause) -> TaskUpdate | None:
    """The update of an open task that is held by this pause now; None where nothing of it moves yet."""
    told = {"reason": WaitReason.PAUSED, "reason_detail": evidence(pause)}
    if task.state is TaskState.QUEUED:
        return move(task, TaskState.SCHEDULED, Actor.PAUSE, queued_at=None, **told)
    if task.state is TaskState.SCHEDULED and task.reason is not WaitReason.PAUSED:
        return move(task, TaskState.SCHEDULED, Actor.PAUSE, **told)
    return None


def let_go(task: Task, held: Pause | None) -> TaskUpdate | None:
    """The update of an open task when a pause ended; `held` is the one that binds now. None where it said nothing of pauses."""
    if task.state is not TaskState.SCHEDULED or task.reason is not WaitReason.PAUSED:
        return None
    if held is None:
        return move(task, TaskState.SCHEDULED, Actor.PAUSE, reason=None)
    return move(task, TaskState.SCHEDULED, Actor.PAUSE, reason=WaitReason.PAUSED, reason_detail=evidence(held))
