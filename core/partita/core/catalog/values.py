"""The values that a catalog is made of, and the port through which definitions are read. Reads nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from partita.assets import AssetKey, AssetSpec, InputSpec, Snapshot
from partita.assets import Mapping as PartitionMapping
from partita.core.catalog.body import AssetHead, StoredBody
from partita.core.store.values import AssetId, LocationId, RunId, SnapshotId

if TYPE_CHECKING:
    from partita.core.catalog.identity import KnownIdentities

Vector = tuple[tuple[LocationId, SnapshotId], ...]
"""Which snapshot of each location is meant, sorted by location."""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot in the store: `body` is the effective one, `version` its content hash as the server knows it.

    `kept` names the assets whose module does not load in this version, with the older snapshot that defines each:
    their tasks are pinned to that one. A body in its stored form is read as far as somebody asks.
    """

    location_id: LocationId
    location: str
    snapshot_id: SnapshotId
    version: str
    body: Snapshot | StoredBody
    kept: Mapping[AssetKey, tuple[SnapshotId, str]] = field(default_factory=dict)
    activated_at: datetime | None = None
    """When it was made active the last time: its keys mean the assets that had them then."""

    @property
    def nodes(self) -> Sequence[AssetSpec | AssetHead]:
        """All assets by key, as far as the graph asks; `spec` has the rest."""
        return self.body.assets if isinstance(self.body, Snapshot) else self.body.nodes

    def spec(self, place: int) -> AssetSpec:
        """The whole definition of the asset at a place in `nodes`."""
        return self.body.assets[place] if isinstance(self.body, Snapshot) else self.body.spec(place)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot as a whole: at 10,000 assets reading a stored one takes a good part of a second."""
        return self.body if isinstance(self.body, Snapshot) else self.body.whole


@dataclass(frozen=True, slots=True)
class CatalogInput:
    """One input of an asset. An external upstream that nobody observes has a constant version and is never read."""

    name: str
    upstream: AssetKey
    upstream_id: AssetId
    mapping: PartitionMapping
    kind: str
    external: bool
    spec: InputSpec


@dataclass(frozen=True, slots=True)
class CatalogAsset:
    """An asset of the union of snapshots: its id, where it is defined, and what it needs."""

    id: AssetId
    key: AssetKey
    spec: AssetSpec
    location: str
    location_id: LocationId
    snapshot_id: SnapshotId
    version: str
    step: StepKey
    inputs: tuple[CatalogInput, ...]
    dependency_hash: str
    """As in the spec, but by the first keys of upstreams that were renamed: what cells are compared with."""
    unresolved: tuple[InputSpec, ...] = ()
    """Inputs from locations that were never loaded here: nothing can be planned until they are."""

    @property
    def external(self) -> bool:
        """Not made by partita: never planned."""
        return self.spec.kind == "external"

    @property
    def constant(self) -> bool:
        """Taken as present with a version that never moves (DESIGN section 5)."""
        return self.external and not self.spec.observed

    @property
    def automated(self) -> bool:
        """Asked for without a person, when its condition holds."""
        return self.spec.automation.type != "manual"

    @property
    def debounce_s(self) -> float:
        """For how long publications are gathered before its condition is looked at; 0: it is looked at at once."""
        return self.spec.automation.debounce_s if self.spec.automation.type == "condition" else 0.0

    @property
    def keeps_latest(self) -> bool:
        """Whether a look asks for no more than the newest of its partitions."""
        return self.spec.automation.type == "condition" and self.spec.automation.keep_latest

    @property
    def timed(self) -> bool:
        """Has a clock: time may make its condition true."""
        return self.spec.automation.type == "condition"


class StepKey(NamedTuple):
    """A step: its id is unique within its location."""

    location_id: LocationId
    id: str


class DefinitionsReader(Protocol):
    """Reads definitions; the statements are `store.queries.definitions_of_catalogs`."""

    def active_vector(self) -> Vector:
        """The active snapshot of each location that has one."""

    def run_vectors(self, run_ids: Iterable[RunId]) -> Mapping[RunId, tuple[Vector, int]]:
        """What each of these runs is pinned to, with the revision of dynamic keys that it sees."""

    def snapshots(self, ids: Iterable[SnapshotId]) -> list[StoredSnapshot]:
        """These snapshots; unknown ids are left out."""

    def identities(self) -> KnownIdentities:
        """The id of every asset ever seen, former keys, homes and retirements."""

    def identity_stamp(self) -> int:
        """A number that rises with every change of an identity; cheap to ask."""

    def keys_revision(self) -> int:
        """The present revision of the keys of dynamic schemes."""

    def dynamic_keys(self, schemes: Iterable[str], revision: int) -> Mapping[str, Sequence[str]]:
        """The keys of these schemes at a revision, in order of their addition."""
