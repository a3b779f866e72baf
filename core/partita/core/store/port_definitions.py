"""The second half of the store port: definitions, code servers, plans and cell pages (written by loads, people and folds)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from partita.core.store.values import AssetId, AttemptId, CellRef, Fence, LocationId, SnapshotId
    from partita.core.store.values_accept import Acceptance, AcceptanceId, Rebase
    from partita.core.store.values_definitions import (
        CellPage,
        CodeServer,
        LocationState,
        PageRef,
        PlanId,
        QueuedPin,
        StoredPlan,
        StoredSnapshot,
    )
    from partita.core.store.values_dynamic import EndedKey, KeyLife, NewKey, RenewedKey
    from partita.core.store.values_identity import AssetRow, CellWindow, DerivedCell, FormerCell, FormerKey


class DefinitionsTx(Protocol):
    """Operations of `Tx` on definitions; kept apart because no duty on tasks needs them."""

    # -- locations and snapshots
    def put_location(self, name: str) -> LocationId:
        """The id of the location of this name, made when it is new."""

    def set_location_state(
        self, location_id: LocationId, state: LocationState, *, error: str | None, modules: Sequence[Mapping[str, Any]]
    ) -> None:
        """`state_since` moves only when the state does; SERVING sets `loaded_at`."""

    def lock_locations(self) -> dict[LocationId, SnapshotId | None]:
        """All locations with their active snapshots, locked in id order: an activation checks the union under this lock."""

    def put_snapshot(
        self, location_id: LocationId, hash: str, *, body: bytes, effective: bytes, kept: Sequence[Mapping[str, Any]]
    ) -> tuple[SnapshotId, bool]:
        """The snapshot's id and whether it is new. One with an equal hash stands as it is: nothing is written (S-055)."""

    def read_snapshots(self, ids: Sequence[SnapshotId]) -> list[StoredSnapshot]: ...

    def activate_snapshot(self, location_id: LocationId, snapshot_id: SnapshotId) -> None:
        """Notes the instant: its keys are the keys of then. Violation when the snapshot is not one of the location."""

    # -- assets
    def intern_assets(self, keys: Iterable[str]) -> dict[str, AssetId]:
        """The stable ids of these keys; unknown keys get one."""

    def define_assets(
        self, location_id: LocationId, snapshot_id: SnapshotId, keys: Iterable[str]
    ) -> dict[str, AssetId]:
        """Interns the keys and records that this snapshot of this location defines them; they are not retired (again)."""

    def retire_assets(self, location_id: LocationId, keep: AbstractSet[str]) -> list[AssetId]:
        """Retires the assets that this location defined and that are not in `keep`; returns them. Cells stay."""

    # -- identity (call these with the locations locked: activations do)
    def read_assets(self) -> list[AssetRow]:
        """Every asset ever seen, by id."""

    def former_keys(self) -> list[FormerKey]:
        """Every key that an asset had before, in the order of the renames."""

    def published_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        """How many cells of each of these assets hold a data version."""

    def open_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        """How many cells of each of these assets are owned by a task that has not ended."""

    def rename_assets(self, keys: Mapping[AssetId, str], who: str) -> None:
        """Gives these assets new keys, all at once (two may change places), and notes the former ones. Violation when an
        asset is unknown, or a key belongs to another one."""

    def set_home(self, asset_id: AssetId, location_id: LocationId, who: str) -> None:
        """Notes where an asset belongs; Violation when there is no such location."""

    def retire_by_hand(self, ids: Iterable[AssetId], who: str) -> list[AssetId]:
        """Retires those that are not retired, and returns them. Cells stay."""

    def forget_assets(self, ids: Iterable[AssetId]) -> None:
        """Deletes what these assets hold and what is noted of it, for good: cells and their pages, former and kept ones, checks,
        requests, clocks, deadlines, pauses. Their rows stay, for the runs that made them. Call it with their pages locked."""

    # -- schemes (ADR 10)
    def set_schemes(self, schemes: Mapping[AssetId, tuple[str, Any]]) -> None:
        """Notes the scheme of each asset as (hash, JSON); equal hashes are one scheme."""

    def lock_schemes(self, ids: Iterable[AssetId]) -> dict[AssetId, str]:
        """The hash of the scheme of each of these assets, as far as it is recorded. Waits for activations that define them;
        those that come later wait for the end of this transaction."""

    def windowed_cells(self, asset_id: AssetId) -> list[CellWindow]:
        """All rows of `cell` of an asset, by partition: what was never published may be, with the window that its row has."""

    def former_cells(self, asset_id: AssetId) -> list[FormerCell]:
        """What was set aside of an asset, oldest first."""

    def set_aside(self, asset_id: AssetId, cells: Sequence[CellWindow], fence: Fence) -> int:
        """Copies the last success of these cells under the asset's scheme to the former cells, and empties them: nobody
        below `fence` publishes there. `cells` give the windows of the new scheme; where it has no such key,
        the row keeps its window. Returns how many held something. Appends
        cell_change."""

    def bring_back(self, asset_id: AssetId, cells: Sequence[FormerCell], fence: Fence) -> int:
        """Moves former cells back where nothing is published; returns how many. Appends cell_change."""

    def scheme_spec(self, hash: str) -> Any:
        """The JSON of an interned scheme (None for an unpartitioned asset, too); None when it is unknown."""

    def derive_cells(self, asset_id: AssetId, cells: Sequence[DerivedCell], fence: Fence) -> int:
        """Publishes cells where nothing is published, of no attempt and no run, making their rows where there are none; returns
        how many. The former cells stay. Nobody below `fence` publishes there afterwards. Appends cell_change."""

    # -- code servers
    def put_code_server(
        self, server_id: str, location_id: LocationId, address: str, versions: Sequence[str], lease_s: float
    ) -> None: ...

    def renew_code_server(self, server_id: str, lease_s: float) -> bool:
        """False when it is unknown: it must be put again."""

    def remove_code_server(self, server_id: str) -> None: ...

    def live_code_servers(self) -> list[CodeServer]:
        """Those whose lease has not expired, by id."""

    def queued_pins(self) -> list[QueuedPin]:
        """The versions that queued tasks wait for, with each queue of them. No lock."""

    # -- plans
    def save_plan(
        self, hash: str, *, request: Mapping[str, Any], as_of: datetime, body: bytes, keep_s: float
    ) -> PlanId: ...

    def load_plan(self, plan_id: PlanId) -> StoredPlan | None:
        """None when it never was or has expired."""

    def find_plan(self, hash_prefix: str) -> StoredPlan | None:
        """The newest plan whose hash begins so and that has not expired. `hash_prefix` is hexadecimal."""

    def expire_plans(self) -> int:
        """Deletes the expired ones; returns how many."""

    # -- cell pages
    def take_cell_changes(self, limit: int) -> set[CellRef]:
        """Deletes up to `limit` changes, oldest first, skipping locked ones, and returns their cells."""

    def lock_pages(self, assets: Iterable[AssetId]) -> dict[AssetId, list[str]]:
        """The first keys of the pages of these assets, ascending. Waits for other folds of them, in id order (advisory locks:
        there may be no page)."""

    def read_pages(self, pages: Iterable[PageRef]) -> dict[PageRef, CellPage]:
        """These pages; those that are not there are left out."""

    def replace_pages(self, removed: Iterable[PageRef], pages: Iterable[CellPage]) -> None:
        """Deletes the pages `removed`, then inserts or replaces `pages`. Call it with their assets locked."""

    # -- acceptances
    def rebase_cells(self, rebases: Sequence[Rebase]) -> set[CellRef]:
        """Moves what published cells are recorded to be made from, where it is as expected; returns the cells where it was.
        Appends cell_change. Call it with the cells locked."""

    def insert_acceptance(
        self, who: str, reason: str, request: Mapping[str, Any], rebases: Sequence[Rebase]
    ) -> AcceptanceId:
        """The record of what `rebase_cells` did. Violation without a reason."""

    def lock_acceptance(self, acceptance_id: AcceptanceId) -> Acceptance | None:
        """FOR UPDATE; None when it never was."""

    def accepted_cells(self, acceptance_id: AcceptanceId) -> list[Rebase]:
        """In (asset, partition) order."""

    def end_acceptance(self, acceptance_id: AcceptanceId, who: str) -> None:
        """Notes that `who` took it back; the first time stands."""

    # -- keys of dynamic schemes
    def lock_keys_revision(self) -> int:
        """The present revision, FOR UPDATE: every change of keys waits for the one before it."""

    def set_keys_revision(self, revision: int) -> None:
        """Compare-and-set: Conflict unless it rises."""

    def count_keys(self, scheme: str) -> int:
        """How many keys a scheme has now, without those past their time."""

    def read_keys(self, scheme: str, keys: Collection[str]) -> list[KeyLife]:
        """Of these keys those that have not ended (they may be past their time), by key."""

    def due_keys(self, limit: int) -> list[KeyLife]:
        """Keys past their time that have not ended, by the instant, scheme and key."""

    def insert_keys(self, revision: int, keys: Sequence[NewKey]) -> None:
        """Violation when one of them is there."""

    def renew_keys(self, keys: Sequence[RenewedKey]) -> None:
        """Conflict when one of them is not there."""

    def end_keys(self, revision: int, keys: Sequence[EndedKey], by: str) -> None:
        """Conflict when one of them is not there; Violation when the revision is the one that added it. The rows stay."""

    # -- processes
    def note_attempt_process(self, attempt_id: AttemptId, pid: int) -> None:
        """The child that runs a live attempt (for people; nothing decides by it)."""

    def put_component(
        self, component_id: str, kind: str, name: str, pid: int, counts: Mapping[str, Any] | None = None
    ) -> None:
        """Registers a process for the System page, or says that it still lives."""

    def remove_component(self, component_id: str) -> None: ...
