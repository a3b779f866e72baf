"""Acceptances: the basis of cells moved by compare-and-set, and the record of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.core.store.encode import clean_text, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, ordered, to_signed, to_unsigned
from partita.core.store.sql import text
from partita.core.store.values import CellRef
from partita.core.store.values_accept import Acceptance, AcceptanceId, CellBasis, Rebase

# The data stays: nothing moves but what the cell is recorded to be made from. Its caller holds the cells locked, in order.
REBASE_CELLS = text("""
    WITH rebased AS (
        UPDATE cell c
        SET fingerprint_id = u.fingerprint_id, dependency_hash_id = u.dependency_hash_id, consumed_digest = u.digest
        FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:fences AS bigint[]),
                    CAST(:was_fingerprints AS bigint[]), CAST(:was_dependencies AS bigint[]), CAST(:was_digests AS bigint[]),
                    CAST(:fingerprints AS bigint[]), CAST(:dependencies AS bigint[]), CAST(:digests AS bigint[]))
             WITH ORDINALITY
             AS u(asset_id, partition, fence, was_fingerprint_id, was_dependency_hash_id, was_digest, fingerprint_id,
                  dependency_hash_id, digest, place)
        WHERE c.asset_id = u.asset_id AND c.partition = u.partition AND c.fence = u.fence AND c.data_version IS NOT NULL
          AND c.fingerprint_id IS NOT DISTINCT FROM u.was_fingerprint_id
          AND c.dependency_hash_id IS NOT DISTINCT FROM u.was_dependency_hash_id
          AND c.consumed_digest IS NOT DISTINCT FROM u.was_digest
        RETURNING c.asset_id, c.partition, u.place
    ), changes AS (
        INSERT INTO cell_change (asset_id, partition) SELECT asset_id, partition FROM rebased ORDER BY place
    )
    SELECT asset_id, partition FROM rebased
""")

INSERT_ACCEPTANCE = text("""
    INSERT INTO acceptance (who, reason, request, cells) VALUES (:who, :reason, CAST(:request AS jsonb), :cells) RETURNING id
""")

INSERT_ACCEPTED_CELLS = text("""
    INSERT INTO accepted_cell (acceptance_id, asset_id, partition, fence, was_fingerprint_id, was_dependency_hash_id,
                               was_digest, fingerprint_id, dependency_hash_id, consumed_digest)
    SELECT :id, u.* FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:fences AS bigint[]),
                                CAST(:was_fingerprints AS bigint[]), CAST(:was_dependencies AS bigint[]),
                                CAST(:was_digests AS bigint[]), CAST(:fingerprints AS bigint[]),
                                CAST(:dependencies AS bigint[]), CAST(:digests AS bigint[]))
                         AS u
""")

LOCK_ACCEPTANCE = text("""
    SELECT id, at, who, reason, request, cells, undone_at, undone_by FROM acceptance WHERE id = :id FOR UPDATE
""")

ACCEPTED_CELLS = text("""
    SELECT a.asset_id, a.partition, a.fence, wf.text, wd.text, a.was_digest, f.text, d.text, a.consumed_digest
    FROM accepted_cell a
    LEFT JOIN fingerprint wf ON wf.id = a.was_fingerprint_id
    LEFT JOIN fingerprint wd ON wd.id = a.was_dependency_hash_id
    LEFT JOIN fingerprint f ON f.id = a.fingerprint_id
    LEFT JOIN fingerprint d ON d.id = a.dependency_hash_id
    WHERE a.acceptance_id = :id ORDER BY a.asset_id, a.partition
""")

END_ACCEPTANCE = text("""
    UPDATE acceptance SET undone_at = now(), undone_by = :who WHERE id = :id AND undone_at IS NULL
""")


class AcceptPart(PostgresPart):
    def rebase_cells(self, rebases: Sequence[Rebase]) -> set[CellRef]:
        rows: list[Rebase] = ordered(rebases, lambda rebase: rebase.cell, "rebase_cells")
        if not rows:
            return set()
        return {CellRef(row[0], row[1]) for row in self._rows(REBASE_CELLS, **self._columns(rows))}

    def insert_acceptance(
        self, who: str, reason: str, request: Mapping[str, Any], rebases: Sequence[Rebase]
    ) -> AcceptanceId:
        rows: list[Rebase] = ordered(rebases, lambda rebase: rebase.cell, "insert_acceptance")
        made = AcceptanceId(
            self._rows(
                INSERT_ACCEPTANCE,
                who=clean_text(who),
                reason=clean_text(reason),
                request=to_json(request),
                cells=len(rows),
            )[0][0]
        )
        if rows:
            self._execute(INSERT_ACCEPTED_CELLS, id=made, **self._columns(rows))
        return made

    def lock_acceptance(self, acceptance_id: AcceptanceId) -> Acceptance | None:
        found = self._rows(LOCK_ACCEPTANCE, id=acceptance_id)
        return Acceptance(*found[0]) if found else None

    def accepted_cells(self, acceptance_id: AcceptanceId) -> list[Rebase]:
        return [
            Rebase(
                CellRef(asset_id, partition),
                fence,
                CellBasis(was_fingerprint, was_dependency, to_unsigned(was_digest)),
                CellBasis(fingerprint, dependency, to_unsigned(digest)),
            )
            for (
                asset_id, partition, fence, was_fingerprint, was_dependency, was_digest, fingerprint, dependency, digest,
            ) in self._rows(ACCEPTED_CELLS, id=acceptance_id)
        ]  # fmt: skip

    def end_acceptance(self, acceptance_id: AcceptanceId, who: str) -> None:
        self._execute(END_ACCEPTANCE, id=acceptance_id, who=clean_text(who))

    def _columns(self, rows: Sequence[Rebase]) -> dict[str, list[Any]]:
        bases = [basis for row in rows for basis in (row.expect, row.basis)]
        texts = [text for basis in bases for text in (basis.fingerprint, basis.dependency_hash) if text is not None]
        ids: dict[str | None, int | None] = {None: None}
        ids.update(self.intern(texts))
        return {
            **cell_arrays([row.cell for row in rows]),
            "fences": [row.fence for row in rows],
            "was_fingerprints": [ids[row.expect.fingerprint] for row in rows],
            "was_dependencies": [ids[row.expect.dependency_hash] for row in rows],
            "was_digests": [_signed(row.expect.consumed_digest) for row in rows],
            "fingerprints": [ids[row.basis.fingerprint] for row in rows],
            "dependencies": [ids[row.basis.dependency_hash] for row in rows],
            "digests": [_signed(row.basis.consumed_digest) for row in rows],
        }


def _signed(digest: int | None) -> int | None:
    return None if digest is None else to_signed(digest)
