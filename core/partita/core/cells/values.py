"""What readers of cells get: blocks of columns per asset, open cells, and the details of single cells.

A block is a run of cells in key order, as packed in one page; later blocks of an asset override earlier ones (changes that
are not folded yet). Nothing here reads or decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from partita.core.cells.keys import KeyColumn
from partita.core.store.values import AssetId, CellRef, TaskId, TaskState

Hashes = npt.NDArray[np.uint64]
Ids = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.uint8]

PUBLISHED = 1
"""The flag of a cell that holds a data version; the outcome of its last attempt stands in the bits above."""
OUTCOME_SHIFT = 1


class Outcome(IntEnum):
    """How the last attempt at a cell ended, as stored in `cell.last_outcome`."""

    NONE = 0
    PUBLISHED = 1
    UNCHANGED = 2
    SKIPPED = 3
    FAILED = 4
    CANCELLED = 5
    LOST = 6


class CellRow(NamedTuple):
    """One row of `cell`, as far as status needs it."""

    partition: str
    data_version: str | None
    fingerprint_id: int | None
    dependency_hash_id: int | None
    consumed_digest: int | None
    last_outcome: str | None


@dataclass(frozen=True, slots=True, eq=False)
class CellBlock:
    """Cells as columns. `fingerprint` and `dependency` are interned ids, 0 = not recorded; `digest` 0 = none consumed."""

    names: KeyColumn
    hash: Hashes
    digest: Hashes
    fingerprint: Ids
    dependency: Ids
    flags: Flags

    def __len__(self) -> int:
        return self.names.n

    @property
    def keys(self) -> tuple[str, ...]:
        """The partitions, in order."""
        return self.names.keys

    @property
    def token(self) -> bytes:
        """Equal for equal keys: what caches of ordinals go by."""
        return self.names.token


@dataclass(frozen=True, slots=True)
class OpenCell:
    """The non-terminal task that owns a cell."""

    task_id: TaskId
    state: TaskState


@dataclass(frozen=True, slots=True)
class CellDetail:
    """All that is known of one cell; instants are aware UTC."""

    cell: CellRef
    data_version: str | None
    location: str | None
    metadata: Mapping[str, Any] | None
    published_at: datetime | None
    version_at: datetime | None
    published_attempt: int | None
    published_run: int | None
    attempt_started_at: datetime | None
    """When the attempt that published the cell read its inputs; None when its row is archived."""
    last_outcome: str | None
    last_attempt: int | None
    last_attempt_at: datetime | None
    last_error: str | None
    inputs: tuple[Mapping[str, Any], ...] = field(default=())


class CellsReader(Protocol):
    """Reads cells; all answers of one reader come from one snapshot of the database."""

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        """The cells of these assets, pages first, then what is not folded into them yet."""

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        """The open cells of these assets, by partition."""

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        """The interned ids of these fingerprints; those never stored are left out."""

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """The details of these cells; unknown ones are left out."""
