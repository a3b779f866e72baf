"""The fold duty: what `cell_change` names goes into the pages, a bounded number of changes a visit.

Order matters: an asset's pages are locked before its cells are read, so that of two folds of one cell the later one also
reads later, and a page never goes back in time. Assets are locked in id order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby

from partita.core.cells.pages import Page, block_of, fold, unpack
from partita.core.cells.values import CellRow
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellFact, CellRef
from partita.core.store.values_definitions import CellPage

FOLD_CHANGES = 5_000
"""Changes that one visit takes; a page costs about a millisecond to fold."""


def fold_pages(store: Store, limit: int = FOLD_CHANGES) -> int:
    """Fold up to `limit` changes; returns how many cells were folded (0: nothing was waiting)."""
    return store.run(lambda tx: _fold(tx, limit), durable=False)


def _fold(tx: Tx, limit: int) -> int:
    changed = sorted(tx.take_cell_changes(limit))
    for asset_id, cells in groupby(changed, key=lambda cell: cell.asset_id):
        _fold_asset(tx, asset_id, list(cells))
    return len(changed)


def _fold_asset(tx: Tx, asset_id: AssetId, cells: Sequence[CellRef]) -> None:
    pages = tx.lock_pages(asset_id)
    facts = tx.read_cells(cells)
    ids = tx.intern(
        text for fact in facts.values() for text in (fact.fingerprint, fact.dependency_hash) if text is not None
    )
    firsts = [page.first_key for page in pages]
    by_page: dict[int, list[CellRow]] = {}
    for cell in cells:
        if cell in facts:
            # A key before the first page belongs to the first one.
            place = max(bisect_right(firsts, cell.partition) - 1, 0)
            by_page.setdefault(place, []).append(_row(facts[cell], ids))
    removed: list[str] = []
    made: list[CellPage] = []
    for place, rows in by_page.items():
        old = pages[place] if pages else None
        last = place >= len(pages) - 1
        if old is not None:
            removed.append(old.first_key)
        folded = fold(None if old is None else unpack(old.packed), block_of(rows), last=last)
        made += [_stored(asset_id, page) for page in folded]
    tx.replace_pages(asset_id, removed, made)


def _row(fact: CellFact, ids: dict[str, int]) -> CellRow:
    return CellRow(
        partition=fact.cell.partition,
        data_version=fact.data_version,
        fingerprint_id=None if fact.fingerprint is None else ids[fact.fingerprint],
        dependency_hash_id=None if fact.dependency_hash is None else ids[fact.dependency_hash],
        consumed_digest=fact.consumed_digest,
        last_outcome=fact.last_outcome,
    )


def _stored(asset_id: AssetId, page: Page) -> CellPage:
    return CellPage(asset_id, page.first_key, page.n, page.packed, page.sum_hash)
