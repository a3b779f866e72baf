"""Cells and attempts: fences, facts, publication by compare-and-set, last attempts."""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.store.encode import optional_json, optional_text, texts_of, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, fact_of, ordered, to_signed
from partita.core.store.sql import text
from partita.core.store.values import (
    AttemptEnd,
    AttemptId,
    CellAttempt,
    CellFact,
    CellRef,
    CheckRow,
    Fence,
    NewAttempt,
    Publication,
)

NEXT_FENCE = text("SELECT nextval('fence_seq')")
RESERVE_ATTEMPT_IDS = text("SELECT nextval('attempt_id_seq') FROM generate_series(1, :n)")

# Locks in cell order first: two claims may share input cells of an atomic group.
RAISE_FENCES = text("""
    WITH wanted AS (
        SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:fences AS bigint[]))
             AS u(asset_id, partition, fence)
    ), locked AS (
        SELECT c.asset_id, c.partition, wanted.fence
        FROM wanted JOIN cell c ON c.asset_id = wanted.asset_id AND c.partition = wanted.partition
        ORDER BY c.asset_id, c.partition FOR NO KEY UPDATE OF c
    )
    UPDATE cell c SET fence = greatest(c.fence, locked.fence) FROM locked
    WHERE c.asset_id = locked.asset_id AND c.partition = locked.partition
""")

_FACTS = """
    SELECT c.asset_id, c.partition, c.fence, c.data_version, f.text, d.text, c.consumed_digest, c.location, c.last_outcome,
           c.published_at, c.version_at, c.last_attempt_at
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
    LEFT JOIN fingerprint f ON f.id = c.fingerprint_id
    LEFT JOIN fingerprint d ON d.id = c.dependency_hash_id
"""
READ_CELLS = text(_FACTS)
LOCK_CELLS = text(_FACTS + "ORDER BY c.asset_id, c.partition FOR NO KEY UPDATE OF c")

START_ATTEMPTS = text("""
    INSERT INTO attempt (id, task_id, run_id, number, worker_id, snapshot_id, fence, queued_at, inputs, log)
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tasks AS bigint[]), CAST(:runs AS bigint[]), CAST(:numbers AS integer[]),
                         CAST(:workers AS text[]), CAST(:snapshots AS bigint[]), CAST(:fences AS bigint[]),
                         CAST(:queued_at AS timestamptz[]), CAST(:inputs AS jsonb[]), CAST(:logs AS text[]))
""")

# The pointer flip. A confirmation is the last success, too; but what describes the version stays, and the version must be
# the one that is confirmed.
PUBLISH_CELLS = text("""
    WITH published AS (
        UPDATE cell c
        SET fingerprint_id = u.fingerprint_id, dependency_hash_id = u.dependency_hash_id, consumed_digest = u.digest,
            published_at = now(),
            data_version = u.data_version,
            location = CASE WHEN u.confirms THEN c.location ELSE u.location END,
            metadata = CASE WHEN u.confirms THEN c.metadata ELSE u.metadata END,
            version_at = CASE WHEN u.confirms THEN c.version_at ELSE now() END,
            published_attempt = u.attempt_id, published_run = u.run_id,
            last_outcome = CASE WHEN u.confirms THEN 'unchanged' ELSE 'published' END,
            last_attempt = u.attempt_id, last_attempt_at = now(), last_error = NULL
        FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:fences AS bigint[]),
                    CAST(:confirms AS boolean[]), CAST(:versions AS text[]), CAST(:fingerprints AS bigint[]),
                    CAST(:dependencies AS bigint[]), CAST(:digests AS bigint[]), CAST(:locations AS text[]),
                    CAST(:metadata AS jsonb[]), CAST(:attempts AS bigint[]), CAST(:runs AS bigint[])) WITH ORDINALITY
             AS u(asset_id, partition, fence, confirms, data_version, fingerprint_id, dependency_hash_id, digest, location,
                  metadata, attempt_id, run_id, place)
        WHERE c.asset_id = u.asset_id AND c.partition = u.partition AND c.fence = u.fence
          AND (NOT u.confirms OR c.data_version = u.data_version)
        RETURNING c.asset_id, c.partition, u.place
    ), changes AS (
        INSERT INTO cell_change (asset_id, partition) SELECT asset_id, partition FROM published ORDER BY place
    )
    SELECT count(*) FROM published
""")

NOTE_ATTEMPTS = text("""
    WITH noted AS (
        UPDATE cell c SET last_outcome = u.outcome, last_attempt = u.attempt_id, last_attempt_at = now(), last_error = u.error
        FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:fences AS bigint[]),
                    CAST(:outcomes AS text[]), CAST(:attempts AS bigint[]), CAST(:errors AS text[])) WITH ORDINALITY
             AS u(asset_id, partition, fence, outcome, attempt_id, error, place)
        WHERE c.asset_id = u.asset_id AND c.partition = u.partition AND c.fence = u.fence
        RETURNING c.asset_id, c.partition, u.place
    )
    INSERT INTO cell_change (asset_id, partition) SELECT asset_id, partition FROM noted ORDER BY place
""")

