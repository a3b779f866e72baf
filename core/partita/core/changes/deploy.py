"""A deployment before it happens: candidate snapshots against the active ones, through to the cells.

Owns putting the parts together as an activation does: what a broken module defined is kept, the union must be sound, ids of
known assets stay. Reads through the readers of catalog and cells; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.assets import AssetKey, PartitionSpace, Snapshot, snapshot_hash
from partita.core.catalog import Catalog, StoredSnapshot, activation_problems, effective_snapshot
from partita.core.cells import Statuses
from partita.core.cells.values import CellsReader
from partita.core.changes.compare import compare
from partita.core.changes.impact import Impact, impact_of
from partita.core.changes.values import Difference
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
    ids: Mapping[AssetKey, AssetId],
    reader: CellsReader,
    as_of: datetime,
) -> DeployDiff:
    """Compare candidates (one per location) with the active definitions. `ids` are those of all assets ever seen."""
    stored = {one.location: one for one in active.snapshots}
    ahead = dict(stored)
    differences = []
    for number, candidate in enumerate(candidates, start=1):
        previous = stored.get(candidate.location)
        fresh = _stored(candidate, previous, number)
        ahead[candidate.location] = fresh
        differences.append(compare(previous.snapshot if previous is not None else None, fresh.snapshot, as_of))
    problems = activation_problems([one.snapshot for one in ahead.values()], as_of)
    if problems:
        return DeployDiff(tuple(differences), tuple(problems), (), None, as_of)
    catalog = Catalog(ahead.values(), _ids(ahead.values(), ids))
    impacts = impact_of(Statuses(active, reader, as_of), Statuses(catalog, reader, as_of), _touched(differences))
    return DeployDiff(tuple(differences), (), tuple(impacts), catalog, as_of)


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
        for key in (*one.removed, *one.added, *(change.key for change in one.changed if not change.only_settings))
    ]
