"""Pools and the slots that tasks hold of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partita.core.store.encode import pool_set_of
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values import UNLIMITED_SLOTS, LocationId, Needs, Party, PausedBy, Pool, PoolUse, TaskId

# A skip scan of the partial index task_scheduled: its cost is the number of pool sets and queues, not of scheduled tasks.
SCHEDULED_NEEDS = text("""
    WITH RECURSIVE needs(pool_set, queue) AS (
        (SELECT pool_set, queue FROM task WHERE state = 'scheduled' ORDER BY pool_set, queue LIMIT 1)
        UNION ALL
        SELECT f.pool_set, f.queue FROM needs n
        CROSS JOIN LATERAL (
            SELECT t.pool_set, t.queue FROM task t
            WHERE t.state = 'scheduled' AND (t.pool_set, t.queue) > (n.pool_set, n.queue)
            ORDER BY t.pool_set, t.queue LIMIT 1
        ) f
    )
    SELECT pool_set, queue FROM needs ORDER BY pool_set, queue
""")

# Only locks. Counting is HELD_SLOTS' work, in the next statement: this one's snapshot may be older than the lock
# (measured: 160 admitted into 100 slots; DESIGN section 6, "Admission").
LOCK_POOLS = text("""
    SELECT name, slots, paused_by, paused_at FROM pool WHERE name = ANY(CAST(:names AS text[]))
    ORDER BY name FOR NO KEY UPDATE SKIP LOCKED
""")

HELD_SLOTS = text("""
    SELECT pool, lane, fair_key, sum(slots) FROM pool_slot WHERE pool = ANY(CAST(:names AS text[]))
    GROUP BY pool, lane, fair_key
""")

HOLD_SLOTS = text("""
    INSERT INTO pool_slot (pool, task_id, slots, lane, fair_key)
    SELECT u.pool, u.task_id, u.slots, coalesce(t.lane, ''), coalesce(t.fair_key, '')
    FROM unnest(CAST(:pools AS text[]), CAST(:tasks AS bigint[]), CAST(:slots AS integer[])) AS u(pool, task_id, slots)
    LEFT JOIN task t ON t.id = u.task_id
""")

RELEASE_SLOTS = text("DELETE FROM pool_slot WHERE task_id = ANY(CAST(:ids AS bigint[]))")

ENSURE_POOLS = text("""
    INSERT INTO pool (name, slots, automatic)
    SELECT u.name, u.slots, :automatic FROM unnest(CAST(:names AS text[]), CAST(:slots AS integer[])) AS u(name, slots)
    ON CONFLICT DO NOTHING
""")

SET_POOL = text("""
    INSERT INTO pool (name, slots) VALUES (:name, :slots)
    ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, automatic = false WHERE pool.slots <> excluded.slots
""")

CONFIGURE_POOLS = text("""
    INSERT INTO pool (name, slots, configured)
    SELECT u.name, u.slots, u.slots FROM unnest(CAST(:names AS text[]), CAST(:slots AS integer[])) AS u(name, slots)
    ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, configured = excluded.configured, automatic = false
    WHERE pool.configured IS DISTINCT FROM excluded.configured
""")

SET_CAPS = text("""
    INSERT INTO pool (name, slots, automatic)
    SELECT u.name, u.slots, true FROM unnest(CAST(:names AS text[]), CAST(:slots AS integer[])) AS u(name, slots)
    ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, automatic = true WHERE pool.slots <> excluded.slots
""")
LIFT_CAPS = text("UPDATE pool SET slots = :unlimited WHERE name = ANY(CAST(:names AS text[])) AND slots <> :unlimited")

# `;` follows `:` in the order of code points, which is that of names.
RUNNING_CAPS = text("""
    SELECT NULL AS location_id, name FROM pool WHERE name = 'all' AND slots < :unlimited
    UNION ALL
    SELECT l.id, p.name FROM pool p JOIN location l ON l.name = substr(p.name, length('location:') + 1)
    WHERE p.name >= 'location:' AND p.name < 'location;' AND p.slots < :unlimited
""")

LIMIT_OF_NEW_RUNS = text("SELECT slots FROM pool WHERE name = 'run:*' AND slots < :unlimited")


class PoolsPart(PostgresPart):
    def scheduled_needs(self) -> list[Needs]:
        return [Needs(pool_set_of(row[0]), row[1]) for row in self._rows(SCHEDULED_NEEDS)]

    def lock_pools_skip(self, names: Sequence[str]) -> list[Pool]:
        rows = self._rows(LOCK_POOLS, names=sorted(set(names)))
        return [Pool(name, slots, None if by is None else PausedBy(by, at)) for name, slots, by, at in rows]

    def held_slots(self, names: Sequence[str]) -> dict[str, dict[Party, int]]:
        held: dict[str, dict[Party, int]] = {name: {} for name in sorted(set(names))}
        for pool, lane, key, slots in self._rows(HELD_SLOTS, names=list(held)):
            held[pool][Party(lane, key)] = int(slots)
        return held

    def hold_slots(self, uses: Iterable[tuple[TaskId, PoolUse]]) -> None:
        rows = sorted(uses, key=lambda use: (use[1].name, use[0]))
        if rows:
            self._execute(
                HOLD_SLOTS,
                pools=[use.name for _, use in rows],
                tasks=[task_id for task_id, _ in rows],
                slots=[use.slots for _, use in rows],
            )

    def release_slots(self, task_ids: Sequence[TaskId]) -> None:
        self._execute(RELEASE_SLOTS, ids=sorted(set(task_ids)))

    def ensure_pools(self, pools: Iterable[Pool], *, automatic: bool) -> None:
        rows: list[Pool] = ordered(pools, lambda pool: pool.name, "ensure_pools")
        if rows:
            names, slots = [pool.name for pool in rows], [pool.slots for pool in rows]
            self._execute(ENSURE_POOLS, names=names, slots=slots, automatic=automatic)

    def set_pool(self, pool: Pool) -> bool:
        return self._execute(SET_POOL, name=pool.name, slots=pool.slots) == 1

    def configure_pools(self, pools: Iterable[Pool]) -> None:
        rows: list[Pool] = ordered(pools, lambda pool: pool.name, "configure_pools")
        if rows:
            self._execute(CONFIGURE_POOLS, names=[pool.name for pool in rows], slots=[pool.slots for pool in rows])

    def set_caps(self, caps: Mapping[str, int | None]) -> None:
        limited = {name: caps[name] for name in sorted(caps) if caps[name] is not None}
        if limited:
            self._execute(SET_CAPS, names=list(limited), slots=list(limited.values()))
        if len(limited) < len(caps):
            self._execute(LIFT_CAPS, names=sorted(caps.keys() - limited.keys()), unlimited=UNLIMITED_SLOTS)

    def running_caps(self) -> dict[LocationId | None, str]:
        return {row[0]: row[1] for row in self._rows(RUNNING_CAPS, unlimited=UNLIMITED_SLOTS)}

    def limit_of_new_runs(self) -> int | None:
        rows = self._rows(LIMIT_OF_NEW_RUNS, unlimited=UNLIMITED_SLOTS)
        return int(rows[0][0]) if rows else None
