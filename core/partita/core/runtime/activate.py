"""The activation of a version: what was loaded becomes what is active, in one transaction, or nothing changes.

Owns the order: what broken modules keep, which definitions count, whether the union is sound, who is who, then the writes. Each
of these is decided by a pure function of `catalog` and `decide`; a refusal is the answer, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from partita.assets import AssetKey, Snapshot
from partita.assets.specs import canonical_json
from partita.core.automation import changed_rebuilds, wanted_clocks
from partita.core.catalog import (
    ActivationRefused,
    check_activation,
    declared_keys,
    effective_snapshot,
    kept_of,
    read_snapshot,
)
from partita.core.catalog.effective import Effective
from partita.core.catalog.identity import counted_definitions
from partita.core.decide.caps import asset_pool
from partita.core.decide.evaluators import loaded
from partita.core.decide.identity import contested, decide_identities
from partita.core.freshness import wanted_policies
from partita.core.runtime.rescheme import Rescheme, take_schemes
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, LocationId, NewEvent, Pool, SnapshotId
from partita.core.store.values_definitions import StoredSnapshot
from partita.core.store.values_identity import AssetRow

_UNCONFIGURED_POOL_SLOTS = 4
"""A pool that an asset names and nobody has configured protects something: it starts small."""


@dataclass(frozen=True, slots=True)
class Activated:
    """What became of a version. With `problem` it is not active and nothing was written."""

    problem: str = ""
    assets: int = 0
    kept: int = 0
    retired: tuple[AssetId, ...] = ()
    renamed: Mapping[str, str] | None = None
    """New key -> the key before."""
    schemes: tuple[Rescheme, ...] = ()
    """The assets whose partition scheme changed."""


def activate(tx: Tx, location: str, candidate: Snapshot, version: str, body: bytes) -> Activated:
    """Makes a version the active one of its location."""
    location_id = tx.put_location(location)
    active = tx.lock_locations()
    stored = {one.id: one for one in tx.read_snapshots([one for one in active.values() if one is not None])}
    previous = _active_of(location_id, active, stored)
    effective = _effective(candidate, previous)
    rows = tx.read_assets()
    others = [
        (other, read_snapshot(stored[snapshot].effective))
        for other, snapshot in active.items()
        if snapshot is not None and other != location_id
    ]
    *elsewhere, here = _counted(others, (location_id, effective.snapshot), rows)
    try:
        check_activation([*elsewhere, here], tx.now())
        renamed = _take_keys(tx, [*elsewhere, here], rows, location)
    except ActivationRefused as refused:
        return Activated(str(refused))
    snapshot_id, _ = tx.put_snapshot(
        location_id, version, body=body, effective=canonical_json(effective.snapshot), kept=effective.kept_json()
    )
    tx.activate_snapshot(location_id, snapshot_id)
    keys = [asset.key for asset in here.assets]
    ids = tx.define_assets(location_id, snapshot_id, keys)
    before = None if previous is None else Snapshot.model_validate_json(previous.effective)
    schemes = take_schemes(tx, here, before, ids, rows)
    retired = tx.retire_assets(location_id, set(keys))
    policies, without = wanted_policies(here.assets, ids)
    tx.set_freshness(policies, [*without, *retired])  # before the clocks, as a look at freshness that moves them
    wanted, unwanted = wanted_clocks(here.assets, ids)
    tx.set_clocks(wanted, [*unwanted, *retired])
    _put_evaluators(tx, location_id, candidate, snapshot_id)
    _ensure_pools(tx, here)
    tx.append_events(
        [
            NewEvent(kind="location", body={"location": location, "version": version, "assets": len(keys)}),
            *changed_rebuilds(() if before is None else before.assets, here.assets, ids),
        ]
    )
    tx.release_faults()  # what could not be decided may be mended now
    for one in schemes:
        tx.audit(f"location {location}", "scheme_change", asdict(one))
    return Activated(
        assets=len(keys),
        kept=len(effective.kept),
        retired=tuple(retired),
        renamed=renamed,
        schemes=tuple(schemes),
    )


def _effective(candidate: Snapshot, previous: StoredSnapshot | None) -> Effective:
    if previous is None:
        return effective_snapshot(candidate)
    before = read_snapshot(previous.effective)
    return effective_snapshot(candidate, before, previous.hash, kept_of(previous.kept))


def _active_of(
    location_id: LocationId, active: Mapping[LocationId, SnapshotId | None], stored: Mapping[SnapshotId, StoredSnapshot]
) -> StoredSnapshot | None:
    snapshot = active.get(location_id)
    return stored[snapshot] if snapshot is not None else None


def _counted(
    others: Sequence[tuple[LocationId, Snapshot]], own: tuple[LocationId, Snapshot], rows: Sequence[AssetRow]
) -> list[Snapshot]:
    """The definitions that count; what this location defines is not retired (again), whatever was said before."""
    names = {location_id: snapshot.location for location_id, snapshot in (*others, own)}
    homes = {AssetKey(row.key): names[row.home_id] for row in rows if row.home_id in names}
    retired = {AssetKey(row.key) for row in rows if row.retired_at is not None}
    mine = {spec.key for spec in own[1].assets}
    return counted_definitions([snapshot for _, snapshot in (*others, own)], homes, retired - mine)


def _take_keys(tx: Tx, union: Sequence[Snapshot], rows: Sequence[AssetRow], location: str) -> dict[str, str]:
    """Renames what is to be renamed; raises ActivationRefused."""
    declared, former = declared_keys(union), tx.former_keys()
    held = tx.published_counts(contested(declared, rows, former))
    found = decide_identities(declared, rows, former, held)
    if found.problems:
        raise ActivationRefused(
            "; ".join(found.problems), rule="an asset keeps its history under one key", fix="the version before stays active",
            problems=found.problems,
        )  # fmt: skip
    before = {row.id: row.key for row in rows}
    tx.rename_assets(found.keys, f"location {location}")
    return {key: before[asset_id] for asset_id, key in found.keys.items()}


def _put_evaluators(tx: Tx, location_id: LocationId, candidate: Snapshot, snapshot_id: SnapshotId) -> None:
    known = tx.lock_evaluators_of(location_id)
    if not known and not candidate.evaluators:
        return
    broken = {module.name for module in candidate.modules if not module.ok}
    _, position = tx.read_news(None, (), (), 0)
    rows = loaded(candidate.evaluators, known, snapshot_id=snapshot_id, broken=broken, now=tx.now(), position=position)
    tx.put_evaluators(location_id, rows)


def _ensure_pools(tx: Tx, snapshot: Snapshot) -> None:
    named = {use.name for asset in snapshot.assets for use in asset.pools}
    automatic = {name for name in named if ":" in name}  # `duckdb:<name>`: one writer
    tx.ensure_pools([Pool(name, 1) for name in sorted(automatic)], automatic=True)
    tx.ensure_pools([Pool(name, _UNCONFIGURED_POOL_SLOTS) for name in sorted(named - automatic)], automatic=False)
    tx.set_caps({asset_pool(asset.key): asset.max_active for asset in snapshot.assets})
