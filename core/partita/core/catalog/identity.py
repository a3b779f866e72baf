"""Who is who among the definitions: ids of keys at the time of a snapshot, and which definitions count.

Pure. Owns three rules of ADR 10: an older snapshot means the assets that its keys were when it was active; a reference to a
former key is one to the asset which says `renamed_from` it, as long as it says so; of two definitions the one counts that
stands where the asset was moved to. Decides no rename: `decide/identity.py` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from partita.assets import AssetKey, AssetSpec, Snapshot
from partita.core.catalog.values import StoredSnapshot
from partita.core.store.values import AssetId, LocationId
from partita.core.store.values_identity import AssetRow, FormerKey


@dataclass(frozen=True, slots=True)
class KnownIdentities:
    """What the store knows of identities at one instant. `stamp` rises with every rename, move and retirement by hand."""

    ids: Mapping[AssetKey, AssetId]
    former: Sequence[FormerKey] = ()
    homes: Mapping[AssetKey, LocationId] = field(default_factory=dict)
    retired: frozenset[AssetKey] = frozenset()
    stamp: int = 0
    rows: Sequence[AssetRow] = ()

    @classmethod
    def of(cls, rows: Iterable[AssetRow], former: Sequence[FormerKey], stamp: int = 0) -> KnownIdentities:
        """From the rows of the store."""
        known = list(rows)
        return cls(
            ids={AssetKey(row.key): row.id for row in known},
            former=former,
            homes={AssetKey(row.key): row.home_id for row in known if row.home_id is not None},
            retired=frozenset(AssetKey(row.key) for row in known if row.retired_at is not None),
            stamp=stamp,
            rows=known,
        )

    def ids_of(self, snapshots: Iterable[StoredSnapshot]) -> Mapping[AssetKey, AssetId]:
        """The ids that the keys of these snapshots stand for: those of the instants at which each was active last."""
        if not self.former:
            return self.ids
        found = dict(self.ids)
        for one in snapshots:
            since = one.activated_at
            if since is None:
                continue
            later = {row.key: row.asset_id for row in reversed(self.former) if row.until > since}  # the earliest wins
            found.update((node.key, later[node.key]) for node in one.nodes if node.key in later)
        return found

    def renamed(self, keys: Mapping[AssetId, AssetKey]) -> KnownIdentities:
        """As it would be once these assets had these keys; the former ones are not noted."""
        rows = [row._replace(key=keys.get(row.id, row.key)) for row in self.rows]
        return KnownIdentities.of(rows, self.former, self.stamp)

    def origins(self) -> dict[AssetId, AssetKey]:
        """The first key of every asset that had another one: what dependency hashes go by."""
        return {row.asset_id: AssetKey(row.key) for row in reversed(self.former)}


def active_definitions(snapshots: Sequence[StoredSnapshot], known: KnownIdentities) -> list[StoredSnapshot]:
    """The active snapshots with the definitions that count, references to former keys followed."""
    if _as_they_stand(snapshots, known):
        return list(snapshots)
    names = {one.location_id: one.location for one in snapshots}
    homes = {key: names[home] for key, home in known.homes.items() if home in names}
    counted = counted_definitions([one.snapshot for one in snapshots], homes, known.retired)
    return [replace(one, body=told) for one, told in zip(snapshots, follow_renames(counted), strict=True)]


def _as_they_stand(snapshots: Sequence[StoredSnapshot], known: KnownIdentities) -> bool:
    """Whether nothing was moved, retired or is referred to by a former key: the usual case, which the heads of assets show."""
    nodes = [node for one in snapshots for node in one.nodes]
    keys = {node.key for node in nodes}
    former = {key for node in nodes for key in node.renamed_from} - keys
    return (
        len(keys) == len(nodes)
        and keys.isdisjoint(known.retired)
        and not (former and any(one.upstream in former for node in nodes for one in node.inputs))
    )


def counted_definitions(
    snapshots: Sequence[Snapshot], homes: Mapping[AssetKey, str], retired: Collection[AssetKey] = ()
) -> list[Snapshot]:
    """Without what was retired by hand, and without the definitions of moved assets that their new location defines, too."""
    times = Counter(spec.key for one in snapshots for spec in one.assets) if homes else Counter[AssetKey]()
    defined = {(one.location, spec.key) for one in snapshots for spec in one.assets} if homes else set()
    moved = {key for key, home in homes.items() if times[key] > 1 and (home, key) in defined}
    return [_without(one, {key for key in moved if homes[key] != one.location} | set(retired)) for one in snapshots]


def follow_renames(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """References to a former key of an asset become references to the asset, unless an asset has that key."""
    now = {former: spec.key for one in snapshots for spec in one.assets for former in spec.renamed_from}
    if now:
        for one in snapshots:
            for spec in one.assets:
                now.pop(spec.key, None)
    return [_following(one, now) for one in snapshots] if now else list(snapshots)


def _without(snapshot: Snapshot, keys: Collection[AssetKey]) -> Snapshot:
    if not keys or not any(spec.key in keys for spec in snapshot.assets):
        return snapshot
    steps = (
        step.model_copy(update={"assets": tuple(key for key in step.assets if key not in keys)})
        for step in snapshot.steps
    )
    return snapshot.model_copy(
        update={
            "assets": tuple(spec for spec in snapshot.assets if spec.key not in keys),
            "steps": tuple(step for step in steps if step.assets),
            "checks": tuple(check for check in snapshot.checks if check.asset not in keys),
        }
    )


def _following(snapshot: Snapshot, now: Mapping[AssetKey, AssetKey]) -> Snapshot:
    if not any(one.upstream in now for spec in snapshot.assets for one in spec.inputs):
        return snapshot
    return snapshot.model_copy(update={"assets": tuple(_redirected(spec, now) for spec in snapshot.assets)})


def _redirected(spec: AssetSpec, now: Mapping[AssetKey, AssetKey]) -> AssetSpec:
    if not any(one.upstream in now for one in spec.inputs):
        return spec
    inputs = (
        one.model_copy(update={"upstream": now[one.upstream]}) if one.upstream in now else one for one in spec.inputs
    )
    return spec.model_copy(update={"inputs": tuple(inputs)})
