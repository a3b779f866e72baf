"""Ids of rows, the address of a cell, and shares of pools: what all other values of the store speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

AssetId = NewType("AssetId", int)
LocationId = NewType("LocationId", int)
SnapshotId = NewType("SnapshotId", int)
RunId = NewType("RunId", int)
TaskId = NewType("TaskId", int)
AttemptId = NewType("AttemptId", int)
BackfillId = NewType("BackfillId", int)
WorkerId = NewType("WorkerId", str)
Fence = NewType("Fence", int)


@dataclass(frozen=True, slots=True, order=True)
class CellRef:
    """One cell: an asset's id and the stored key of a partition."""

    asset_id: AssetId
    partition: str


@dataclass(frozen=True, slots=True)
class PoolUse:
    name: str
    slots: int


UNLIMITED_SLOTS = 2**31 - 1
"""Of a cap that was taken away: its row stays, tasks hold slots of it."""


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    slots: int
