"""What automation would ask for once paused assets are resumed, and the choice between none, the latest and all of it (S-201).

Nothing is deleted and no clock is moved: what is skipped is recorded as asked for in the state that it is in, as any request is,
so that it is asked for when its inputs move, and not before. All of it can go as a backfill, so many at a time (S-024).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from partita.assets import PartitionSet
from partita.core.automation.faults import SetAside
from partita.core.automation.follow import touched_by
from partita.core.automation.held import Asking
from partita.core.automation.judge import condition_of_step
from partita.core.automation.pacing import as_catch_up
from partita.core.automation.timing import due_partitions, line_of
from partita.core.automation.values import EVENTS, ActiveCatalog
from partita.core.automation.visit import Visit, judged, launch_of, requests_of, steps_of, without_owned
from partita.core.catalog import Catalog, StepKey, mask_of
from partita.core.catalog.edges import Bools
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.values import AUTOMATION
from partita.core.planner.partition_words import partitions_text
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, RunId
from partita.core.store.values_actions import EVERYTHING

Policy = Literal["none", "latest", "all"]
_TRIES = 5
_RANGES = 3


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """`skipped` cells are not asked for; `launched` ones go in `run_id`."""

    skipped: int = 0
    launched: int = 0
    run_id: RunId | None = None


def missed(tx: Tx, catalog: Catalog, assets: Collection[AssetId], now: datetime) -> list[Asking]:
    """What automation would ask for of these assets (`EVERYTHING`: of all) if nothing of them were paused. Asks for nothing."""
    visit = Visit(tx, catalog, now, before={})
    steps = steps_of(visit, _candidates(visit, assets))
    owners = tx.open_owners(sorted({ref for step in steps for cells in step.cells.values() for ref in cells}))
    free = [without_owned(visit, step, owners) for step in steps]
    asking = judged(visit, [step for step in free if step.cells])
    states = {cell: one.state for group in asking for cells in group.cells.values() for cell, one in cells.items()}
    known = tx.known_requests(states) if states else set()
    fresh = [
        group.only([at for at, cells in group.cells.items() if not any(cell in known for cell in cells)])
        for group in asking
    ]
    return [group for group in fresh if group.cells]


def catch_up(
    store: Store, catalogs: ActiveCatalog, assets: Collection[AssetId], policy: Policy, *, pace: int | None, who: str
) -> CaughtUp:
    """Skips what the policy leaves out; with a `pace`, launches the rest as a backfill of so many tasks at a time. Before the
    resume, while automation still stands aside. What is neither skipped nor launched, automation asks for, at its own pace."""
    for _ in range(_TRIES):
        try:
            return store.run(lambda tx: _catch_up(tx, catalogs.active(), assets, policy, pace, who))
        except LaunchAgain:
            continue
    return CaughtUp()


def _catch_up(
    tx: Tx, catalog: Catalog, assets: Collection[AssetId], policy: Policy, pace: int | None, who: str
) -> CaughtUp:
    now = tx.now()
    visit = Visit(tx, catalog, now, before={})
    go, left = _split(catalog, missed(tx, catalog, assets, now), policy, now)
    cause = {"kind": "resume", "by": who, "text": f"{who} resumed it and asked for {policy} of what it had missed"}
    skipped = requests_of(left, None, cause)
    tx.insert_automation_requests(skipped)
    if not go or pace is None:
        return CaughtUp(len(skipped))
    launched = launch_in(tx, as_catch_up(launch_of(visit, go, cause), now, pace=pace, by=who))
    requests = requests_of(go, launched, cause)
    tx.insert_automation_requests(requests)
    return CaughtUp(len(skipped), len(requests), launched.run_id)


def _candidates(visit: Visit, assets: Collection[AssetId]) -> dict[StepKey, Bools]:
    """What time and publications would have been looked at."""
    catalog = visit.catalog
    wanted = {asset.step for asset in catalog.by_id.values() if EVERYTHING in assets or asset.id in assets}
    nothing_aside = SetAside({}, frozenset(), frozenset(), visit.now)
    found = {
        key: mask
        for key, mask in touched_by(visit, nothing_aside, visit.tx.peek_todo(AUTOMATION, EVENTS)).steps.items()
        if key in wanted
    }
    timed = [asset for asset in catalog.by_id.values() if asset.step in wanted and asset.timed]
    clocks = visit.tx.clocks_of([asset.id for asset in timed])
    for asset in timed:
        clock = clocks.get(asset.id)
        if clock is None or clock.looked_at is None:
            continue
        space = catalog.space(asset.key, visit.now)
        due = due_partitions(catalog, asset, condition_of_step(catalog, asset.step), clock, visit.now)
        mask = mask_of(due, space.size)
        for at in space.ordinals_of(clock.pending):
            mask[at] = mask[at] or at >= 0
        found[asset.step] = mask if asset.step not in found else found[asset.step] | mask
    return {key: mask for key, mask in found.items() if mask.any()}


def _split(
    catalog: Catalog, asking: Sequence[Asking], policy: Policy, now: datetime
) -> tuple[list[Asking], list[Asking]]:
    """What goes, and what is left out."""
    if policy == "all":
        return list(asking), []
    if policy == "none":
        return [], list(asking)
    go: list[Asking] = []
    left: list[Asking] = []
    for group in asking:
        space = catalog.space(catalog.steps[group.key][0].key, now)
        newest: dict[tuple[int, ...], int] = {}
        for at in sorted(group.cells):
            newest[line_of(space, at)] = at
        chosen = set(newest.values())
        go.append(group.only(chosen))
        left.append(group.only(group.cells.keys() - chosen))
    return [one for one in go if one.cells], [one for one in left if one.cells]


def texts_of(catalog: Catalog, asking: Sequence[Asking], now: datetime) -> list[tuple[str, int, str]]:
    """By asset how many partitions, and which in words."""
    found = []
    for group in asking:
        for asset in catalog.steps[group.key]:
            chosen = PartitionSet.from_ordinals(
                at for at, cells in group.cells.items() if any(cell.asset_id == asset.id for cell in cells)
            )
            if not chosen:
                continue
            space = catalog.space(asset.key, now)
            found.append((str(asset.key), len(chosen), partitions_text(space, chosen, _RANGES)))
    return found
