"""The clocks of automated assets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values_clocks import Clock, ClockUpdate, Gathered
from partita.core.store.values_ids import AssetId

_CLOCK = "asset_id, condition, since, looked_at, next_at, pending, pending_at"

SET_CLOCKS = text("""
    INSERT INTO automation_clock AS c (asset_id, condition, since, looked_at, next_at)
    SELECT u.asset_id, u.condition, now(), NULL, now()
    FROM unnest(CAST(:assets AS bigint[]), CAST(:conditions AS text[])) AS u(asset_id, condition)
    ORDER BY u.asset_id
    ON CONFLICT (asset_id) DO UPDATE SET condition = excluded.condition, next_at = now()
    WHERE c.condition <> excluded.condition
""")

DELETE_CLOCKS = text("DELETE FROM automation_clock WHERE asset_id = ANY(CAST(:assets AS bigint[]))")

TAKE_DUE_CLOCKS = text(f"""
    SELECT {_CLOCK} FROM automation_clock WHERE next_at <= now() ORDER BY next_at, asset_id LIMIT :limit
    FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - a constant of this module

CLOCKS_OF = text(f"SELECT {_CLOCK} FROM automation_clock WHERE asset_id = ANY(CAST(:assets AS bigint[]))")  # noqa: S608 - as above

WRITE_CLOCKS = text("""
    UPDATE automation_clock c
    SET looked_at = u.looked_at, next_at = u.next_at,
        pending = CASE WHEN u.keep THEN c.pending END, pending_at = CASE WHEN u.keep THEN c.pending_at END
    FROM unnest(CAST(:assets AS bigint[]), CAST(:looked AS timestamptz[]), CAST(:nexts AS timestamptz[]),
                CAST(:keeps AS boolean[]))
         AS u(asset_id, looked_at, next_at, keep)
    WHERE c.asset_id = u.asset_id
""")

# Locked in the order of ids, as whoever takes clocks holds several of them.
GATHER = text("""
    WITH u AS (
        SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:keys AS jsonb[]), CAST(:ats AS timestamptz[]))
                      AS u(asset_id, keys, at)
    ), locked AS (
        SELECT c.asset_id, c.pending, coalesce(c.pending_at, u.at) AS at, u.keys
        FROM u JOIN automation_clock c ON c.asset_id = u.asset_id ORDER BY c.asset_id FOR NO KEY UPDATE OF c
    )
    UPDATE automation_clock c
    SET pending = (SELECT jsonb_agg(DISTINCT k.key COLLATE "C" ORDER BY k.key COLLATE "C")
                   FROM jsonb_array_elements_text(coalesce(l.pending, '[]') || l.keys) AS k(key)),
        pending_at = l.at, next_at = least(c.next_at, l.at)
    FROM locked l WHERE c.asset_id = l.asset_id
    RETURNING c.asset_id
""")


class ClocksPart(PostgresPart):
    def set_clocks(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        if unwanted:
            self._execute(DELETE_CLOCKS, assets=sorted(set(unwanted)))
        if wanted:
            assets = sorted(wanted)
            self._execute(SET_CLOCKS, assets=assets, conditions=[wanted[one] for one in assets])

    def take_due_clocks_skip(self, limit: int) -> list[Clock]:
        return [_clock(row) for row in self._rows(TAKE_DUE_CLOCKS, limit=limit)]

    def clocks_of(self, assets: Collection[AssetId]) -> dict[AssetId, Clock]:
        found = [_clock(row) for row in self._rows(CLOCKS_OF, assets=sorted(set(assets)))] if assets else []
        return {one.asset_id: one for one in found}

    def gather(self, gathered: Sequence[Gathered]) -> set[AssetId]:
        rows: list[Gathered] = ordered(gathered, lambda one: one.asset_id, "gather")
        if not rows:
            return set()
        found = self._rows(
            GATHER,
            assets=[one.asset_id for one in rows],
            keys=[to_json(list(one.keys)) for one in rows],
            ats=[one.at for one in rows],
        )
        return {AssetId(row[0]) for row in found}

    def write_clocks(self, updates: Sequence[ClockUpdate]) -> None:
        rows: list[ClockUpdate] = ordered(updates, lambda one: one.asset_id, "write_clocks")
        if rows:
            written = self._execute(
                WRITE_CLOCKS,
                assets=[one.asset_id for one in rows],
                looked=[one.looked_at for one in rows],
                nexts=[one.next_at for one in rows],
                keeps=[one.keep for one in rows],
            )
            self._expect(written, len(rows), "the clocks of a look")


def _clock(row: Any) -> Clock:
    asset_id, condition, since, looked_at, next_at, pending, pending_at = row
    return Clock(asset_id, condition, since, looked_at, next_at, tuple(pending or ()), pending_at)
