"""What launches by values and launches by columns have in common: refusals, runs and backfills, what is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from partita.core.decide.backfills import opened
from partita.core.decide.caps import backfill_pool, cap_of, run_pool
from partita.core.duties.channels import Channel
from partita.core.duties.values import Into, Launch
from partita.core.store.port import Tx
from partita.core.store.values import (
    UNLIMITED_SLOTS,
    WAITING,
    Backfill,
    BackfillId,
    NewEvent,
    NewRun,
    Pool,
    PoolUse,
    RunId,
    RunState,
    TaskState,
)


class LaunchRefused(ValueError):
    """The launch itself is wrong; nothing was written."""


class LaunchAgain(Exception):
    """An owner ended, or has an id above ours: start over in a new transaction with new ids. Rolls back."""


class PlanOutdated(LaunchRefused):
    """An asset has another partition scheme than the plan was made with: its keys may mean other windows now. Nothing was
    written; plan again."""


class SchemeMoved(LaunchAgain):
    """As `PlanOutdated`, for a part of a larger transaction: it plans again when it starts over."""


class StillCancelling(LaunchAgain):
    """A run that is being cancelled owns some of the cells: in a moment it does not."""


def check_schemes(tx: Tx, launches: Sequence[Launch]) -> None:
    """Before anything else is locked, as activations do: either the activation finds our tasks, or we find its scheme."""
    now = tx.lock_schemes({asset_id for one in launches for asset_id in one.schemes})
    for one in launches:
        moved = [asset_id for asset_id, hash in one.schemes.items() if now.get(asset_id, hash) != hash]
        if moved:
            raise SchemeMoved(
                f"plan {one.plan_hash}: asset {moved[0]} got another partition scheme since it was made, so that its keys may "
                "mean other windows; plan again"
            )


def tell(tx: Tx, launches: Sequence[tuple[Launch, RunId, int, int]]) -> None:
    """Events and audit entries of launches with their runs, and how many tasks and cells they asked for."""
    tx.append_events(
        [NewEvent("run", run_id=run_id, body={"state": "running", "tasks": tasks}) for _, run_id, tasks, _ in launches]
    )
    names = ("selection", "partitions", "from_key", "to_key", "mode")
    for one, run_id, _, cells in launches:
        asked = {name: one.request[name] for name in names if one.request.get(name)}  # as sets
        detail = {"run": run_id, "plan": one.plan_hash, "cells": cells, **asked}
        by = str(one.cause.get("by", one.cause.get("kind", "")))
        tx.audit(by, "launch", detail, reason=str(one.cause.get("reason", "")))


def make_pools(tx: Tx, uses: Iterable[PoolUse]) -> None:
    """Those that do not exist yet, but for caps: a pool that nobody sized has one slot."""
    names = {use.name for use in uses if cap_of(use.name) is None}
    tx.ensure_pools([Pool(name, 1) for name in sorted(names)], automatic=True)


def worth_waking(states: AbstractSet[TaskState]) -> tuple[Channel, ...]:
    """The channels to wake after tasks were launched in these states."""
    begun = (({TaskState.SCHEDULED}, Channel.SCHEDULED), (WAITING, Channel.WAIT))
    return (*(channel for of, channel in begun if of & states), Channel.EVENT)


def lock_retried(tx: Tx, launches: Sequence[Launch]) -> dict[BackfillId, Backfill]:
    """The backfills that get a further run, before owners and tasks: their end waits for it, or it opens them again."""
    wanted = {one.retry_of for one in launches if one.retry_of is not None}
    found = {backfill.id: backfill for backfill in tx.lock_backfills(sorted(wanted))} if wanted else {}
    for missing in sorted(wanted - found.keys()):
        raise LaunchRefused(f"there is no backfill {missing} to retry")
    return found


def backfill_of(tx: Tx, launch: Launch, retried: Mapping[BackfillId, Backfill]) -> BackfillId | None:
    if launch.into is not None:
        return launch.into.backfill_id
    if launch.retry_of is not None:
        before = retried[launch.retry_of]
        if before.state is not RunState.RUNNING:
            tx.pause_pool(backfill_pool(before.id), None)  # its cancelling may have closed it
            tx.write_backfill(opened(before))
        return before.id
    if launch.backfill is None:
        return None
    new = launch.backfill
    backfill_id = tx.insert_backfill(
        new.name,
        launch.request,
        new.max_active,
        new.created_by,
        priority=new.priority,
        newest_first=new.newest_first,
    )
    # The cap is a pool: then admission counts it under the same lock as everything else, exact for any number of admitters. One
    # without a limit has it too: closing it pauses the backfill.
    slots = UNLIMITED_SLOTS if new.max_active is None else new.max_active
    tx.ensure_pools([Pool(backfill_pool(backfill_id), slots)], automatic=True)
    return backfill_id


def insert_runs(
    tx: Tx, launches: Sequence[Launch], backfills: Sequence[BackfillId | None], counts: Sequence[int]
) -> list[Into]:
    """A run for each launch, of so many tasks; of one that goes into a run, that one. A run with a limit gets its own pool."""
    each = list(zip(_limited(tx, launches), backfills, counts, strict=True))
    new = iter(tx.insert_runs([_new_run(one, backfill, n) for one, backfill, n in each if one.into is None]))
    found: list[Into] = []
    pools: list[Pool] = []
    for one, backfill, _ in each:
        run = Into(next(new), backfill, one.max_active is not None) if one.into is None else one.into
        found.append(run)
        if one.into is None and one.max_active is not None:
            pools.append(Pool(run_pool(run.run_id), one.max_active))
    tx.ensure_pools(sorted(pools, key=lambda pool: pool.name), automatic=True)
    return found


def _limited(tx: Tx, launches: Sequence[Launch]) -> Sequence[Launch]:
    """Whoever asks for a run, one without a limit gets that of new runs; those of a backfill go by the backfill's own."""
    unlimited = {at for at, one in enumerate(launches) if _takes_default(one)}
    default = tx.limit_of_new_runs() if unlimited else None
    if default is None:
        return launches
    return [replace(one, max_active=default) if at in unlimited else one for at, one in enumerate(launches)]


def _takes_default(one: Launch) -> bool:
    return one.max_active is None and one.into is None and one.backfill is None and one.retry_of is None


def _new_run(launch: Launch, backfill_id: BackfillId | None, task_count: int) -> NewRun:
    return NewRun(
        backfill_id=backfill_id,
        lane=launch.lane,
        priority=launch.priority,
        cause=launch.cause,
        request=launch.request,
        plan_hash=launch.plan_hash,
        as_of=launch.as_of,
        params=launch.params,
        task_count=task_count,
        pins=launch.pins,
        keys_revision=launch.keys_revision,
        timeout_s=launch.timeout_s,
        max_active=launch.max_active,
    )
