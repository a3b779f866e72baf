"""Plans that wait for their apply, cell pages and the changes they have not folded, processes on the System page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart, ordered, to_signed
from partita.core.store.sql import text
from partita.core.store.values import AssetId, AttemptId, CellRef
from partita.core.store.values_definitions import CellPage, PageRef, PlanId, StoredPlan

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

# Advisory locks, because an asset without pages has no row to lock: class 2 is ours, the asset is the object. In the order
# of the array, and in a statement of its own: what is read next sees what the holders before wrote.
LOCK_PAGES = text("SELECT pg_advisory_xact_lock(2, u.asset) FROM unnest(CAST(:assets AS integer[])) AS u(asset)")

FIRST_KEYS = text("""
    SELECT asset_id, first_key FROM cell_page WHERE asset_id = ANY(CAST(:assets AS bigint[])) ORDER BY asset_id, first_key
""")

READ_PAGES = text("""
    SELECT p.asset_id, p.first_key, p.n, p.packed, p.sum_hash
    FROM unnest(CAST(:assets AS bigint[]), CAST(:keys AS text[])) AS u(asset_id, first_key)
    JOIN cell_page p ON p.asset_id = u.asset_id AND p.first_key = u.first_key
""")

DELETE_PAGES = text("""
    DELETE FROM cell_page p USING unnest(CAST(:assets AS bigint[]), CAST(:keys AS text[])) AS u(asset_id, first_key)
    WHERE p.asset_id = u.asset_id AND p.first_key = u.first_key
""")

PUT_PAGES = text("""
    INSERT INTO cell_page (asset_id, first_key, n, packed, sum_hash)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:keys AS text[]), CAST(:counts AS integer[]),
                         CAST(:packed AS bytea[]), CAST(:sums AS bigint[]))
    ON CONFLICT (asset_id, first_key) DO UPDATE SET n = excluded.n, packed = excluded.packed, sum_hash = excluded.sum_hash
""")

NOTE_PROCESS = text("UPDATE attempt SET pid = :pid WHERE id = :id AND finished_at IS NULL")

PUT_COMPONENT = text("""
    INSERT INTO component (id, kind, name, pid, counts) VALUES (:id, :kind, :name, :pid, CAST(:counts AS jsonb))
    ON CONFLICT (id) DO UPDATE
    SET kind = excluded.kind, name = excluded.name, pid = excluded.pid, counts = excluded.counts,
        last_seen_at = now()
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

    def lock_pages(self, assets: Iterable[AssetId]) -> dict[AssetId, list[str]]:
        wanted = sorted(set(assets))
        self._execute(LOCK_PAGES, assets=wanted)
        found: dict[AssetId, list[str]] = {asset_id: [] for asset_id in wanted}
        for asset_id, first_key in self._rows(FIRST_KEYS, assets=wanted):
            found[asset_id].append(first_key)
        return found

    def read_pages(self, pages: Iterable[PageRef]) -> dict[PageRef, CellPage]:
        found = map(page_of, self._wide_rows(READ_PAGES, **_page_arrays(pages)))
        return {page.ref: page for page in found}

    def replace_pages(self, removed: Iterable[PageRef], pages: Iterable[CellPage]) -> None:
        rows: list[CellPage] = ordered(pages, lambda page: page.ref, "replace_pages")
        gone = set(removed) - {page.ref for page in rows}
        if gone:
            self._execute(DELETE_PAGES, **_page_arrays(gone))
        if rows:
            self._execute(
                PUT_PAGES,
                **_page_arrays(page.ref for page in rows),
                counts=[page.n for page in rows],
                packed=[page.packed for page in rows],
                sums=[to_signed(page.sum_hash) for page in rows],
            )

    def note_attempt_process(self, attempt_id: AttemptId, pid: int) -> None:
        self._execute(NOTE_PROCESS, id=attempt_id, pid=pid)

    def put_component(
        self, component_id: str, kind: str, name: str, pid: int, counts: Mapping[str, Any] | None = None
    ) -> None:
        self._execute(PUT_COMPONENT, id=component_id, kind=kind, name=name, pid=pid, counts=to_json(counts or {}))

    def remove_component(self, component_id: str) -> None:
        self._execute(REMOVE_COMPONENT, id=component_id)


def _page_arrays(pages: Iterable[PageRef]) -> dict[str, list[Any]]:
    wanted = sorted(set(pages))
    return {"assets": [page.asset_id for page in wanted], "keys": [page.first_key for page in wanted]}


def page_of(row: Any) -> CellPage:
    asset_id, first_key, n, packed, sum_hash = row
    return CellPage(asset_id, first_key, n, bytes(packed), sum_hash % (1 << 64))
