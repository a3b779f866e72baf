"""Pools and slots in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partita.core.store.encode import pool_set_of
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row
from partita.core.store.values import UNLIMITED_SLOTS, LocationId, Needs, Party, PausedBy, Pool, PoolUse, TaskId


class PoolsPart(MemoryPart):
    def scheduled_needs(self) -> list[Needs]:
        return [Needs(pool_set_of(text), queue) for text, queue in self._db.task.values_of("scheduled")]

    def lock_pools_skip(self, names: Sequence[str]) -> list[Pool]:
        rows = (self._db.pool.get(name) for name in sorted(set(names)))
        return [Pool(row["name"], row["slots"], _pause_of(row)) for row in rows if row is not None]

    def held_slots(self, names: Sequence[str]) -> dict[str, dict[Party, int]]:
        held: dict[str, dict[Party, int]] = {name: {} for name in sorted(set(names))}
        for name, parties in held.items():
            for row in self._db.pool_slot.find("pool", name):
                party = Party(row["lane"], row["fair_key"])
                parties[party] = parties.get(party, 0) + row["slots"]
        return held

    def hold_slots(self, uses: Iterable[tuple[TaskId, PoolUse]]) -> None:
        for task_id, use in uses:
            if use.name not in self._db.pool:
                raise self._violation(f"task {task_id} holds slots of the pool {use.name!r}, which does not exist")
            if use.slots <= 0:
                raise self._violation(f"task {task_id} holds {use.slots} slots of {use.name!r}: at least one")
            if (use.name, task_id) in self._db.pool_slot:
                raise self._violation(f"task {task_id} holds slots of {use.name!r} already")
            task = self._db.task.get(task_id) or {"lane": "", "fair_key": ""}
            self._db.pool_slot.put(
                {
                    "pool": use.name,
                    "task_id": task_id,
                    "slots": use.slots,
                    "since": self._now,
                    "lane": task["lane"],
                    "fair_key": task["fair_key"],
                }
            )

    def release_slots(self, task_ids: Sequence[TaskId]) -> None:
        for task_id in set(task_ids):
            for row in self._db.pool_slot.find("task", task_id):
                self._db.pool_slot.delete((row["pool"], row["task_id"]))

    def ensure_pools(self, pools: Iterable[Pool], *, automatic: bool) -> None:
        for pool in pools:
            if pool.name not in self._db.pool:
                self._put_pool(pool, automatic=automatic)

    def set_pool(self, pool: Pool) -> bool:
        present = self._db.pool.get(pool.name)
        if present is not None and present["slots"] == pool.slots:
            return False
        self._put_pool(pool, automatic=False)
        return True

    def configure_pools(self, pools: Iterable[Pool]) -> None:
        for pool in pools:
            present = self._db.pool.get(pool.name)
            if present is None or present["configured"] != pool.slots:
                self._put_pool(pool, automatic=False, configured=pool.slots)

    def set_caps(self, caps: Mapping[str, int | None]) -> None:
        for name, slots in caps.items():
            present = self._db.pool.get(name)
            if slots is None and present is not None:
                self._db.pool.put(present | {"slots": UNLIMITED_SLOTS})
            elif slots is not None and (present is None or present["slots"] != slots):
                self._put_pool(Pool(name, slots), automatic=True)

    def running_caps(self) -> dict[LocationId | None, str]:
        limited = {row["name"] for row in self._db.pool.rows.values() if row["slots"] < UNLIMITED_SLOTS}
        found: dict[LocationId | None, str] = {
            LocationId(row["id"]): f"location:{row['name']}"
            for row in self._db.location.rows.values()
            if f"location:{row['name']}" in limited
        }
        return found | ({None: "all"} if "all" in limited else {})

    def limit_of_new_runs(self) -> int | None:
        row = self._db.pool.get("run:*")
        return int(row["slots"]) if row is not None and row["slots"] < UNLIMITED_SLOTS else None

    def _put_pool(self, pool: Pool, *, automatic: bool, configured: int | None = None) -> None:
        if pool.slots < 0:
            raise self._violation(f"pool {pool.name!r}: {pool.slots} slots: zero or more")
        present = self._db.pool.get(pool.name) or {"name": pool.name, "description": "", "configured": None, **_GOES_ON}
        kept = present["configured"] if configured is None else configured
        self._db.pool.put(present | {"slots": pool.slots, "automatic": automatic, "configured": kept})


_GOES_ON = {"paused_by": None, "paused_at": None}


def _pause_of(row: Row) -> PausedBy | None:
    return None if row["paused_by"] is None else PausedBy(row["paused_by"], row["paused_at"])
