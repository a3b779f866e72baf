"""Why nothing is made of an asset: all that may stand in the way of its next partition, looked up at once (S-250).

Owns the order in which hindrances bind, and their words. Each was decided elsewhere (law 5): here it is only found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from partita.assets import (
    DynamicPartitions,
    PartitionSpace,
    SelectionError,
    TimePartitions,
    UnknownAsset,
    UnknownPartition,
    from_spec,
    select_assets,
)
from partita.assets.partitions.time import TimeSpace
from partita.core.automation.timing import time_of
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.dynamic import dynamic_parts
from partita.core.decide import jobs as decide_jobs
from partita.core.decide.caps import asset_pool
from partita.core.store.queries import api_evaluators, api_requests, api_system
from partita.core.store.queries.api_read import Row, now, one, rows
from partita.core.store.queries.pause_read import PAUSES
from partita.core.store.queries.reader import Reader
from partita.core.store.values import SnapshotId
from partita.core.store.values_actions import EVERYTHING
from partita.core.store.values_jobs import Job
from partita.ui.api.models import AssetWhy, CellDecision, Reason, Why, WindowView
from partita.ui.api.services.approvals import request_reason
from partita.ui.api.services.asset_views import load_errors
from partita.ui.api.services.automation import AutomationService
from partita.ui.api.services.base import Backend
from partita.ui.api.services.cells import CellService, one_partition
from partita.ui.api.services.health import DOWN_S
from partita.ui.api.services.waits import holders_text
from partita.ui.api.services.windows import window_of, window_text, window_view
from partita.ui.api.services.words import cell_text, paused_text, wait_text

_NAMED = 3
_FAULTS_READ = 1_000
# What the latest partition itself lacks; that it is missing or stale is no reason for that.
_OF_CELLS = ("failed", "blocked_by_past", "upstream_missing", "upstream_absent", "upstream_unloaded")
_NEEDED = {"scheduler": "nothing is asked for and nothing starts", "worker": "what is asked for stays queued"}


class HindranceService:
    def __init__(self, backend: Backend, automation: AutomationService) -> None:
        self._backend = backend
        self._automation = automation
        self._cells = CellService(backend)

    def why(self, key: str, partition: str | None = None) -> AssetWhy:
        """Of the asset as a whole, or of one partition, which need not exist.

        Raises UnknownAsset, and UnknownPartition for a text that no partition of it could have."""
        catalog = self._backend.catalogs.active()
        jobs = self._backend.store.run(lambda tx: tx.jobs(), durable=False)
        with self._backend.store.read() as reader:
            at = now(reader)
            asset = _asset(reader, catalog, key)
            space = catalog.space(asset.key, at)
            absent = None if partition is None else _absent(space, partition, asset.key)
            latest = None if absent is not None else _latest(space, partition, asset.key)
            window = _window(space, latest if partition is not None else None, absent)
            found = [] if absent is None else [absent.reason]
            found += _Look(reader, catalog, asset, at, space, jobs).all()
        cell = None if latest is None or asset.external else self._cells.why(asset.key, latest)
        decision = None if latest is None else self._automation.of_cell(asset.key, latest)
        found += _of_latest(asset.key, cell, decision)
        if window is not None and partition is None:
            found.append(_reason("not_closed", f"{window.partition} {window_text(window)}", due_at=window.due_at))
        return AssetWhy(
            key=asset.key,
            partition=partition,
            sentence=_sentence(asset.key, partition, latest, cell, found),
            reasons=found,
            window=window,
            latest=latest,
            cell=cell,
            decision=decision,
        )


@dataclass(frozen=True, slots=True)
class _Absent:
    """Why a partition is none now; `ordinal` of the window that it will have."""

    reason: Reason
    ordinal: int | None


def _absent(space: PartitionSpace, text: str, key: str) -> _Absent | None:
    """None for a partition that exists. Raises UnknownPartition for what none could be."""
    try:
        one_partition(space, text, key)
    except UnknownPartition as unknown:
        inner = space if isinstance(space, TimeSpace) else None
        ordinal = None if inner is None else inner.naming(text)
        if inner is None or ordinal is None:
            raise
        told = "; ".join(part for part in (unknown.rule, unknown.fix) if part)
        if ordinal < 0:
            return _Absent(_reason("before_start", told), None)
        if inner.total is not None and ordinal >= inner.total:
            return _Absent(_reason("ended", told), None)
        return _Absent(_reason("not_closed", told, due_at=inner.due_at(ordinal)), ordinal)
    return None


def _latest(space: PartitionSpace, text: str | None, key: str) -> str | None:
    if text is not None:
        return one_partition(space, text, key)
    newest = space.latest(1)
    return str(space.key_at(newest.last)) if newest else None


def _window(space: PartitionSpace, existing: str | None, absent: _Absent | None) -> WindowView | None:
    """Of an existing partition, of one that will be, else of the next to come; None without time, or when none is left."""
    if existing is not None:
        return window_of(space, space.ordinal_of(existing))
    inner = time_of(space)
    if inner is None:
        return None
    at = inner.size if absent is None else absent.ordinal
    return None if at is None or (inner.total is not None and at >= inner.total) else window_view(inner, at)


def _asset(reader: Reader, catalog: Catalog, key: str) -> CatalogAsset:
    """Raises UnknownAsset, with the locations that do not load: it may be defined there."""
    try:
        return catalog.asset(key)
    except UnknownAsset as unknown:
        broken = [row for row in rows(reader, api_system.LOCATIONS) if _broken(row)]
        if not broken:
            raise
        names = ", ".join(str(row["name"]) for row in broken[:_NAMED])
        fix = f"it may be defined where definitions do not load: {names}; look with `partita locations`"
        raise UnknownAsset(unknown.what, rule=unknown.rule, fix="; ".join(filter(None, (unknown.fix, fix)))) from None


def _broken(row: Row) -> bool:
    return bool(row["error"]) or any(not module.get("ok", True) for module in row["modules"] or ())


class _Look:
    """What the tables say of one asset at one instant."""

    def __init__(
        self,
        reader: Reader,
        catalog: Catalog,
        asset: CatalogAsset,
        at: datetime,
        space: PartitionSpace,
        jobs: list[Job] | tuple[Job, ...],
    ) -> None:
        self._reader = reader
        self._catalog = catalog
        self._asset = asset
        self._at = at
        self._space = space
        self._jobs = jobs

    def all(self) -> list[Reason]:
        """The binding one first: what holds everything back, what holds the asset, what nobody asks for."""
        found = [*self._definitions()]
        if self._asset.external:
            return [*found, _reason("external", "partita does not make it: it records what others say of it")]
        found += [*self._pauses(), *self._partitions(), *self._processes()]
        return [*found, *self._fault(), *self._approval(), *self._cap(), *self._unasked()]

    def _definitions(self) -> Iterator[Reason]:
        locations = {row["name"]: row for row in rows(self._reader, api_system.LOCATIONS)}
        error = load_errors({name: row["modules"] for name, row in locations.items()}, self._catalog).get(
            self._asset.key
        )
        if error is not None:
            text = f"its module does not load, so it stands on its last good definition: {error}"
            yield _reason("load_error", text, location=self._asset.location)
        row = locations.get(self._asset.location)
        if row is not None and row["error"] and error is None:
            text = f"location {self._asset.location} does not load, so no change of its code arrives: {row['error']}"
            yield _reason("load_error", text, location=self._asset.location)

    def _pauses(self) -> Iterator[Reason]:
        for row in rows(self._reader, PAUSES):
            if row["asset_id"] not in (EVERYTHING, self._asset.id):
                continue
            told = {"asset": row["asset_id"], "by": row["paused_by"], "at": row["paused_at"], "why": row["reason"]}
            undo = "--all" if row["asset_id"] == EVERYTHING else f"'{self._asset.key}'"
            yield _reason("paused", f"{paused_text(told)}; `partita resume {undo}`", **told)

    def _partitions(self) -> Iterator[Reason]:
        if len(self._space):
            return
        empty = [part.name for part in dynamic_parts(self._space.definition) if not self._keys(part)]
        for name in empty:
            yield _reason(
                "no_keys",
                f"dynamic scheme {name!r} has no keys, so there is nothing to make: partita partitions add {name} KEY",
                scheme=name,
            )
        inner = time_of(self._space)
        if inner is None or inner.size:
            return
        scheme = inner.definition
        start = f"{scheme.start:%Y-%m-%d %H:%M} {scheme.tz}"
        ahead = inner.covers(0).start > self._at
        text = f"its partitions start at {start}, which is {'still to come' if ahead else 'not a whole window ago'}"
        moved = self._moved_start(scheme)
        if moved is not None:
            text += (
                f"; the version before started at {moved:%Y-%m-%d %H:%M}: a start that is computed from the clock moves away"
                " with each load, and no window ever closes; write a fixed date"
            )
        first = window_view(inner, 0)
        yield _reason(
            "not_started", f"{text}; the first one, {first.partition}, {window_text(first)}", due_at=first.due_at
        )

    def _keys(self, part: DynamicPartitions) -> bool:
        return bool(self._catalog.keys.keys.get(part.name, ()))

    def _moved_start(self, scheme: TimePartitions) -> datetime | None:
        """The start in the version that was active before, where it was an earlier one."""
        asset = self._asset
        active = next(found for found in self._catalog.snapshots if found.location_id == asset.location_id)
        row = one(self._reader, api_system.PREVIOUS_SNAPSHOT, location=active.location_id, active=active.snapshot_id)
        for before in self._reader.snapshots([SnapshotId(row["id"])]) if row is not None else ():
            spec = next((found for found in before.snapshot.assets if found.key == asset.key), None)
            was = None if spec is None or spec.partitions is None else from_spec(spec.partitions)
            if isinstance(was, TimePartitions) and was.start < scheme.start:
                return was.start
        return None

    def _processes(self) -> Iterator[Reason]:
        servers = rows(self._reader, api_system.CODE_SERVERS)
        if not any(row["live"] for row in servers if row["location_id"] == self._asset.location_id):
            yield _reason(
                "location_down",
                f"no code server of location {self._asset.location} is alive: start `partita code-server`",
                location=self._asset.location,
            )
        alive = {row["kind"] for row in rows(self._reader, api_system.COMPONENTS) if row["silent_s"] < DOWN_S}
        for kind, symptom in _NEEDED.items():
            if kind not in alive:
                yield _reason(f"no_{kind}", f"no {kind} is alive, so {symptom}: start `partita {kind}`")

    def _fault(self) -> Iterator[Reason]:
        for row in rows(self._reader, api_requests.FAULTS, limit=_FAULTS_READ):
            if (row["kind"], row["id"]) == ("asset", self._asset.id):
                text = f"automation cannot decide about it since {row['since']:%Y-%m-%d %H:%M} UTC: {row['error']}"
                yield _reason("fault", text, tries=row["tries"], again_at=row["next_at"])

    def _approval(self) -> Iterator[Reason]:
        for row in rows(self._reader, api_requests.REQUESTS_OF_ASSET, asset_id=self._asset.id)[:1]:
            yield request_reason(row)

    def _cap(self) -> Iterator[Reason]:
        name = asset_pool(self._asset.key)
        for row in rows(self._reader, api_system.POOLS):
            if row["name"] == name and row["held"] >= row["slots"]:
                told = wait_text("asset_cap", {"asset": self._asset.key, "max_active": row["slots"]})
                text = f"what comes next {told}{holders_text(self._reader, name)}"
                yield _reason("max_active", text, max_active=row["slots"])

    def _unasked(self) -> Iterator[Reason]:
        asset = self._asset
        if asset.automated or asset.spec.on_code_change == "rebuild":
            return
        naming = [job for job in self._jobs if self._names(job)]
        others = [
            row["name"]
            for row in rows(self._reader, api_evaluators.LIST_EVALUATORS, kind=None, retired=False)
            if row["location"] == asset.location and row["kind"] != "observe" and not row["spec"].get("tasks")
        ]
        text = f"nothing asks for it by itself: it has no automation=, and {_jobs_text(naming, self._at)}"
        if others:
            text += (
                f"; schedules and sensors of its location ask for what their code says ({', '.join(others[:_NAMED])})"
            )
        yield _reason("unasked", f"{text}; a person asks by `partita materialize '{asset.key}'`")

    def _names(self, job: Job) -> bool:
        try:
            return self._asset.key in select_assets(self._catalog.graph, str(job.request.get("selection", "")))
        except (SelectionError, UnknownAsset):
            return False  # its page says what is wrong with it


def _jobs_text(naming: list[Job], at: datetime) -> str:
    if not naming:
        return "no job selects it"
    told = []
    for job in naming[:_NAMED]:
        ticks = decide_jobs.fires(job, at, 1)
        when = "paused" if job.paused_at else f"next at {ticks[0]:%Y-%m-%d %H:%M} UTC" if ticks else "by hand only"
        told.append(f"{job.name} ({when})")
    return f"only a job does: {', '.join(told)}"


def _of_latest(key: str, cell: Why | None, decision: CellDecision | None) -> list[Reason]:
    if cell is None:
        return []
    found = [told for told in cell.reasons if told.code in _OF_CELLS]
    task = cell.open_task
    if task is not None:
        told = f": it {task.reason.text}" if task.reason is not None else ""
        code = task.reason.code if task.reason is not None else "in_progress"
        found.append(_reason(code, f"task {task.id} of run {task.run_id} is {task.state.replace('_', ' ')}{told}"))
    if decision is not None and decision.decision in ("rests", "waits", "asked"):
        found.append(_reason(f"condition_{decision.decision}", decision.sentence))
    return found


def _sentence(key: str, partition: str | None, latest: str | None, cell: Why | None, found: list[Reason]) -> str:
    name = cell_text(key, partition or "")
    if partition is not None and cell is None and found:
        return f"{name} is no partition now: {found[0].text}"
    state = None if cell is None else cell.state
    if state in ("fresh", "unchanged"):
        reached = f"{key} is {state} to {latest}" if latest else f"{key} is {state}"
        more = next((one.text for one in found if one.code == "not_closed"), None)
        return f"{reached}; {more}" if more and partition is None else reached
    return f"nothing is made of {name}: {found[0].text}" if found else f"nothing stands in the way of {name}"


def _reason(code: str, text: str, **evidence: object) -> Reason:
    shown: Mapping[str, object] = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in evidence.items()
    }
    return Reason(code=code, text=text, evidence=dict(shown) or None, upstream=None)
