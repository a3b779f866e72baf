"""From a claim to the wire and back: an attempt's request for the code-location server, and its events as a result.

Pure translation: no I/O and no decision. The asset's keys, specs and partitions come from the catalog that the run is pinned to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from partita.assets import PartitionSpace
from partita.assets.specs import canonical_json
from partita.core.catalog import Catalog
from partita.core.catalog.waits import UnknownWait, cell_of
from partita.core.decide.traces import traceparent
from partita.core.duties.values_attempts import (
    AddedKeys,
    AttemptResult,
    CellOutcome,
    CellResult,
    CheckResult,
    Claimed,
    ClaimedInput,
    Deferral,
)
from partita.core.store.values import AssetId, AttemptOutcome, CellFact, CellRef
from partita.grpc.v1 import code_location_pb2 as pb

_OUTCOMES: Mapping[int, AttemptOutcome] = {
    pb.Finished.SUCCESS: AttemptOutcome.SUCCESS,
    pb.Finished.FAILED: AttemptOutcome.FAILED,
    pb.Finished.RETRY_LATER: AttemptOutcome.RETRY_LATER,
    pb.Finished.TIMED_OUT: AttemptOutcome.TIMED_OUT,
    pb.Finished.CANCELLED: AttemptOutcome.CANCELLED,
    pb.Finished.LOST: AttemptOutcome.LOST,
    pb.Finished.VERSION_GONE: AttemptOutcome.VERSION_GONE,
    pb.Finished.SKIPPED: AttemptOutcome.SKIPPED,
    pb.Finished.FAILED_FOR_GOOD: AttemptOutcome.FAILED_FOR_GOOD,
    pb.Finished.DEFERRED: AttemptOutcome.DEFERRED,
}
_KINDS: Mapping[int, CellOutcome] = {
    pb.CellOutcome.WRITTEN: CellOutcome.WRITTEN,
    pb.CellOutcome.SKIPPED: CellOutcome.SKIPPED,
    pb.CellOutcome.FAILED: CellOutcome.FAILED,
}


def to_request(claimed: Claimed, version: str, catalog: Catalog, *, grace_s: float) -> pb.ExecuteRequest:
    """The ExecuteRequest of an attempt. Inputs that only order (kind "order") are not handed over."""
    return pb.ExecuteRequest(
        attempt_id=str(claimed.attempt_id),
        version=version,
        step=claimed.task.step,
        attempt_number=claimed.number,
        run_id=claimed.task.run_id,
        cells=[_target(item.cell, claimed.as_of, catalog) for item in claimed.cells],
        inputs=[_binding(one, claimed.as_of, catalog) for one in claimed.inputs if one.kind == "data"],
        params=json.dumps(dict(claimed.params)).encode() if claimed.params else b"",
        timeout_seconds=claimed.task.timeout_s or 0.0,
        grace_seconds=grace_s,
        fence=claimed.fence,
        events=[
            pb.WaitEvent(
                place=event.place,
                trigger=event.trigger,
                args=json.dumps(dict(event.args)).encode(),
                payload=json.dumps(event.payload).encode(),
            )
            for event in claimed.events
        ],
        traceparent=traceparent(claimed.trace_id, "attempt", claimed.attempt_id),
    )


def _target(cell: CellRef, as_of: datetime, catalog: Catalog) -> pb.TargetCell:
    key = catalog.by_id[cell.asset_id].key
    space = catalog.space(key, as_of)
    ordinal = space.find(cell.partition)
    window = space.window_at(ordinal) if ordinal is not None else None
    return pb.TargetCell(
        asset=key,
        partition=cell.partition,
        window_start_us=_micros(window.start) if window else 0,
        window_end_us=_micros(window.end) if window else 0,
    )


def _binding(claimed: ClaimedInput, as_of: datetime, catalog: Catalog) -> pb.InputBinding:
    upstream = catalog.by_id[claimed.upstream_asset_id]
    spec = upstream.spec
    facts: dict[CellRef, CellFact] = {
        fact.cell: fact for per_cell in claimed.facts.values() for fact in per_cell if fact.data_version is not None
    }
    space = catalog.space(upstream.key, as_of)
    ordered = sorted(facts.values(), key=lambda fact: _place(space, fact.cell.partition))
    return pb.InputBinding(
        name=claimed.name,
        upstream=upstream.key,
        io=spec.io or "",
        partitions_spec=canonical_json(spec.partitions) if spec.partitions else b"",
        cells=[
            pb.InputCell(
                partition=fact.cell.partition, data_version=fact.data_version or "", location=fact.location or ""
            )
            for fact in ordered
        ],
    )


def _place(space: PartitionSpace, partition: str) -> int:
    ordinal = space.find(partition)
    return space.size if ordinal is None else ordinal


def _micros(instant: datetime) -> int:
    # datetime arithmetic is exact; float timestamps lose microseconds in far years.
    delta = instant - datetime(1970, 1, 1, tzinfo=instant.tzinfo)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


class Outcomes:
    """Collects the events of one attempt; `result` makes the AttemptResult once it has ended."""

    def __init__(self, claimed: Claimed, catalog: Catalog) -> None:
        self._claimed = claimed
        self._catalog = catalog
        self._cells: dict[CellRef, CellResult] = {}
        self._checks: list[CheckResult] = []

    def add_cell(self, event: pb.CellOutcome) -> None:
        cell = self._ref(event.asset, event.partition)
        self._cells[cell] = CellResult(
            cell=cell,
            kind=_KINDS[event.kind],
            data_version=event.data_version or None,
            location=event.location or None,
            metadata=json.loads(event.metadata) if event.metadata else {},
            error=event.error or None,
        )

    def add_check(self, event: pb.CheckOutcome) -> None:
        self._checks.append(
            CheckResult(
                cell=self._ref(event.asset, event.partition),
                name=event.check,
                passed=event.passed,
                blocking=event.blocking,
                detail=json.loads(event.detail) if event.detail else {},
            )
        )

    def _ref(self, asset: str, partition: str) -> CellRef:
        return CellRef(self._catalog.asset(asset).id, partition)

    def result(self, finished: pb.Finished) -> AttemptResult:
        if finished.status == pb.Finished.DEFERRED:
            return self._deferred(finished)
        strange = [one.scheme for one in finished.added if one.scheme not in self._catalog.dynamic_schemes]
        if strange:
            error = f"it added keys to dynamic partitions {strange[0]!r}, which slice no loaded asset"
            return self._result(AttemptOutcome.FAILED_FOR_GOOD, error=error)
        return self._result(
            _OUTCOMES[finished.status],
            added=tuple(map(self._added, finished.added)),
            error=finished.error or None,
            traceback=finished.traceback or None,
            retry_in_s=finished.retry_in_seconds
            if finished.status == pb.Finished.RETRY_LATER and finished.retry_in_seconds >= 0
            else None,
            usage={"cpu_s": round(finished.cpu_seconds, 4), "peak_rss_bytes": finished.peak_rss_bytes},
        )

    def _added(self, added: pb.AddedKeys) -> AddedKeys:
        scheme = self._catalog.dynamic_schemes[added.scheme]
        sliced = [self._catalog.assets[key] for key in scheme.assets]
        own = {self._catalog.by_id[item.cell.asset_id].key for item in self._claimed.cells}
        mapped = not self._catalog.graph.descendants(*own).isdisjoint(scheme.assets)
        followers = tuple(one.id for one in sliced if one.automated)
        return AddedKeys(scheme.definition, tuple(added.keys), followers, mapped)

    def _deferred(self, finished: pb.Finished) -> AttemptResult:
        asked = finished.deferral
        args = json.loads(asked.args or b"{}")
        try:
            cell = cell_of(asked.trigger, args, self._catalog)
        except UnknownWait as unknown:
            return self._result(AttemptOutcome.FAILED_FOR_GOOD, error=str(unknown))
        deferral = Deferral(
            place=asked.place,
            trigger=asked.trigger,
            args=args,
            label=asked.label,
            deadline_s=asked.deadline_seconds,
            poll_s=asked.poll_seconds or None,
            cell=cell,
            newer=cell is not None and bool(args.get("newer")),
        )
        return self._result(AttemptOutcome.DEFERRED)._replace(deferral=deferral)

    def _result(
        self,
        outcome: AttemptOutcome,
        *,
        error: str | None = None,
        traceback: str | None = None,
        retry_in_s: float | None = None,
        usage: Mapping[str, object] | None = None,
        added: tuple[AddedKeys, ...] = (),
    ) -> AttemptResult:
        assets = _distinct(item.cell.asset_id for item in self._claimed.cells)
        return AttemptResult(
            task_id=self._claimed.task.id,
            attempt_id=self._claimed.attempt_id,
            fence=self._claimed.fence,
            outcome=outcome,
            cells=tuple(self._cells.values()),
            checks=tuple(self._checks),
            digests=self._claimed.digests,
            versions=self._claimed.versions,
            error=error,
            traceback=traceback,
            retry_in_s=retry_in_s,
            usage=usage,
            added=added,
            groups=(assets,) if len(assets) > 1 else (),
            automation_assets=self._catalog.automation_assets.intersection(assets),
        )


def lost_result(claimed: Claimed, why: str) -> AttemptResult:
    """The attempt ended without a result. Nothing that it reported is published: a group may be incomplete."""
    return AttemptResult(
        task_id=claimed.task.id,
        attempt_id=claimed.attempt_id,
        fence=claimed.fence,
        outcome=AttemptOutcome.LOST,
        digests=claimed.digests,
        versions=claimed.versions,
        error=why,
    )


def unreportable(result: AttemptResult, error: Exception) -> AttemptResult:
    """In place of a report that the store refuses: user code said something that cannot be kept, and would say it again."""
    return AttemptResult(
        task_id=result.task_id,
        attempt_id=result.attempt_id,
        fence=result.fence,
        outcome=AttemptOutcome.FAILED,
        digests=result.digests,
        versions=result.versions,
        error=f"its report could not be stored: {type(error).__name__}: {error}",
    )


def _distinct(ids: Iterable[AssetId]) -> tuple[AssetId, ...]:
    return tuple(dict.fromkeys(ids))
