"""Identity: the keys, homes and retirement of assets, and the journal of their changes."""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partita.core.store.encode import clean_text
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values import AssetId, LocationId
from partita.core.store.values_identity import AssetRow, FormerKey

READ_ASSETS = text("""
    SELECT a.id, a.key, a.location_id, a.home_id, a.retired_at, s.hash
    FROM asset a LEFT JOIN scheme s ON s.id = a.scheme_id ORDER BY a.id
""")
FORMER_KEYS = text("SELECT id, asset_id, was, at FROM identity_change WHERE kind = 'rename' ORDER BY id")

PUBLISHED_COUNTS = text("""
    SELECT u.id, (SELECT count(*) FROM cell c WHERE c.asset_id = u.id AND c.data_version IS NOT NULL)
    FROM unnest(CAST(:ids AS bigint[])) AS u(id)
""")
OPEN_COUNTS = text("""
    SELECT u.id, (SELECT count(*) FROM open_cell o WHERE o.asset_id = u.id) FROM unnest(CAST(:ids AS bigint[])) AS u(id)
""")

# Two steps, because keys may change places: a key that no asset can have stands between.
JOURNAL_RENAMES = text("""
    INSERT INTO identity_change (who, kind, asset_id, was, became)
    SELECT :who, 'rename', a.id, a.key, u.key
    FROM unnest(CAST(:ids AS bigint[]), CAST(:keys AS text[])) AS u(id, key) JOIN asset a ON a.id = u.id
    WHERE a.key <> u.key ORDER BY a.id
""")
CLEAR_KEYS = text("UPDATE asset SET key = E'\\u0001' || id WHERE id = ANY(CAST(:ids AS bigint[]))")
FREE_KEYS = text("SELECT count(*) FROM asset WHERE key = ANY(CAST(:keys AS text[]))")
SET_KEYS = text("""
    UPDATE asset a SET key = u.key FROM unnest(CAST(:ids AS bigint[]), CAST(:keys AS text[])) AS u(id, key) WHERE a.id = u.id
""")

SET_HOME = text("""
    WITH moved AS (
        UPDATE asset SET home_id = :home WHERE id = :id AND home_id IS DISTINCT FROM CAST(:home AS bigint)
        RETURNING id, location_id
    )
    INSERT INTO identity_change (who, kind, asset_id, was, became)
    SELECT :who, 'move', m.id, coalesce((SELECT name FROM location WHERE id = m.location_id), ''),
           (SELECT name FROM location WHERE id = :home)
    FROM moved m
""")
RETIRE_BY_HAND = text("""
    WITH retired AS (
        UPDATE asset SET retired_at = now() WHERE id = ANY(CAST(:ids AS bigint[])) AND retired_at IS NULL RETURNING id, key
    ), noted AS (
        INSERT INTO identity_change (who, kind, asset_id, was, became)
        SELECT :who, 'retire', id, key, '' FROM retired ORDER BY id
    )
    SELECT id FROM retired ORDER BY id
""")


# What is noted of assets, table by table; what runs did stays with the runs.
_HELD_BY_ASSETS = (
    "cell", "cell_page", "cell_change", "former_cell", "kept_cell", "accepted_cell", "check_result", "automation_request",
    "automation_clock", "deadline", "event_todo", "pause", "alert_signal", "alert", "freshness", "late_span",
)  # fmt: skip
FORGET_ASSETS = (
    text(
        "DELETE FROM notice_item WHERE alert_id IN (SELECT id FROM alert WHERE asset_id = ANY(CAST(:ids AS bigint[])))"
    ),
    *(text(f"DELETE FROM {table} WHERE asset_id = ANY(CAST(:ids AS bigint[]))") for table in _HELD_BY_ASSETS),
)


class IdentityPart(PostgresPart):
    def read_assets(self) -> list[AssetRow]:
        return [AssetRow(*row) for row in self._rows(READ_ASSETS)]

    def former_keys(self) -> list[FormerKey]:
        return [FormerKey(*row) for row in self._rows(FORMER_KEYS)]

    def published_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        return {AssetId(row[0]): row[1] for row in self._rows(PUBLISHED_COUNTS, ids=sorted(set(ids)))}

    def open_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        return {AssetId(row[0]): row[1] for row in self._rows(OPEN_COUNTS, ids=sorted(set(ids)))}

    def rename_assets(self, keys: Mapping[AssetId, str], who: str) -> None:
        if not keys:
            return
        ids = sorted(keys)
        wanted: dict[str, Any] = {"ids": ids, "keys": [keys[one] for one in ids]}
        if len(set(keys.values())) != len(ids):
            raise self._violation(f"two assets cannot have one key: {sorted(keys.values())}")
        self._execute(JOURNAL_RENAMES, **wanted, who=clean_text(who))
        if self._execute(CLEAR_KEYS, ids=ids) != len(ids):
            raise self._violation(f"of the assets {ids} some are unknown")
        if self._rows(FREE_KEYS, keys=wanted["keys"])[0][0]:
            raise self._violation(f"of the keys {sorted(keys.values())} some belong to other assets")
        self._execute(SET_KEYS, **wanted)

    def set_home(self, asset_id: AssetId, location_id: LocationId, who: str) -> None:
        self._execute(SET_HOME, id=asset_id, home=location_id, who=clean_text(who))

    def retire_by_hand(self, ids: Iterable[AssetId], who: str) -> list[AssetId]:
        return [AssetId(row[0]) for row in self._rows(RETIRE_BY_HAND, ids=sorted(set(ids)), who=clean_text(who))]

    def forget_assets(self, ids: Iterable[AssetId]) -> None:
        wanted = sorted(set(ids))
        for statement in FORGET_ASSETS if wanted else ():
            self._execute(statement, ids=wanted)