END_ATTEMPTS = text("""
    UPDATE attempt a SET finished_at = now(), outcome = u.outcome, error = u.error, traceback = u.traceback, usage = u.usage
    FROM unnest(CAST(:ids AS bigint[]), CAST(:outcomes AS text[]), CAST(:errors AS text[]), CAST(:tracebacks AS text[]),
                CAST(:usages AS jsonb[])) AS u(id, outcome, error, traceback, usage)
    WHERE a.id = u.id AND a.finished_at IS NULL
""")

INSERT_CHECKS = text("""
    INSERT INTO check_result (attempt_id, asset_id, partition, name, passed, blocking, detail)
    SELECT * FROM unnest(CAST(:attempts AS bigint[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]),
                         CAST(:names AS text[]), CAST(:passed AS boolean[]), CAST(:blocking AS boolean[]),
                         CAST(:details AS jsonb[]))
    ON CONFLICT DO NOTHING
""")


class CellsPart(PostgresPart):
    def next_fence(self) -> Fence:
        return Fence(self._rows(NEXT_FENCE)[0][0])

    def reserve_attempt_ids(self, n: int) -> list[AttemptId]:
        return sorted(row[0] for row in self._rows(RESERVE_ATTEMPT_IDS, n=n))

    def raise_fences(self, cells: Sequence[CellRef], fences: Sequence[Fence]) -> None:
        highest: dict[CellRef, Fence] = {}
        for cell, fence in zip(cells, fences, strict=True):
            highest[cell] = max(fence, highest.get(cell, fence))
        if highest:
            in_order = sorted(highest)
            self._execute(RAISE_FENCES, **cell_arrays(in_order), fences=[highest[cell] for cell in in_order])

    def read_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        # Locks nothing, so in any order: sorting would compare the cells of a fold three hundred thousand times.
        facts = map(fact_of, self._rows(READ_CELLS, **cell_arrays(list(dict.fromkeys(cells)))))
        return {fact.cell: fact for fact in facts}

    def lock_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        facts = map(fact_of, self._rows(LOCK_CELLS, **cell_arrays(sorted(set(cells)))))
        return {fact.cell: fact for fact in facts}

    def start_attempts(self, attempts: Sequence[NewAttempt]) -> None:
        if not attempts:
            return
        self._execute(
            START_ATTEMPTS,
            ids=[new.id for new in attempts],
            tasks=[new.task_id for new in attempts],
            runs=[new.run_id for new in attempts],
            numbers=[new.number for new in attempts],
            workers=[new.worker_id for new in attempts],
            snapshots=[new.snapshot_id for new in attempts],
            fences=[new.fence for new in attempts],
            queued_at=[new.queued_at for new in attempts],
            inputs=[to_json(list(new.inputs)) for new in attempts],
            logs=[new.log for new in attempts],
        )

    def publish_cells(self, publications: Sequence[Publication]) -> None:
        rows: list[Publication] = ordered(publications, lambda publication: publication.cell, "publish_cells")
        if not rows:
            return
        ids = self.intern({hash for row in rows for hash in (row.fingerprint, row.dependency_hash)})
        texts = texts_of(row.metadata for row in rows)
        written = self._rows(
            PUBLISH_CELLS,
            **cell_arrays([row.cell for row in rows]),
            fences=[row.fence for row in rows],
            confirms=[row.confirms for row in rows],
            versions=[row.data_version for row in rows],
            fingerprints=[ids[row.fingerprint] for row in rows],
            dependencies=[ids[row.dependency_hash] for row in rows],
            digests=[to_signed(row.consumed_digest) for row in rows],
            locations=[row.location for row in rows],
            metadata=[texts[id(row.metadata)] for row in rows],
            attempts=[row.attempt_id for row in rows],
            runs=[row.run_id for row in rows],
        )[0][0]
        self._expect(written, len(rows), f"publication of {len(rows)} cells from {rows[0].cell}")

    def note_attempts(self, notes: Sequence[CellAttempt]) -> None:
        rows: list[CellAttempt] = ordered(notes, lambda note: note.cell, "note_attempts")
        if not rows:
            return
        self._execute(
            NOTE_ATTEMPTS,
            **cell_arrays([note.cell for note in rows]),
            fences=[note.fence for note in rows],
            outcomes=[note.outcome for note in rows],
            attempts=[note.attempt_id for note in rows],
            errors=[optional_text(note.error) for note in rows],
        )

    def end_attempts(self, ends: Sequence[AttemptEnd]) -> None:
        rows: list[AttemptEnd] = ordered(ends, lambda end: end.id, "end_attempts")
        if not rows:
            return
        self._set_rows(
            END_ATTEMPTS,
            ids=[end.id for end in rows],
            outcomes=[end.outcome.value for end in rows],
            errors=[optional_text(end.error) for end in rows],
            tracebacks=[optional_text(end.traceback) for end in rows],
            usages=[optional_json(end.usage) for end in rows],
        )

    def insert_checks(self, checks: Sequence[CheckRow]) -> None:
        if not checks:
            return
        self._execute(
            INSERT_CHECKS,
            **cell_arrays([check.cell for check in checks]),
            attempts=[check.attempt_id for check in checks],
            names=[check.name for check in checks],
            passed=[check.passed for check in checks],
            blocking=[check.blocking for check in checks],
            details=[to_json(check.detail) for check in checks],
        )
