"""Plans that wait for their apply, cell pages and the changes they have not folded, processes on the System page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import text

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart, ordered, to_signed
from partita.core.store.values import AssetId, AttemptId, CellRef
from partita.core.store.values_definitions import CellPage, PlanId, StoredPlan

SAVE_PLAN = text("""
    INSERT INTO plan (hash, request, as_of, body, expires_at)
    VALUES (:hash, CAST(:request AS jsonb), :as_of, :body, now() + make_interval(secs => :keep_s)) RETURNING id
""")

LOAD_PLAN = text("""
    SELECT id, hash, request, as_of, body, created_at, expires_at FROM plan WHERE id = :id AND expires_at > now()
""")

FIND_PLAN = text("""
    SELECT id, hash, request, as_of, body, created_at, expires_at FROM plan
    WHERE starts_with(hash, :prefix) AND expires_at > now() ORDER BY id DESC LIMIT 1
""")

EXPIRE_PLANS = text("DELETE FROM plan WHERE expires_at <= now()")

TAKE_CELL_CHANGES = text("""
    DELETE FROM cell_change WHERE seq IN (SELECT seq FROM cell_change ORDER BY seq LIMIT :n FOR UPDATE SKIP LOCKED)
    RETURNING asset_id, partition
""")

# An advisory lock, because an asset without pages has no row to lock: class 2 is ours, the asset is the object.
LOCK_PAGES = text("SELECT pg_advisory_xact_lock(2, CAST(:asset AS integer))")

READ_PAGES = text("""
    SELECT asset_id, first_key, n, packed, sum_hash FROM cell_page WHERE asset_id = :asset ORDER BY first_key
""")

DELETE_PAGES = text("DELETE FROM cell_page WHERE asset_id = :asset AND first_key = ANY(CAST(:keys AS text[]))")

PUT_PAGES = text("""
    INSERT INTO cell_page (asset_id, first_key, n, packed, sum_hash)
    SELECT :asset, u.first_key, u.n, u.packed, u.sum_hash
    FROM unnest(CAST(:keys AS text[]), CAST(:counts AS integer[]), CAST(:packed AS bytea[]), CAST(:sums AS bigint[]))
         AS u(first_key, n, packed, sum_hash)
    ON CONFLICT (asset_id, first_key) DO UPDATE SET n = excluded.n, packed = excluded.packed, sum_hash = excluded.sum_hash
""")

NOTE_PROCESS = text("UPDATE attempt SET pid = :pid WHERE id = :id AND finished_at IS NULL")

PUT_COMPONENT = text("""
    INSERT INTO component (id, kind, name, pid) VALUES (:id, :kind, :name, :pid)
    ON CONFLICT (id) DO UPDATE
    SET kind = excluded.kind, name = excluded.name, pid = excluded.pid, last_seen_at = now()
""")

REMOVE_COMPONENT = text("DELETE FROM component WHERE id = :id")


class PlansPart(PostgresPart):
    def save_plan(
        self, hash: str, *, request: Mapping[str, Any], as_of: datetime, body: bytes, keep_s: float
    ) -> PlanId:
        rows = self._rows(SAVE_PLAN, hash=hash, request=to_json(request), as_of=as_of, body=body, keep_s=keep_s)
        return PlanId(rows[0][0])

    def load_plan(self, plan_id: PlanId) -> StoredPlan | None:
        rows = self._rows(LOAD_PLAN, id=plan_id)
        return StoredPlan(*rows[0]) if rows else None

    def find_plan(self, hash_prefix: str) -> StoredPlan | None:
        rows = self._rows(FIND_PLAN, prefix=hash_prefix)
        return StoredPlan(*rows[0]) if rows else None

    def expire_plans(self) -> int:
        return self._execute(EXPIRE_PLANS)

    def take_cell_changes(self, limit: int) -> set[CellRef]:
        return {CellRef(row[0], row[1]) for row in self._rows(TAKE_CELL_CHANGES, n=limit)}

    def lock_pages(self, asset_id: AssetId) -> list[CellPage]:
        self._execute(LOCK_PAGES, asset=asset_id)
        return [page_of(row) for row in self._rows(READ_PAGES, asset=asset_id)]

    def replace_pages(self, asset_id: AssetId, removed: Iterable[str], pages: Iterable[CellPage]) -> None:
        self._execute(DELETE_PAGES, asset=asset_id, keys=sorted(set(removed)))
        rows: list[CellPage] = ordered(pages, lambda page: page.first_key, "replace_pages")
        if rows:
            self._execute(
                PUT_PAGES,
                asset=asset_id,
                keys=[page.first_key for page in rows],
                counts=[page.n for page in rows],
                packed=[page.packed for page in rows],
                sums=[to_signed(page.sum_hash) for page in rows],
            )

    def note_attempt_process(self, attempt_id: AttemptId, pid: int) -> None:
        self._execute(NOTE_PROCESS, id=attempt_id, pid=pid)

    def put_component(self, component_id: str, kind: str, name: str, pid: int) -> None:
        self._execute(PUT_COMPONENT, id=component_id, kind=kind, name=name, pid=pid)

    def remove_component(self, component_id: str) -> None:
        self._execute(REMOVE_COMPONENT, id=component_id)


def page_of(row: Any) -> CellPage:
    asset_id, first_key, n, packed, sum_hash = row
    return CellPage(asset_id, first_key, n, bytes(packed), sum_hash % (1 << 64))
