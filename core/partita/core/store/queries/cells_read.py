"""Cells for statuses: the port `cells.values.CellsReader`, pages and unfolded changes in one snapshot of the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from partita.core.cells.pages import block_of, unpack
from partita.core.cells.values import CellBlock, CellDetail, CellRow, OpenCell
from partita.core.store.queries.base import Queries
from partita.core.store.sql import text
from partita.core.store.values import AssetId, CellRef, TaskState

PAGES = text("""
    SELECT asset_id, packed FROM cell_page WHERE asset_id = ANY(CAST(:assets AS bigint[])) ORDER BY asset_id, first_key
""")

# What is not in the pages yet. A change that is folded is deleted in the transaction that replaces its page, so that one
# snapshot always holds either the change or the new page.
CHANGED = text("""
    SELECT c.asset_id, c.partition, c.data_version, c.fingerprint_id, c.dependency_hash_id, c.consumed_digest, c.last_outcome
    FROM (SELECT DISTINCT asset_id, partition FROM cell_change WHERE asset_id = ANY(CAST(:assets AS bigint[]))) u
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
""")

# Every row of cell, for rebuilding pages and for comparing them.
ALL_CELLS = text("""
    SELECT asset_id, partition, data_version, fingerprint_id, dependency_hash_id, consumed_digest, last_outcome
    FROM cell
    WHERE asset_id = ANY(CAST(:assets AS bigint[])) AND (data_version IS NOT NULL OR last_outcome IS NOT NULL)
""")

OPEN_CELLS = text("""
    SELECT o.asset_id, o.partition, o.task_id, t.state
    FROM open_cell o JOIN task t ON t.id = o.task_id
    WHERE o.asset_id = ANY(CAST(:assets AS bigint[]))
""")

FINGERPRINTS = text("SELECT text, id FROM fingerprint WHERE text = ANY(CAST(:texts AS text[]))")

DETAILS = text("""
    SELECT c.asset_id, c.partition, c.data_version, c.location, c.metadata, c.published_at, c.version_at,
           c.published_attempt, c.published_run, a.started_at, c.last_outcome, c.last_attempt, c.last_attempt_at,
           c.last_error, a.inputs
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN cell c ON c.asset_id = u.asset_id AND c.partition = u.partition
    LEFT JOIN attempt a ON a.id = c.published_attempt
""")


class CellsQueries(Queries):
    """Implements `CellsReader`; a part of `Reader`."""

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        """Pages in key order, then one block of what is not folded into them."""
        wanted = list(assets)
        found: dict[AssetId, list[CellBlock]] = {}
        for asset_id, packed in self._stream(PAGES, assets=wanted):
            found.setdefault(asset_id, []).append(unpack(packed))
        for asset_id, rows in _by_asset(self._rows(CHANGED, assets=wanted)).items():
            found.setdefault(asset_id, []).append(block_of(rows))
        return found

    def rebuilt(self, assets: Collection[AssetId]) -> Mapping[AssetId, CellBlock]:
        """One block per asset, made from the rows of `cell`: what the pages must be equal to."""
        rows = self._rows(ALL_CELLS, assets=list(assets))
        return {asset_id: block_of(cells) for asset_id, cells in _by_asset(rows).items()}

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        """The open cells of these assets, by partition."""
        found: dict[AssetId, dict[str, OpenCell]] = {}
        for asset_id, partition, task_id, state in self._rows(OPEN_CELLS, assets=list(assets)):
            found.setdefault(asset_id, {})[partition] = OpenCell(task_id, TaskState(state))
        return found

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        """The interned ids of these fingerprints; those never stored are left out."""
        return {row[0]: row[1] for row in self._rows(FINGERPRINTS, texts=list(texts))}

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """The details of these cells; unknown ones are left out."""
        if not cells:
            return {}
        wanted = {"assets": [cell.asset_id for cell in cells], "partitions": [cell.partition for cell in cells]}
        found: dict[CellRef, CellDetail] = {}
        for row in self._rows(DETAILS, **wanted):
            cell = CellRef(row[0], row[1])
            found[cell] = CellDetail(
                cell=cell,
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
        return found


def _by_asset(rows: Sequence[Any]) -> dict[AssetId, list[CellRow]]:
    found: dict[AssetId, list[CellRow]] = {}
    for asset_id, partition, version, fingerprint_id, dependency_id, digest, outcome in rows:
        unsigned = None if digest is None else int(digest) % (1 << 64)
        found.setdefault(asset_id, []).append(
            CellRow(partition, version, fingerprint_id, dependency_id, unsigned, outcome)
        )
    return found
