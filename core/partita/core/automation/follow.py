"""The eager duty: materialized events become requests and one run, in the transaction that takes the events.

No wake-up is lost: an event is deleted only in the transaction that acted on it or found that nothing is to be done; while
an upstream or the consumer itself runs it is put back. Nothing is asked twice for one cause, whatever the number of
schedulers: a request is unique per cell and state of its inputs, and an owned cell is not asked for again. What cannot be
decided is set aside, and its events with it, until it is tried again (`faults`); the others go on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.automation.faults import SetAside, read_set_aside, set_aside
from partita.core.automation.values import (
    EVENTS,
    ActiveCatalog,
    AskedBefore,
    Automated,
    Limits,
    Subject,
    Undecidable,
    deciding,
    subject_of,
)
from partita.core.automation.visit import Visit, ask, roots_of
from partita.core.catalog import StepKey
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.decide.traces import in_trace
from partita.core.duties.launch import LaunchAgain
from partita.core.duties.values import AUTOMATION
from partita.core.planner.partition_words import partitions_text
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, TodoEvent
from partita.core.store.values_clocks import Gathered
from partita.core.store.values_requests import FaultKind

_TRIES = 20
_LISTED = 20
_RANGES = 2

# Per store, what each waiting event waits for. A hint only: it saves working out a thousand waits anew at every wake-up.
_hints: WeakKeyDictionary[Store, dict[int, CellRef]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Asking:
    """What one call of the duty has learnt so far; `alone` restricts it to the consumers of one subject."""

    limit: int
    limits: Limits
    before: Mapping[CellRef, int]
    hints: dict[int, CellRef]
    alone: Subject | None = None


@dataclass(frozen=True, slots=True)
class _Touched:
    """Per step with eager members the partitions that the events map to, and until when events have to wait."""

    steps: Mapping[StepKey, Bools]
    moved: Collection[AssetKey]
    until: Mapping[int, datetime]


def run_automation(
    store: Store, catalogs: ActiveCatalog, limit: int = EVENTS, *, limits: Limits | None = None
) -> Automated:
    """Take events of upstreams with eager consumers and ask for what follows; see the module."""
    before: dict[CellRef, int] = {}
    make = partial(_Asking, limit, limits or Limits(), hints=_hints.setdefault(store, {}))
    suspects: list[Subject] = []
    for _ in range(_TRIES):
        alone = suspects[0] if suspects else None
        asking = make(before=dict(before), alone=alone)
        try:
            done = store.run(partial(_automate, catalogs=catalogs, asking=asking))
        except LaunchAgain:
            continue
        except AskedBefore as known:
            before.update(known.again)
            continue
        except Undecidable as error:
            if len(error.subjects) > 1 and alone is None:
                suspects = list(error.subjects)  # one of them: each is decided by itself
                continue
            set_aside(store, error)
            suspects = suspects[1:]
            continue
        if alone is None:
            return done
        suspects = suspects[1:]
    return Automated(more=True)


def _automate(tx: Tx, *, catalogs: ActiveCatalog, asking: _Asking) -> Automated:
    events = tx.take_todo_skip(AUTOMATION, asking.limit)
    if not events:
        asking.hints.clear()
        return Automated()
    # Only now: an idle visit is one statement.
    visit = Visit(tx, catalogs.active(), tx.now(), asking.before, asking.limits)
    aside = read_set_aside(tx, FaultKind.ASSET)
    still, live = _still_waiting(visit, asking.hints, events)
    touched = touched_by(visit, aside, live)
    visit.moved = touched.moved
    visit.roots = roots_of(tx, live)
    steps = _at_once(visit, touched.steps)
    if asking.alone is not None:
        steps = {key: mask for key, mask in steps.items() if subject_of(visit.catalog, key) == asking.alone}
    asked = ask(visit, steps, partial(_cause, visit, live))
    waiting = [*still, *(event for event in live if _waits(visit, asking.hints, event))]
    waits = {event.event_id for event in waiting}
    later = [event for event in live if event.event_id in touched.until and event.event_id not in waits]
    if asking.alone is not None:
        waiting, later = list(events), []
    elif len(events) < asking.limit:
        tx.clear_faults(aside.due)  # they were decided just now, or nothing is left to decide
    tx.put_back_todo(AUTOMATION, waiting)
    for until in sorted({touched.until[event.event_id] for event in later}):
        tx.put_back_todo(AUTOMATION, [event for event in later if touched.until[event.event_id] == until], until=until)
    return Automated(
        taken=len(events),
        requested=asked.requested,
        held=asked.held,
        waiting=len(waiting),
        set_aside=len(later),
        run_id=asked.run_id,
        more=len(events) == asking.limit and len(waiting) < len(events),
        channels=asked.channels,
    )


def touched_by(visit: Visit, aside: SetAside, events: Iterable[TodoEvent]) -> _Touched:
    """What the events map to; nothing else is ever looked at (S-082)."""
    moved: dict[AssetKey, Bools] = {}
    by_asset: dict[AssetKey, list[int]] = {}
    until: dict[int, datetime] = {}
    for event in events:
        asset = visit.catalog.by_id.get(event.cell.asset_id)
        if asset is None:
            continue
        subject = (FaultKind.ASSET, int(asset.id))
        if (later := aside.of([subject])) is not None:
            until[event.event_id] = later
            continue
        with deciding(subject):
            space = visit.catalog.space(asset.key, visit.now)
            at = space.find(event.cell.partition)
            if at is not None:
                moved.setdefault(asset.key, np.zeros(space.size, dtype=np.bool_))[at] = True
                by_asset.setdefault(asset.key, []).append(event.event_id)
    touched: dict[StepKey, Bools] = {}
    for key, mask in moved.items():
        for consumer, one in visit.catalog.consumers.get(key, ()):
            if not consumer.automated:
                continue
            subject = subject_of(visit.catalog, consumer.step)
            if (later := aside.of_consumer(subject)) is not None:
                until.update((event_id, max(later, until.get(event_id, later))) for event_id in by_asset[key])
                continue
            with deciding(subject):
                below = visit.catalog.edge(consumer.key, one, visit.now).any(mask)
            known = touched.get(consumer.step)
            touched[consumer.step] = below if known is None else np.logical_or(known, below)
    return _Touched({step: mask for step, mask in touched.items() if mask.any()}, moved.keys(), until)


def _at_once(visit: Visit, steps: Mapping[StepKey, Bools]) -> dict[StepKey, Bools]:
    """The steps to decide now. Of debounced ones the partitions are gathered: their clock decides about them together."""
    gathered: dict[AssetId, Gathered] = {}
    owner: dict[AssetId, StepKey] = {}
    for key, mask in steps.items():
        lead = max(visit.catalog.steps[key], key=lambda asset: asset.debounce_s)
        if lead.debounce_s:
            names = names_of(visit.catalog.space(lead.key, visit.now))
            keys = tuple(names.key(at) for at in np.flatnonzero(mask).tolist())
            gathered[lead.id] = Gathered(lead.id, keys, visit.now + timedelta(seconds=lead.debounce_s))
            owner[lead.id] = key
    # Before any owner of cells is locked: a look holds its clocks first, too.
    done = {owner[asset_id] for asset_id in visit.tx.gather(list(gathered.values()))} if gathered else set()
    return {key: mask for key, mask in steps.items() if key not in done}


def _still_waiting(
    visit: Visit, hints: dict[int, CellRef], events: Sequence[TodoEvent]
) -> tuple[list[TodoEvent], list[TodoEvent]]:
    """Events whose known blocker is still under way, and the others."""
    known = {event.event_id: hints[event.event_id] for event in events if event.event_id in hints}
    blocked = visit.tx.open_owners(sorted(set(known.values()))) if known else {}
    still, live = [], []
    for event in events:
        if known.get(event.event_id) in blocked:
            still.append(event)
        else:
            hints.pop(event.event_id, None)
            live.append(event)
    return still, live


def _waits(visit: Visit, hints: dict[int, CellRef], event: TodoEvent) -> bool:
    """Whether a consumer cell of this event waits; remembers what for."""
    asset = visit.catalog.by_id.get(event.cell.asset_id)
    if asset is None or not visit.waits:
        return False
    space = visit.catalog.space(asset.key, visit.now)
    at = space.find(event.cell.partition)
    if at is None:
        return False
    mask = np.zeros(space.size, dtype=np.bool_)
    mask[at] = True
    waiting = {cell.asset_id for cell in visit.waits}
    for consumer, one in visit.catalog.consumers.get(asset.key, ()):
        if not consumer.automated or consumer.id not in waiting:
            continue
        down = names_of(visit.catalog.space(consumer.key, visit.now))
        for ordinal in np.flatnonzero(visit.catalog.edge(consumer.key, one, visit.now).any(mask)).tolist():
            blocker = visit.waits.get(CellRef(consumer.id, down.key(ordinal)))
            if blocker is not None:
                hints[event.event_id] = blocker
                return True
    return False


def _cause(visit: Visit, taken: Sequence[TodoEvent], steps: Collection[StepKey]) -> dict[str, Any]:
    """What of it these steps read, by asset: "flights 2013-01-02, weather 2013-01-02 × EWR, JFK were materialized"."""
    chosen = {asset.key for step in steps for asset in visit.catalog.steps[step]}
    read = {
        visit.catalog.assets[key].id
        for key, consumers in visit.catalog.consumers.items()
        if key in visit.catalog.assets and any(consumer.key in chosen for consumer, _ in consumers)
    }
    events = [event for event in taken if event.cell.asset_id in read] or taken
    found: dict[AssetId, list[str]] = {}
    for event in events:
        found.setdefault(event.cell.asset_id, []).append(event.cell.partition)
    names = [_named(visit, asset_id, keys) for asset_id, keys in islice(found.items(), _LISTED)]
    more = f" and {len(found) - len(names)} more assets" if len(found) > len(names) else ""
    verb = "was" if len(events) == 1 else "were"
    outside = visit.tx.traceparents([event.event_id for event in events if event.run_id is None])
    return {
        "kind": "eager",
        "by": "automation",
        "text": f"{', '.join(names)}{more} {verb} materialized",
        "events": [event.event_id for event in events[:_LISTED]],
        # What follows one report goes on in its trace; several traces cannot go on as one.
        **in_trace(outside.pop() if len(outside) == 1 else None),
    }


def _named(visit: Visit, asset_id: AssetId, keys: Sequence[str]) -> str:
    asset = visit.catalog.by_id.get(asset_id)
    if asset is None:
        return f"an asset that is gone ({asset_id})"
    space = visit.catalog.space(asset.key, visit.now)
    cells = PartitionSet.from_ordinals(at for at in space.ordinals_of(keys) if at >= 0)
    return f"{asset.key} {partitions_text(space, cells, _RANGES)}".rstrip()
