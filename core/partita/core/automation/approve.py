"""A person's word on a request that waits: approved as it was shown, or rejected with a reason; and its end by time.

Approving decides again as of now: what was made or went back meanwhile is left out. Where the content differs from what was
shown nothing runs; the request takes the new content, and the difference is told (laws 3 and 6). Rejecting remembers the state of
the inputs of each cell: that state asks no more, a new one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from partita.assets import PartitaError
from partita.core.automation.held import Asking, HeldCell, cells_of, content_of, decode_cells, difference
from partita.core.automation.pacing import as_catch_up, pace_of
from partita.core.automation.values import ActiveCatalog, Limits
from partita.core.automation.visit import Visit, judged, launch_of, requests_of, steps_of
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import Bools
from partita.core.decide.traces import in_trace
from partita.core.duties.channels import Channel
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.store.port import Store, Tx
from partita.core.store.values import AutomationRequest, CellRef, NewEvent, RunId
from partita.core.store.values_requests import HeldContent, HeldRequest, RequestId, RequestState

_TRIES = 20
KEEP_ENDED_S = 90 * 86_400.0
NOTHING_LEFT = "nothing of it is left to do"


class RequestRefused(PartitaError):
    """There is no such request, it has ended, or it is not what was shown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a request. `changed`: nothing ran, because its content is not what was shown; the sentence says how."""

    id: RequestId
    state: RequestState
    cells: int
    run_id: RunId | None = None
    changed: str = ""
    channels: tuple[Channel, ...] = (Channel.EVENT,)


@dataclass(frozen=True, slots=True)
class Shown:
    """A request with what it would make as of now, and how that differs from what it holds."""

    request: HeldRequest
    fresh: HeldContent | None
    changed: str


def show(tx: Tx, catalogs: ActiveCatalog, request_id: RequestId) -> Shown:
    """The request, decided again as of now. Changes nothing. Raises RequestRefused."""
    found = tx.read_held_request(request_id)
    if found is None:
        raise _unknown(request_id)
    if found.state is not RequestState.AWAITING_INPUT:
        return Shown(found, None, "")
    fresh = _fresh(tx, catalogs.active(), found)
    return Shown(found, fresh.content, fresh.changed)


def approve(
    store: Store,
    catalogs: ActiveCatalog,
    request_id: RequestId,
    *,
    revision: int,
    by: str,
    limits: Limits | None = None,
    traceparent: str | None = None,
) -> Decision:
    """Launches what the request held when it was shown (`revision`), in the trace of who approves. Raises RequestRefused."""
    said = {"approved_by": by, "request": request_id} | in_trace(traceparent)
    work = partial(
        _approve, catalogs=catalogs, request_id=request_id, revision=revision, by=by, said=said, limits=limits
    )
    for _ in range(_TRIES):
        try:
            return store.run(work)
        except LaunchAgain:
            continue
    raise RequestRefused(f"the owners of the cells of request {request_id} kept changing", fix="approve it again")


def reject(store: Store, request_id: RequestId, *, revision: int, by: str, reason: str) -> Decision:
    """Ends it; the states that it holds are not asked for again. Raises RequestRefused."""
    if not reason.strip():
        raise RequestRefused(
            "a rejection has no reason", rule="it is read when somebody asks why nothing was made", fix="say why"
        )
    return store.run(partial(_reject, request_id=request_id, revision=revision, by=by, reason=reason.strip()))


def tend_requests(store: Store) -> int:
    """Ends requests that nobody decided about in their time, and forgets those that ended long ago; returns how many."""
    return store.run(_tend)


# ------------------------------------------------------------------ transactions


def _approve(
    tx: Tx,
    *,
    catalogs: ActiveCatalog,
    request_id: RequestId,
    revision: int,
    by: str,
    said: Mapping[str, Any],
    limits: Limits | None,
) -> Decision:
    tx.lock_requests()
    found = _waiting(tx, request_id, revision)
    catalog = catalogs.active()
    fresh = _fresh(tx, catalog, found)
    if fresh.changed and not fresh.cells:
        tx.end_held_request(request_id, RequestState.SUPERSEDED, by=by, reason=NOTHING_LEFT)
        tx.audit(by, "request_supersede", {"request": request_id}, reason=NOTHING_LEFT)
        _tell(tx, request_id, RequestState.SUPERSEDED)
        return Decision(request_id, RequestState.SUPERSEDED, 0, changed=NOTHING_LEFT)
    if fresh.changed:
        tx.replace_held_request(request_id, fresh.content, (limits or Limits()).keep_s)
        _tell(tx, request_id, RequestState.AWAITING_INPUT)
        return Decision(request_id, RequestState.AWAITING_INPUT, fresh.content.cells, changed=fresh.changed)
    cause = {**found.cause, **said}
    launch = launch_of(fresh.visit, fresh.asking, cause)
    pace = pace_of(catalog, fresh.asking, fresh.visit.now)
    launched = launch_in(tx, launch if pace is None else as_catch_up(launch, fresh.visit.now, pace=pace, by=by))
    tx.insert_automation_requests(requests_of(fresh.asking, launched, cause))
    tx.end_held_request(request_id, RequestState.APPROVED, by=by, reason="", run_id=launched.run_id)
    tx.audit(by, "request_approve", {"request": request_id, "cells": found.cells, "run": launched.run_id})
    _tell(tx, request_id, RequestState.APPROVED)
    return Decision(
        request_id, RequestState.APPROVED, found.cells, launched.run_id, channels=(*launched.channels, Channel.EVENT)
    )


def _reject(tx: Tx, *, request_id: RequestId, revision: int, by: str, reason: str) -> Decision:
    tx.lock_requests()
    found = _waiting(tx, request_id, revision)
    cause = {"kind": "rejected", "by": by, "text": f"rejected by {by}: {reason}", "request": request_id}
    cells = decode_cells(found.body)
    tx.insert_automation_requests([AutomationRequest(cell, held.state, None, cause) for cell, held in cells.items()])
    tx.end_held_request(request_id, RequestState.REJECTED, by=by, reason=reason)
    tx.audit(by, "request_reject", {"request": request_id, "cells": found.cells}, reason=reason)
    _tell(tx, request_id, RequestState.REJECTED)
    return Decision(request_id, RequestState.REJECTED, found.cells)


def _tend(tx: Tx) -> int:
    forgotten = tx.forget_held_requests(KEEP_ENDED_S) + tx.forget_caused_cells(KEEP_ENDED_S)
    if not tx.overdue_held_requests():
        return forgotten
    tx.lock_requests()
    overdue = tx.overdue_held_requests()
    for one in overdue:
        why = "nobody decided about it in time; the next event asks again"
        tx.end_held_request(one.id, RequestState.EXPIRED, by="automation", reason=why)
        tx.audit("automation", "request_expire", {"request": one.id, "cells": one.cells})
        _tell(tx, one.id, RequestState.EXPIRED)
    return forgotten + len(overdue)


def _waiting(tx: Tx, request_id: RequestId, revision: int) -> HeldRequest:
    found = tx.read_held_request(request_id)
    if found is None:
        raise _unknown(request_id)
    if found.state is not RequestState.AWAITING_INPUT:
        by = f" by {found.ended_by}" if found.ended_by else ""
        raise RequestRefused(f"request {request_id} was {found.state.value}{by} already", rule="that is done once")
    if found.revision != revision:
        raise RequestRefused(
            f"request {request_id} changed since it was shown: it has {found.cells:,} cells now",
            rule="what is decided about is what was shown",
            fix=f"look at it again: partita requests show {request_id}",
        )
    return found


def _unknown(request_id: int) -> RequestRefused:
    return RequestRefused(f"there is no request {request_id}", fix="partita requests list shows those that wait")


def _tell(tx: Tx, request_id: RequestId, state: RequestState) -> None:
    tx.append_events([NewEvent("plan", body={"request": request_id, "state": state.value})])


# ------------------------------------------------------------------ as of now


@dataclass(frozen=True, slots=True)
class _Fresh:
    visit: Visit
    asking: Sequence[Asking]
    cells: Mapping[CellRef, HeldCell]
    content: HeldContent
    changed: str


def _fresh(tx: Tx, catalog: Catalog, found: HeldRequest) -> _Fresh:
    """What of a request is to be made as of now. An upstream that is under way holds nothing back: it is there already, and
    should it move, its event asks again."""
    held = decode_cells(found.body)
    visit = Visit(tx, catalog, tx.now(), {})
    asking = judged(visit, steps_of(visit, _masks(visit, held)), regardless=True)
    cells = cells_of(asking)
    content = content_of(catalog, cells, visit.now, cell_limit=found.cell_limit, cause=found.cause, merged=found.merged)
    return _Fresh(visit, asking, cells, content, difference(held, cells, catalog))


def _masks(visit: Visit, cells: Mapping[CellRef, HeldCell]) -> dict[StepKey, Bools]:
    """The cells by step; those of assets and partitions that are gone are left out."""
    masks: dict[StepKey, Bools] = {}
    for cell in cells:
        asset = visit.catalog.by_id.get(cell.asset_id)
        if asset is None or asset.external:
            continue
        space = visit.catalog.space(asset.key, visit.now)
        at = space.find(cell.partition)
        if at is not None:
            masks.setdefault(asset.step, np.zeros(space.size, dtype=np.bool_))[at] = True
    return masks
