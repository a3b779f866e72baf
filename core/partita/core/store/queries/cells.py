"""The cells of assets in bulk: packed pages and what is not folded into them yet, in one snapshot; open cells; details."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import text

from partita.core.cells.pages import block_of, unpack
from partita.core.cells.values import CellBlock, CellDetail, CellRow, OpenCell
from partita.core.store.queries.base import ReaderPart
from partita.core.store.values import AssetId, CellRef, TaskId, TaskState

PAGES = text("""
    SELECT asset_id, packed FROM cell_page WHERE asset_id = ANY(CAST(:assets AS bigint[])) ORDER BY asset_id, first_key
""")

# The rows of `cell` that the pages do not show yet. Pages and changes are read in one snapshot: a fold deletes changes and
# writes pages in one transaction, so a cell is in one of the two.
UNFOLDED = text("""
    SELECT c.asset_id, c.partition, c.data_version, c.fingerprint_id, c.dependency_hash_id, c.consumed_digest, c.last_outcome
    FROM (SELECT DISTINCT asset_id, partition FROM cell_change WHERE asset_id = ANY(CAST(:assets AS bigint[]))) changed
    JOIN cell c ON c.asset_id = changed.asset_id AND c.partition = changed.partition
""")

OPEN_CELLS = text("""
    SELECT o.asset_id, o.partition, t.id, t.state FROM open_cell o JOIN task t ON t.id = o.task_id
    WHERE o.asset_id = ANY(CAST(:assets AS bigint[]))
""")

FINGERPRINT_IDS = text("SELECT text, id FROM fingerprint WHERE text = ANY(CAST(:texts AS text[]))")

DETAILS = text("""
    SELECT c.asset_id, c.partition, c.data_version, c.location, c.metadata, c.published_at, c.version_at, c.published_attempt,
           c.published_run, a.started_at, c.last_outcome, c.last_attempt, c.last_attempt_at, c.last_error, a.inputs
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
    LEFT JOIN attempt a ON a.id = c.published_attempt
""")

ROWS = text("""
    SELECT c.asset_id, c.partition, c.data_version, c.fingerprint_id, c.dependency_hash_id, c.consumed_digest, c.last_outcome
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
""")


class CellsQueries(ReaderPart):
    """Implements `partita.core.cells.values.CellsReader`."""

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        wanted = sorted(set(assets))
        found: dict[AssetId, list[CellBlock]] = {}
        for row in self._rows(PAGES, assets=wanted):
            found.setdefault(row[0], []).append(unpack(bytes(row[1])))
        changed: dict[AssetId, list[CellRow]] = {}
        for row in self._rows(UNFOLDED, assets=wanted):
            changed.setdefault(row[0], []).append(cell_row_of(row))
        for asset_id, rows in changed.items():
            found.setdefault(asset_id, []).append(block_of(rows))
        return found

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        found: dict[AssetId, dict[str, OpenCell]] = {}
        for asset_id, partition, task_id, state in self._rows(OPEN_CELLS, assets=sorted(set(assets))):
            found.setdefault(asset_id, {})[partition] = OpenCell(TaskId(task_id), TaskState(state))
        return found

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        return {row[0]: row[1] for row in self._rows(FINGERPRINT_IDS, texts=sorted(set(texts)))}

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        details = map(_detail_of, self._rows(DETAILS, **_arrays(cells)))
        return {detail.cell: detail for detail in details}

    def cell_rows(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellRow]:
        """These rows of `cell` as status needs them; unknown ones are left out."""
        return {CellRef(row[0], row[1]): cell_row_of(row) for row in self._rows(ROWS, **_arrays(cells))}


def cell_row_of(row: Any) -> CellRow:
    _, partition, data_version, fingerprint_id, dependency_hash_id, digest, outcome = row
    unsigned = None if digest is None else int(digest) % (1 << 64)
    return CellRow(partition, data_version, fingerprint_id, dependency_hash_id, unsigned, outcome)


def _detail_of(row: Any) -> CellDetail:
    return CellDetail(
        cell=CellRef(row[0], row[1]),
        data_version=row[2],
        location=row[3],
        metadata=row[4],
        published_at=row[5],
        version_at=row[6],
        published_attempt=row[7],
        published_run=row[8],
        attempt_started_at=row[9],
        last_outcome=row[10],
        last_attempt=row[11],
        last_attempt_at=row[12],
        last_error=row[13],
        inputs=tuple(row[14] or ()),
    )


def _arrays(cells: Collection[CellRef]) -> dict[str, list[Any]]:
    ordered = sorted(set(cells))
    return {"assets": [cell.asset_id for cell in ordered], "partitions": [cell.partition for cell in ordered]}
