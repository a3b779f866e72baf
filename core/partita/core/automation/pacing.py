"""Catching up at a pace: of what automation asks for, the part that belongs to the past and goes so many tasks at a time. Pure.

A condition that waits for windows to close asks for many at once when partita was away, or when it begins with history. All
but the newest are the past. No more of it than the pace is as good as one window; more goes as a backfill with the pace as its
limit, the oldest first, so that it can be seen, paused and cancelled, and stands before nobody (S-024, S-076).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from partita.core.automation.held import Asking, groups_of, with_readers
from partita.core.automation.judge import condition_of_step
from partita.core.automation.timing import newest_from, time_of, time_ordinal, timing_of
from partita.core.catalog import Catalog, StepKey
from partita.core.duties.values import Launch, NewBackfill

PACE = 16
"""Tasks of a catch-up at a time, unless somebody says otherwise."""
_LANE = "backfill"


@dataclass(frozen=True, slots=True)
class Portion:
    """What goes in one launch; with a `pace`, so many tasks at a time."""

    asking: tuple[Asking, ...]
    pace: int | None = None


def portions(catalog: Catalog, asking: Sequence[Asking], now: datetime) -> list[Portion]:
    """What goes at once, and of each group of steps that read each other the past that has to be paced.

    What reads the past goes with it: it would have to wait for it anyway.
    """
    old = {one.key: found for one in asking if (found := _older(catalog, one, now))}
    if all(len(found) <= _pace(catalog, key) for key, found in old.items()):
        return [Portion(tuple(asking))] if asking else []
    at_once: list[Asking] = []
    paced: list[Portion] = []
    for group in groups_of(catalog, asking, frozenset()):
        past = _past(catalog, group, old, now)
        pace = min((_pace(catalog, key) for key in past if key in old), default=0)
        if past:
            paced.append(Portion(tuple(_only(group, past)), pace))
        at_once += _only(group, {one.key: one.cells.keys() - past.get(one.key, set()) for one in group})
    order = {key: at for at, key in enumerate(catalog.steps)}
    first = tuple(sorted(at_once, key=lambda one: order[one.key]))
    return ([Portion(first)] if first else []) + paced


def pace_of(catalog: Catalog, asking: Sequence[Asking], now: datetime) -> int | None:
    """The pace of all of it, when some of it has to be paced."""
    return min((one.pace for one in portions(catalog, asking, now) if one.pace is not None), default=None)


def as_catch_up(launch: Launch, now: datetime, *, pace: int, by: str) -> Launch:
    """The launch as a backfill that goes so many tasks at a time, the oldest first."""
    named = NewBackfill(f"catch-up of {now:%Y-%m-%d %H:%M}", max_active=pace, created_by=by)
    return replace(launch, backfill=named, lane=_LANE)


def _past(
    catalog: Catalog, group: Sequence[Asking], old: Mapping[StepKey, set[int]], now: datetime
) -> Mapping[StepKey, set[int]]:
    """What of a group goes at its pace; nothing where so little is old that it can go at once."""
    found = {one.key: old[one.key] for one in group if one.key in old}
    if all(len(cells) <= _pace(catalog, key) for key, cells in found.items()):
        return {}
    past = with_readers(catalog, group, found, now)
    rest = {one.key: one.cells.keys() - past.get(one.key, set()) for one in group}
    reads_rest = with_readers(catalog, group, rest, now)
    if any(cells & reads_rest.get(key, set()) for key, cells in past.items()):
        return {one.key: set(one.cells) for one in group}  # the tasks of one launch know of each other
    return past


def _older(catalog: Catalog, one: Asking, now: datetime) -> set[int]:
    """What is older than the newest windows that its condition looks at; nothing where no condition asks for windows."""
    lead = catalog.steps[one.key][0]
    space = catalog.space(lead.key, now)
    inner = time_of(space)
    timing = timing_of(condition_of_step(catalog, one.key))
    if inner is None or not timing.past:
        return set()
    first = newest_from(inner, timing, now)
    return {at for at in one.cells if time_ordinal(space, at) < first}


def _pace(catalog: Catalog, key: StepKey) -> int:
    closings = timing_of(condition_of_step(catalog, key)).closings
    return min((one.pace for one in closings if one.pace is not None), default=PACE)


def _only(group: Sequence[Asking], chosen: Mapping[StepKey, set[int]]) -> list[Asking]:
    parts = [one.only(chosen.get(one.key, set())) for one in group]
    return [one for one in parts if one.cells]
