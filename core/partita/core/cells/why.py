"""Why a cell is in its state: reasons for people, naming the upstream that moved or is not there.

The digest says that something moved; times and the upstreams' own status only explain what. Reads through `CellsReader`,
decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from partita.assets import AssetKey, split_key
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.upstreams import upstream_cells
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.cells.values import CellDetail, CellsReader
from partita.core.store.values import CellRef, TaskId

_NAMED = 5
"""How many upstream cells of one input are named."""


@dataclass(frozen=True, slots=True)
class CellReason:
    """One reason. `code` is one of missing stale_code stale_data stale_dependencies upstream_stale upstream_missing
    blocked_by_past upstream_absent upstream_unloaded failed skipped in_progress."""

    code: str
    text: str
    upstream: AssetKey | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The state of a cell, one sentence, and its reasons, the binding one first."""

    key: AssetKey
    partition: str
    state: str
    sentence: str
    reasons: tuple[CellReason, ...]
    open_task: TaskId | None


def why(catalog: Catalog, reader: CellsReader, as_of: datetime, key: str, partition: str) -> Why:
    """Explain one cell; raises UnknownAsset or UnknownPartition."""
    asset = catalog.asset(key)
    statuses = Statuses(catalog, reader, as_of)
    status = statuses.status(asset.key)
    ordinal = status.space.ordinal_of(partition)
    ref = CellRef(asset.id, partition)
    owner = reader.open_cells([asset.id]).get(asset.id, {}).get(partition)
    detail = reader.details([ref]).get(ref)
    reasons: list[CellReason] = []
    if owner is not None:
        reasons.append(CellReason("in_progress", f"task {owner.task_id} is {owner.state}"))
    if not asset.external:
        reasons += _last_attempt(status, ordinal, detail)
        reasons += _held(statuses, reader, status, ordinal, detail)
        reasons += _not_there(statuses, status, ordinal)
        reasons += _above(statuses, reader, status, ordinal)
    state = status.state_at(ordinal)
    name = _cell_name(asset.key, partition)
    tail = "; ".join(one.text for one in reasons)
    sentence = f"{name} is {state.replace('_', ' ')}" + (f": {tail}" if tail else "")
    return Why(asset.key, partition, state, sentence, tuple(reasons), owner.task_id if owner is not None else None)


class DetailsReader(Protocol):
    """The part of `CellsReader` that explaining needs."""

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """The details of these cells; unknown ones are left out."""


def moved_upstreams(
    statuses: Statuses, reader: DetailsReader, asset: CatalogAsset, ordinal: int, detail: CellDetail | None
) -> list[tuple[AssetKey, str]]:
    """The upstream cells whose version moved after the attempt that made this cell had read them, newest first."""
    if detail is None:
        return []
    since = detail.attempt_started_at or detail.published_at
    if since is None:
        return []
    found: list[tuple[datetime, AssetKey, str]] = []
    for one in asset.inputs:
        if one.external:
            continue
        refs = upstream_cells(statuses.catalog, asset, statuses.as_of, ordinal)[one.name]
        for ref, upstream in reader.details(refs).items():
            if upstream.version_at is not None and upstream.version_at >= since:
                found.append((upstream.version_at, one.upstream, ref.partition))
    return list(dict.fromkeys((key, partition) for _, key, partition in sorted(found, reverse=True)))


def _last_attempt(status: AssetStatus, ordinal: int, detail: CellDetail | None) -> Iterator[CellReason]:
    if status.failed[ordinal]:
        yield CellReason("failed", f"its last attempt failed{_said(detail)}")
    elif status.skipped[ordinal] and not status.held.published[ordinal]:
        yield CellReason("skipped", "its last attempt chose to produce nothing")


def _said(detail: CellDetail | None) -> str:
    """What an attempt that failed said, in one line: of keys above the cap of fan-out their number, the cap and the way out."""
    error = (detail.last_error or "").strip().partition("\n")[0] if detail is not None else ""
    return f": {error}" if error else ""


