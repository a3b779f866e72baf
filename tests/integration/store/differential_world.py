"""What the random operations choose from: the tables of the memory store, odd texts, keys and partitions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

from partita.core.store.memory.tables import Database
from partita.core.store.port import Tx
from partita.core.store.values import (
    CellRef,
    LocationId,
    PoolUse,
    SnapshotId,
    TaskId,
    TaskState,
    WorkerId,
)

Op = Callable[[Tx], Any]

KEYS = ("raw/orders", "raw/flights", "clean/ö", "Zeta", "a b|c,d")
PARTITIONS = ("", "2026-03-01", "2026-03-02", "EWR|'\"\\", "Å/ß", "a", "B", "_", "日本")
WORKERS = tuple(WorkerId(f"w{n}") for n in range(4))
POOL_SETS = (
    (),
    (PoolUse("default", 1),),
    (PoolUse("warehouse", 2), PoolUse("default", 1)),
    (PoolUse("Größe", 3),),
)
QUEUES = ("default", "default", "gpu", "Gpu")
AS_OF = datetime(2026, 3, 2, 5, 0, 0, 123456, tzinfo=UTC)
U64 = (1 << 64) - 1


class World:
    """Picks from what exists. `db` is the memory store's, within the open transaction."""

    def __init__(self, random: Random, db: Database) -> None:
        self.random = random
        self.db = db

    def some(self, items: Any, most: int = 4) -> list[Any]:
        items = list(items)
        return self.random.sample(items, min(len(items), self.random.randint(0, most)))

    def one(self, items: Any) -> Any:
        return self.random.choice(list(items))

    def op(self, ops: list[Op]) -> Op:
        return self.random.choice(ops)

    def maybe(self, p: float = 0.5) -> bool:
        return self.random.random() < p

    def assets(self) -> list[int]:
        return sorted(self.db.asset.rows) or [1]

    def cell(self) -> CellRef:
        return CellRef(self.one(self.assets()), self.one(PARTITIONS))

    def cells(self, most: int = 4) -> list[CellRef]:
        return sorted({self.cell() for _ in range(self.random.randint(0, most))})

    def known_cells(self, most: int = 4) -> list[CellRef]:
        return [CellRef(*key) for key in self.some(sorted(self.db.cell.rows), most)]

    def tasks(self, most: int = 4) -> list[TaskId]:
        return self.some(sorted(self.db.task.rows), most)

    def open_tasks(self, most: int = 4) -> list[TaskId]:
        return self.some((row["id"] for row in self.db.task if not TaskState(row["state"]).terminal), most)

    def pins(self) -> list[tuple[LocationId, SnapshotId]]:
        return sorted((row["location_id"], row["id"]) for row in self.db.snapshot)

    def digest(self) -> int:
        return self.random.choice([0, 1, U64, 1 << 63, self.random.getrandbits(64)])

    def text(self) -> str:
        return self.random.choice(
            ["", "plain", "a\x00b", "lone \ud800 surrogate", "日本 'quoted' \\ % :name", "x" * 300]
        )
