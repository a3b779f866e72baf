"""Automatic requests above the limit: listed, shown as of now, approved as shown, rejected. What they mean is the core's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from partita.core.automation import Decision, RequestRefused, approve, reject, show
from partita.core.automation.values import Undecidable
from partita.core.planner import Reason
from partita.core.planner.words import WORDS
from partita.core.store.queries import api_requests as sql
from partita.core.store.queries.api_read import one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values_requests import RequestId
from partita.ui.api.models import (
    ApproveRequest,
    FaultView,
    RejectRequest,
    RequestAsset,
    RequestDecision,
    RequestDetail,
    RequestList,
    RequestView,
)
from partita.ui.api.problems import NotFound, NotWhatWasShown
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import cause_text, plural

Row = Mapping[str, Any]
_SHOWN = 200


class RequestService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(self, *, state: str | None = "awaiting_input", offset: int = 0, limit: int = 50) -> RequestList:
        """The newest first; of all states when `state` is None."""
        with self._backend.store.read() as reader:
            found = rows(reader, sql.LIST_REQUESTS, state=state, offset=offset, limit=limit)
            total = one(reader, sql.COUNT_REQUESTS, state=state)
        return RequestList(requests=[request_view(row) for row in found], total=0 if total is None else total["n"])

    def detail(self, request_id: int) -> RequestDetail:
        """With what differs as of now. Raises NotFound."""
        with self._backend.store.read() as reader:
            row = one(reader, sql.REQUEST, id=request_id)
        if row is None:
            raise NotFound(f"there is no request {request_id}", fix="partita requests list shows those that wait")
        try:
            with self._backend.store.begin(durable=False) as tx:
                changed = show(tx, self._backend.catalogs, RequestId(request_id)).changed or None
        except Undecidable as error:
            changed = f"what it would make now cannot be told: {error.why}"
        return RequestDetail(**request_view(row).model_dump(), changed=changed)

    def approve(self, request_id: int, body: ApproveRequest, *, traceparent: str | None = None) -> RequestDecision:
        """`traceparent`: of who approves. Raises NotFound, NotWhatWasShown (with the difference), RequestRefused."""
        shown = self.detail(request_id)
        if shown.state == "awaiting_input" and body.confirm_cells != shown.cells:
            raise _differs(
                f"{plural(body.confirm_cells, 'cell')} were confirmed, request {request_id} has {shown.cells:,}"
            )
        try:
            done = approve(
                self._backend.store,
                self._backend.catalogs,
                RequestId(request_id),
                revision=body.revision,
                by=self._backend.who,
                traceparent=traceparent,
            )
        except Undecidable as error:
            raise RequestRefused(
                f"request {request_id} cannot be decided now: {error.why}",
                rule="it is decided again when it is approved",
                fix="mend the definitions of its assets, then approve it again",
            ) from error
        self._backend.wake(done.channels)
        if done.changed:
            raise _differs(f"request {request_id} changed since it was shown: {done.changed}")
        return _decision(done)

    def reject(self, request_id: int, body: RejectRequest) -> RequestDecision:
        """Raises NotFound, RequestRefused."""
        self.detail(request_id)
        done = reject(
            self._backend.store, RequestId(request_id), revision=body.revision, by=self._backend.who, reason=body.reason
        )
        self._backend.wake(done.channels)
        return _decision(done)


def _differs(what: str) -> NotWhatWasShown:
    return NotWhatWasShown(what, rule="what runs is what was shown", fix="look at the request and confirm its count")


def _decision(done: Decision) -> RequestDecision:
    return RequestDecision(id=done.id, state=done.state.value, cells=done.cells, run_id=done.run_id)


def request_view(row: Row) -> RequestView:
    assets = [
        RequestAsset(key=one["asset"], cells=one["cells"], by_reason=one["by_reason"], partitions=one["partitions"])
        for one in row["preview"]
    ]
    reasons: Counter[str] = Counter()
    for asset in assets:
        reasons.update(asset.by_reason)
    return RequestView(
        sentence=request_sentence(row["cells"], len(assets), reasons),
        cause=cause_text(row["cause"]),
        by_reason=dict(reasons),
        assets=assets,
        before=int(row["cause"].get("before", 0)),
        **{
            name: row[name]
            for name in (
                "id", "state", "revision", "cells", "cell_limit", "merged", "created_at", "updated_at", "expires_at",
                "ended_at", "ended_by", "end_reason", "run_id",
            )
        },
    )  # fmt: skip


def request_sentence(cells: int, assets: int, by_reason: Mapping[str, int]) -> str:
    """`Materialize 700 cells of 2 assets: 690 stale, 10 missing`."""
    parts = [
        f"{count:,} {WORDS[Reason(reason)]}"
        for reason, count in sorted(by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return f"Materialize {plural(cells, 'cell')} of {plural(assets, 'asset')}: {', '.join(parts)}"


def fault_view(row: Row) -> FaultView:
    of_run = row["kind"] == "run"
    asset = None if of_run else row["asset"]
    return FaultView(
        subject=f"run {row['id']}" if of_run else asset or f"an asset that is gone ({row['id']})",
        asset=asset,
        run_id=row["id"] if of_run else None,
        **{name: row[name] for name in ("error", "tries", "since", "last_at", "next_at")},
    )


def waiting_for_people(reader: Reader) -> tuple[list[RequestView], list[FaultView]]:
    """The requests that await a person, and what automation cannot decide."""
    held = rows(reader, sql.LIST_REQUESTS, state="awaiting_input", offset=0, limit=_SHOWN)
    faults = rows(reader, sql.FAULTS, limit=_SHOWN)
    return [request_view(row) for row in held], [fault_view(row) for row in faults]
