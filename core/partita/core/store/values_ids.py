"""Ids of rows, the address of a cell, and shares of pools: what all other values of the store speak of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple, NewType

from partita.assets.queues import DEFAULT_QUEUE

AssetId = NewType("AssetId", int)
LocationId = NewType("LocationId", int)
SnapshotId = NewType("SnapshotId", int)
RunId = NewType("RunId", int)
TaskId = NewType("TaskId", int)
AttemptId = NewType("AttemptId", int)
BackfillId = NewType("BackfillId", int)
WorkerId = NewType("WorkerId", str)
Fence = NewType("Fence", int)


class Exclusive(IntEnum):
    """Duties that one scheduler does at a time; the numbers are those of the advisory locks (class 4)."""

    FOLD_TALLIES = 1
    EXPLAIN = 2
    FOLD_PAGES = 3
    ALERTS = 4
    RETENTION = 5


class CellRef(NamedTuple):
    """One cell: an asset's id and the stored key of a partition.

    A tuple, and so are the rows of tasks and cells beside it: a claim or a report hashes, compares and makes dozens of them for
    each task, which C does ten times as fast as the methods of a dataclass.
    """

    asset_id: AssetId
    partition: str


@dataclass(frozen=True, slots=True)
class PoolUse:
    name: str
    slots: int


class Needs(NamedTuple):
    """What a task waits for when it is ready: slots of all of these pools, and a worker of the queue to be alive."""

    pools: tuple[PoolUse, ...]
    queue: str = DEFAULT_QUEUE


UNLIMITED_SLOTS = 2**31 - 1
"""Of a cap that was taken away: its row stays, tasks hold slots of it."""


@dataclass(frozen=True, slots=True)
class PausedBy:
    """Who stopped something, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pool:
    """A `paused` pool admits nothing; what holds its slots keeps them."""

    name: str
    slots: int
    paused: PausedBy | None = None


class Party(NamedTuple):
    """Whose a task is when slots are shared out: its lane, and the key by which the lane's part is shared on."""

    lane: str
    key: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A share of capacity: by `weight` among the lanes that want the same slots; `reserved` (0 to under 1) of each pool is
    kept for it."""

    name: str
    weight: int = 1
    reserved: float = 0.0


BUILT_IN_LANES = (Lane("interactive", 4), Lane("scheduled", 4), Lane("backfill", 1))
"""What there is before anybody says otherwise: what people ask for, what comes due, and backfills (migration 0007)."""

READ_OF_A_PARTY = 8
"""So many waiting tasks of each party are read at least, however many parties share one limit."""


def read_of_each(limit: int, parties: int) -> int:
    """How many tasks of each party are read when up to `limit` of all of them are wanted: twice an even part of it, so that
    many parties do not make every visit read `limit` tasks of each.

    >>> read_of_each(500, 1), read_of_each(500, 2), read_of_each(500, 100), read_of_each(5, 100)
    (500, 500, 10, 5)
    """
    return min(limit, max(-(-2 * limit // max(parties, 1)), READ_OF_A_PARTY))
