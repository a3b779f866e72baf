"""Cells changed by hand: published, failed, emptied, and given back what they held."""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from partita.core.store.encode import clean_text, optional_text, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, ordered, to_signed
from partita.core.store.sql import text
from partita.core.store.values_actions import AuditId, HandPublication, KeptCell
from partita.core.store.values_ids import CellRef, Fence

ENSURE_CELLS = text("""
    INSERT INTO cell (asset_id, partition, window_start, window_end)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:starts AS timestamptz[]),
                         CAST(:ends AS timestamptz[]))
    ON CONFLICT DO NOTHING
""")

# What an action changes of a cell, and an undo gives back.
_HELD = """data_version, fingerprint_id, dependency_hash_id, consumed_digest, location, metadata, published_at,
    version_at, published_attempt, published_run, last_outcome, last_attempt, last_attempt_at,
    last_error"""
_CELLS = (
    "unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) WITH ORDINALITY AS u(asset_id, partition, place)"
)
_CHANGES = "INSERT INTO cell_change (asset_id, partition) SELECT asset_id, partition FROM changed ORDER BY place"

KEEP_CELLS = text(f"""
    INSERT INTO kept_cell (audit_id, asset_id, partition, fence, {_HELD})
    SELECT :audit, asset_id, partition, :fence, {_HELD} FROM cell JOIN {_CELLS} USING (asset_id, partition)
""")

PUBLISH_BY_HAND = text(f"""
    WITH changed AS (
        UPDATE cell c
        SET fence = :fence, data_version = u.data_version, fingerprint_id = u.fingerprint_id,
            dependency_hash_id = u.dependency_id, consumed_digest = u.digest, location = u.location, metadata = u.metadata,
            published_at = now(), version_at = now(), published_attempt = NULL, published_run = NULL,
            last_outcome = 'published', last_attempt = NULL, last_attempt_at = NULL, last_error = NULL
        FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:versions AS text[]),
                    CAST(:fingerprints AS bigint[]), CAST(:dependencies AS bigint[]), CAST(:digests AS bigint[]),
                    CAST(:locations AS text[]), CAST(:metadata AS jsonb[])) WITH ORDINALITY
             AS u(asset_id, partition, data_version, fingerprint_id, dependency_id, digest, location, metadata, place)
        WHERE c.asset_id = u.asset_id AND c.partition = u.partition
        RETURNING c.asset_id, c.partition, u.place
    )
    {_CHANGES}
""")

# Pages of cells do not tell when: nothing of them changes.
CONFIRM_CELLS = text(f"""
    UPDATE cell c SET published_at = now()
    FROM {_CELLS} WHERE c.asset_id = u.asset_id AND c.partition = u.partition
""")

FAIL_BY_HAND = text(f"""
    WITH changed AS (
        UPDATE cell c
        SET fence = :fence, last_outcome = 'failed', last_attempt = NULL, last_attempt_at = now(), last_error = :error
        FROM {_CELLS} WHERE c.asset_id = u.asset_id AND c.partition = u.partition
        RETURNING c.asset_id, c.partition, u.place
    )
    {_CHANGES}
""")

EMPTY_CELLS = text(f"""
    WITH changed AS (
        UPDATE cell c
        SET fence = :fence, data_version = NULL, fingerprint_id = NULL, dependency_hash_id = NULL, consumed_digest = NULL,
            location = NULL, metadata = NULL, published_at = NULL, version_at = NULL, published_attempt = NULL,
            published_run = NULL, last_outcome = NULL, last_attempt = NULL, last_attempt_at = NULL, last_error = NULL
        FROM {_CELLS} WHERE c.asset_id = u.asset_id AND c.partition = u.partition
        RETURNING c.asset_id, c.partition, u.place
    )
    {_CHANGES}
""")

KEPT_CELLS = text("""
    SELECT asset_id, partition, fence, data_version, location FROM kept_cell WHERE audit_id = :audit
    ORDER BY asset_id, partition
""")

RESTORE_CELLS = text(f"""
    WITH changed AS (
        UPDATE cell c
        SET fence = :fence, ({_HELD}) = ROW ({", ".join(f"k.{name.strip()}" for name in _HELD.split(","))})
        FROM {_CELLS} JOIN kept_cell k ON k.audit_id = :audit AND k.asset_id = u.asset_id AND k.partition = u.partition
        WHERE c.asset_id = u.asset_id AND c.partition = u.partition AND c.fence = k.fence
        RETURNING c.asset_id, c.partition, u.place
    ), changes AS (
        {_CHANGES}
    )
    SELECT asset_id, partition FROM changed
""")


class ByHandPart(PostgresPart):
    def ensure_cells(self, cells: Mapping[CellRef, tuple[datetime, datetime] | None]) -> None:
        rows = sorted(cells)
        if rows:
            windows = [cells[cell] or (None, None) for cell in rows]
            self._execute(
                ENSURE_CELLS, **cell_arrays(rows), starts=[one[0] for one in windows], ends=[one[1] for one in windows]
            )

    def keep_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> None:
        rows = ordered(cells, lambda cell: cell, "keep_cells")
        self._execute(KEEP_CELLS, audit=audit_id, fence=fence, **cell_arrays(rows))

    def publish_by_hand(self, publications: Sequence[HandPublication], fence: Fence) -> None:
        rows: list[HandPublication] = ordered(publications, lambda one: one.cell, "publish_by_hand")
        if not rows:
            return
        ids = self.intern(hash for row in rows for hash in (row.fingerprint, row.dependency_hash))
        self._execute(
            PUBLISH_BY_HAND,
            **cell_arrays([row.cell for row in rows]),
            fence=fence,
            versions=[clean_text(row.data_version) for row in rows],
            fingerprints=[ids[row.fingerprint] for row in rows],
            dependencies=[ids[row.dependency_hash] for row in rows],
            digests=[to_signed(row.consumed_digest) for row in rows],
            locations=[optional_text(row.location) for row in rows],
            metadata=[to_json(row.metadata) for row in rows],
        )

    def confirm_cells(self, cells: Sequence[CellRef]) -> None:
        rows = ordered(cells, lambda cell: cell, "confirm_cells")
        if rows:
            self._execute(CONFIRM_CELLS, **cell_arrays(rows))

    def fail_by_hand(self, cells: Sequence[CellRef], error: str, fence: Fence) -> None:
        rows = ordered(cells, lambda cell: cell, "fail_by_hand")
        self._execute(FAIL_BY_HAND, error=clean_text(error), fence=fence, **cell_arrays(rows))

    def empty_cells(self, cells: Sequence[CellRef], fence: Fence) -> None:
        rows = ordered(cells, lambda cell: cell, "empty_cells")
        self._execute(EMPTY_CELLS, fence=fence, **cell_arrays(rows))

    def kept_cells(self, audit_id: AuditId) -> list[KeptCell]:
        rows = self._rows(KEPT_CELLS, audit=audit_id)
        return [KeptCell(CellRef(row[0], row[1]), row[2], row[3], row[4]) for row in rows]

    def restore_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> set[CellRef]:
        rows = ordered(cells, lambda cell: cell, "restore_cells")
        found = self._rows(RESTORE_CELLS, audit=audit_id, fence=fence, **cell_arrays(rows))
        return {CellRef(row[0], row[1]) for row in found}
