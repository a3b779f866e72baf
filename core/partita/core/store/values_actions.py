"""What people do to cells and tasks by hand, as the store records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NewType

from partita.core.store.values_ids import AssetId, CellRef, Fence
from partita.core.store.values_tasks import WaitReason

AuditId = NewType("AuditId", int)

EVERYTHING = AssetId(0)
"""In place of an asset: all assets, also those that come later."""

Told = tuple[WaitReason | None, Mapping[str, Any] | None]
"""Why a task waits, with what it is about; (None, None) for no reason any more."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing of this asset (or of all, under `EVERYTHING`) starts until somebody resumes it."""

    asset_id: AssetId
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class HandPublication:
    """A cell that holds this version because a person says so: of no attempt and no run."""

    cell: CellRef
    data_version: str
    fingerprint: str
    dependency_hash: str
    consumed_digest: int
    location: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptCell:
    """A cell that an action changed: the fence that it gave it, and the version that the cell held before."""

    cell: CellRef
    fence: Fence
    data_version: str | None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class DoomedFile:
    """A file that a wipe left without a pointer: the part of its location before `#`. `taken_at`: its removal has begun."""

    file: str
    audit_id: AuditId
    since: datetime
    taken_at: datetime | None = None
