"""The values of accepting: what a cell was made from, the change of that, and the record that allows to take it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NewType

from partita.core.store.values import CellRef, Fence

AcceptanceId = NewType("AcceptanceId", int)


@dataclass(frozen=True, slots=True)
class CellBasis:
    """What staleness compares of a published cell. None: never recorded. The digest is an unsigned 64 bit number."""

    fingerprint: str | None
    dependency_hash: str | None
    consumed_digest: int | None


@dataclass(frozen=True, slots=True)
class Rebase:
    """The basis of one cell, as it is expected to be and as it becomes; the data that it holds stays. An attempt at the cell
    raises its fence: one that was tried again since is not as expected, even when it came out the same."""

    cell: CellRef
    fence: Fence
    expect: CellBasis
    basis: CellBasis


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Who accepted what, why, and whether it was taken back. `cells` is how many were recorded."""

    id: AcceptanceId
    at: datetime
    who: str
    reason: str
    request: Mapping[str, Any]
    cells: int
    undone_at: datetime | None
    undone_by: str | None