def _held(
    statuses: Statuses, reader: CellsReader, status: AssetStatus, ordinal: int, detail: CellDetail | None
) -> Iterator[CellReason]:
    if status.missing[ordinal]:
        yield CellReason("missing", "it was never materialized")
        return
    if status.stale_code[ordinal]:
        yield CellReason("stale_code", "its code changed")
    if status.stale_dependencies[ordinal]:
        yield CellReason("stale_dependencies", "what it depends on changed")
    if status.stale_data[ordinal]:
        moved = moved_upstreams(statuses, reader, status.asset, ordinal, detail)
        if not moved:
            yield CellReason("stale_data", "its inputs hold other versions than those it was made from")
        for key, partition in moved[:_NAMED]:
            yield CellReason("stale_data", f"{_cell_name(key, partition)} changed", key, partition)
        if len(moved) > _NAMED:
            yield CellReason("stale_data", f"{len(moved) - _NAMED} more upstream partitions changed")


def _not_there(statuses: Statuses, status: AssetStatus, ordinal: int) -> Iterator[CellReason]:
    for unresolved in status.asset.unresolved:
        yield CellReason(
            "upstream_unloaded",
            f"{unresolved.upstream} of location {unresolved.location} was never loaded",
            unresolved.upstream,
        )
    for one in status.asset.inputs:
        edge = statuses.edge(status.asset, one)
        if edge.absent[ordinal] and one.upstream != status.asset.key:
            needed = edge.mapped(ordinal)
            more = (
                f" and {needed.absent_count - len(needed.absent)} more"
                if needed.absent_count > len(needed.absent)
                else ""
            )
            verb = "does" if needed.absent_count == 1 else "do"
            text = f"it needs {one.upstream} {', '.join(needed.absent)}{more}, which {verb} not exist"
            yield CellReason("upstream_absent", text, one.upstream)


def _above(statuses: Statuses, reader: CellsReader, status: AssetStatus, ordinal: int) -> Iterator[CellReason]:
    """Missing upstreams of the cell itself, and the root of each stale one."""
    for one in status.asset.inputs:
        if one.external:
            continue
        bad = _first_bad(statuses, status, one.name, ordinal)
        if bad is None:
            continue
        above, at = bad
        name = _cell_name(one.upstream, above.space.key_at(at))
        if above.missing[at] and one.upstream == status.asset.key:
            text = f"its own earlier partition {above.space.key_at(at)} is missing{_tried(reader, above, at)}"
            yield CellReason("blocked_by_past", text, one.upstream, above.space.key_at(at))
        elif above.missing[at]:
            text = f"{name} is missing{_tried(reader, above, at)}"
            yield CellReason("upstream_missing", text, one.upstream, above.space.key_at(at))
        elif status.held.published[ordinal]:
            root_key, root = _root(statuses, above, at)
            through = "" if root_key == one.upstream else f" because {_cell_name(root_key, root)} is"
            yield CellReason("upstream_stale", f"{name} is stale{through}", root_key, root)


def _tried(reader: CellsReader, status: AssetStatus, ordinal: int) -> str:
    """Whether somebody tried to make what is missing: then that is what to look at."""
    if not status.failed[ordinal]:
        return ""
    ref = CellRef(status.asset.id, str(status.space.key_at(ordinal)))
    return f"; its last attempt failed{_said(reader.details([ref]).get(ref))}"


def _first_bad(statuses: Statuses, status: AssetStatus, name: str, ordinal: int) -> tuple[AssetStatus, int] | None:
    one = next(found for found in status.asset.inputs if found.name == name)
    above = statuses.status(one.upstream)
    bad = above.lacking
    for start, stop in statuses.edge(status.asset, one).ranges_of(ordinal):
        hits = bad[start:stop].nonzero()[0]
        if len(hits):
            return above, start + int(hits[0])
    return None


def _root(statuses: Statuses, status: AssetStatus, ordinal: int) -> tuple[AssetKey, str]:
    """Follow what is stale upwards to the first cell that is itself missing or stale."""
    while not (status.missing[ordinal] or status.stale[ordinal]):
        found = (_first_bad(statuses, status, one.name, ordinal) for one in status.asset.inputs if not one.external)
        following = next((bad for bad in found if bad is not None), None)
        if following is None:
            break
        status, ordinal = following
    return status.asset.key, str(status.space.key_at(ordinal))


def _cell_name(key: str, partition: str) -> str:
    return f"{key} {' × '.join(split_key(partition) or (partition,))}" if partition else key
