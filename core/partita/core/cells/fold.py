"""The fold duty: what `cell_change` names goes into the pages, a bounded number of changes a visit.

A visit costs a few statements, however many assets it touches, and reads only the pages that change. Order matters: the pages of
all its assets are locked before their cells are read, so that of two folds of one cell the later one also reads later, and a
page never goes back in time. Assets are locked in id order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from partita.core.cells.pages import Page, block_of, fold, unpack
from partita.core.cells.values import CellRow
from partita.core.collecting import collector_rests
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellFact, CellRef, Exclusive
from partita.core.store.values_definitions import CellPage, PageRef

FOLD_CHANGES = 5_000
"""Changes that one visit takes; a page costs a third of a millisecond to fold."""


def fold_pages(store: Store, limit: int = FOLD_CHANGES) -> int:
    """Fold up to `limit` changes; returns how many cells were folded (0: nothing was waiting)."""
    with collector_rests():
        return store.run(lambda tx: _fold(tx, limit), durable=False)


def _fold(tx: Tx, limit: int) -> int:
    if not tx.try_duty(Exclusive.FOLD_PAGES):
        return 0
    changed = sorted(tx.take_cell_changes(limit), key=lambda cell: (cell.asset_id, cell.partition))
    if not changed:
        return 0
    first_keys = tx.lock_pages(cell.asset_id for cell in changed)
    facts = tx.read_cells(changed)
    ids = tx.intern(
        text for fact in facts.values() for text in (fact.fingerprint, fact.dependency_hash) if text is not None
    )
    rows = _by_page(first_keys, [(cell, _row(facts[cell], ids)) for cell in changed if cell in facts])
    old = tx.read_pages(page for page in rows if first_keys[page.asset_id])
    made: list[CellPage] = []
    for page, inside in rows.items():
        known = old.get(page)
        last = not first_keys[page.asset_id] or page.first_key == first_keys[page.asset_id][-1]
        folded = fold(None if known is None else unpack(known.packed), block_of(inside), last=last)
        made += [_stored(page.asset_id, one) for one in folded]
    tx.replace_pages(old, made)
    return len(changed)


def _by_page(
    first_keys: Mapping[AssetId, Sequence[str]], cells: Sequence[tuple[CellRef, CellRow]]
) -> dict[PageRef, list[CellRow]]:
    """The rows by the page that they belong to; of an asset without pages all, under the first of them."""
    found: dict[PageRef, list[CellRow]] = {}
    for cell, row in cells:
        firsts = first_keys[cell.asset_id]
        # A key before the first page belongs to the first one.
        place = max(bisect_right(firsts, cell.partition) - 1, 0)
        first_key = firsts[place] if firsts else ""
        found.setdefault(PageRef(cell.asset_id, first_key), []).append(row)
    return found


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
