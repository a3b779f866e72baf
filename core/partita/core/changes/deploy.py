"""A deployment before it happens: candidate snapshots against the active ones, through to the cells.

Owns putting the parts together as an activation does: what a broken module defined is kept, the union must be sound, ids of
known assets stay. Reads through the readers of catalog and cells; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from partita.assets import AssetKey, PartitionSpace, Snapshot, snapshot_hash
from partita.core.catalog import (
    Catalog,
    KnownIdentities,
    StoredSnapshot,
    activation_problems,
    declared_keys,
    effective_snapshot,
)
from partita.core.catalog.identity import counted_definitions, follow_renames
from partita.core.cells import Statuses
from partita.core.cells.values import PUBLISHED, CellsReader
from partita.core.changes.ahead import AheadCells
from partita.core.changes.choices import SchemeChoices, choices_of
from partita.core.changes.compare import compare
from partita.core.changes.impact import Impact, impact_of
from partita.core.changes.values import Difference
from partita.core.decide.identity import Identities, contested, decide_identities
from partita.core.store.values import AssetId, LocationId, SnapshotId


@dataclass(frozen=True, slots=True)
class DeployDiff:
    """What activating the candidates would do. With `problems` it would be refused, and there is no impact."""

    differences: tuple[Difference, ...]
    problems: tuple[str, ...]
    impacts: tuple[Impact, ...]
    catalog: Catalog | None
    """As it would be; None with problems."""
    as_of: datetime
    choices: Mapping[AssetKey, SchemeChoices] = field(default_factory=dict)
    """What `keep`, `derive` and `restart` would come to, of assets whose partitions change and that hold something."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all changes."""
        return not self.problems and all(one.empty for one in self.differences)

    @property
    def costs(self) -> bool:
        """Whether cells become stale or get out of reach, or assets are removed."""
        return any(one.removed for one in self.differences) or any(
            one.stale or one.out_of_reach for one in self.impacts
        )

    def space_of(self, key: AssetKey) -> PartitionSpace | None:
        """The partitions of an asset as they would be; None when it would not exist, or with problems."""
        if self.catalog is None or key not in self.catalog.assets:
            return None
        return self.catalog.space(key, self.as_of)


def deploy_diff(
    active: Catalog,
    candidates: Sequence[Snapshot],
    known: KnownIdentities,
    reader: CellsReader,
    as_of: datetime,
) -> DeployDiff:
    """Compare candidates (one per location) with the active definitions. `known` are the identities of all assets ever seen."""
    stored = {one.location: one for one in active.snapshots}
    fresh = {
        one.location: _stored(one, stored.get(one.location), number) for number, one in enumerate(candidates, start=1)
    }
    ahead = _counted(list({**stored, **fresh}.values()), fresh, known)
    taken = _identities(ahead, known, reader)
    keys = {row.id: AssetKey(row.key) for row in known.rows}
    renamed = {keys[asset_id]: key for asset_id, key in taken.keys.items()}
    differences = [
        compare(stored[one.location].snapshot if one.location in stored else None, one.snapshot, as_of, renamed)
        for one in ahead
        if one.location in fresh
    ]
    problems = dict.fromkeys([*activation_problems([one.snapshot for one in ahead], as_of), *taken.problems])
    if problems:
        return DeployDiff(tuple(differences), tuple(problems), (), None, as_of)
    then = known.renamed(taken.keys)
    origins = {**{asset_id: keys[asset_id] for asset_id in taken.keys}, **known.origins()}
    snapshots = [
        replace(one, body=told)
        for one, told in zip(ahead, follow_renames([one.snapshot for one in ahead]), strict=True)
    ]
    catalog = Catalog(snapshots, _ids(snapshots, then.ids), active.keys, origins)
    now = Statuses(active, reader, as_of)
    impacts = impact_of(
        now,
        Statuses(catalog, AheadCells(reader, active, catalog, as_of), as_of),
        _touched(differences),
        renamed,
    )
    was = {after: before for before, after in renamed.items()}
    resliced = [change.key for one in differences for change in one.changed if change.partitions is not None]
    choices = {key: choices_of(now, catalog, was.get(key, key), key) for key in resliced}
    held = {key: one for key, one in choices.items() if one is not None}
    return DeployDiff(tuple(differences), (), tuple(impacts), catalog, as_of, held)


def _counted(
    snapshots: Sequence[StoredSnapshot], fresh: Mapping[str, StoredSnapshot], known: KnownIdentities
) -> list[StoredSnapshot]:
    """The definitions that would count. What a candidate defines is not retired, whatever was said before."""
    names = {one.location_id: one.location for one in snapshots}
    homes = {key: names[home] for key, home in known.homes.items() if home in names}
    declared = {spec.key for one in fresh.values() for spec in one.snapshot.assets}
    counted = counted_definitions([one.snapshot for one in snapshots], homes, known.retired - declared)
    return [replace(one, body=told) for one, told in zip(snapshots, counted, strict=True)]


def _identities(snapshots: Sequence[StoredSnapshot], known: KnownIdentities, reader: CellsReader) -> Identities:
    declared = declared_keys([one.snapshot for one in snapshots])
    asked = contested(declared, known.rows, known.former)
    held: dict[AssetId, int] = {}
    for asset_id, blocks in (reader.blocks(asked) if asked else {}).items():
        published = {
            key for block in blocks for key, flags in zip(block.keys, block.flags, strict=True) if flags & PUBLISHED
        }
        held[asset_id] = len(published)
    return decide_identities(declared, known.rows, known.former, held)


def _stored(candidate: Snapshot, previous: StoredSnapshot | None, number: int) -> StoredSnapshot:
    """The candidate as it would stand in the store; what has no id yet gets one that nobody has."""
    version = snapshot_hash(candidate)
    if previous is None:
        effective = effective_snapshot(candidate)
        location_id = LocationId(-number)
    else:
        effective = effective_snapshot(candidate, previous.snapshot, previous.version)
        location_id = previous.location_id
    return StoredSnapshot(location_id, candidate.location, SnapshotId(-number), version, effective.snapshot)


def _ids(snapshots: Iterable[StoredSnapshot], known: Mapping[AssetKey, AssetId]) -> dict[AssetKey, AssetId]:
    keys = [spec.key for one in snapshots for spec in one.snapshot.assets]
    fresh = (key for key in keys if key not in known)
    return {**known, **{key: AssetId(-number) for number, key in enumerate(fresh, start=1)}}


def _touched(differences: Sequence[Difference]) -> list[AssetKey]:
    return [
        key
        for one in differences
        for key in (
            *one.removed,
            *one.added,
            *(key for _, key in one.renamed),
            *(change.key for change in one.changed if not change.only_settings),
        )
    ]
