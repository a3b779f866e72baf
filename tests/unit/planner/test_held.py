"""Blocks laid over a space: pages with holes, keys that exist no more, and later blocks that override earlier ones."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import Daily, space_of
from partita.core.cells.held import Held
from partita.core.cells.pages import block_of
from partita.core.cells.values import CellRow, Outcome

SPACE = space_of(Daily("2024-01-01"), datetime(2024, 2, 1, tzinfo=UTC))
GONE = "2023-12-31"
KEYS = [GONE, *(str(key) for key in SPACE.keys(SPACE.all()))]


@st.composite
def rows(draw: st.DrawFn) -> CellRow:
    version = draw(st.sampled_from([None, "v1", "v2"]))
    return CellRow(
        partition=draw(st.sampled_from(KEYS)),
        data_version=version,
        fingerprint_id=draw(st.sampled_from([None, 1, 2])),
        dependency_hash_id=draw(st.sampled_from([None, 1])),
        consumed_digest=draw(st.sampled_from([None, 5, 2**64 - 1])),
        last_outcome=draw(st.sampled_from([None, "published", "failed", "skipped"])),
    )


@st.composite
def blocks(draw: st.DrawFn) -> list[list[CellRow]]:
    """A page of one run of keys, or none; then blocks of scattered rows."""
    first, n = draw(st.integers(0, 20)), draw(st.integers(0, 31))
    made = draw(rows())
    page = [CellRow(key, "v1", made.fingerprint_id, 1, 5, "published") for key in KEYS[1:][first : first + n]]
    more = draw(st.lists(st.lists(rows(), min_size=1, max_size=25, unique_by=lambda row: row.partition), max_size=2))
    return [part for part in (page, *more) if part]


@given(parts=blocks())
def test_columns_are_those_of_the_last_row_of_each_cell(parts: list[list[CellRow]]) -> None:
    held = Held(SPACE, [block_of(part) for part in parts], {})
    last = {row.partition: row for part in parts for row in part}
    cells = [last.get(key) for key in KEYS[1:]]
    published = [row is not None and row.data_version is not None for row in cells]
    assert held.published.tolist() == published
    assert held.outcome.tolist() == [Outcome[((row and row.last_outcome) or "none").upper()] for row in cells]
    assert held.ordinary == all(row.last_outcome == "published" and row.data_version for part in parts for row in part)
    expected = np.full(SPACE.size, 5, dtype=np.uint64)
    assert held.consumed_another(expected).tolist() == [
        there and row is not None and (row.consumed_digest or 0) != 5
        for there, row in zip(published, cells, strict=True)
    ]
    another = held.made_by_another("fingerprint", 1)
    assert (np.zeros(SPACE.size, dtype=np.bool_) if another is None else another).tolist() == [
        there and row is not None and row.fingerprint_id == 2 for there, row in zip(published, cells, strict=True)
    ]
    total = np.ones(SPACE.size, dtype=np.uint64)
    held.add_hashes(total, np.uint64(3), np.empty_like(total))
    assert np.array_equal(total, held.hash * np.uint64(3) + np.uint64(1))
    assert ((held.hash > 0) == held.published).all()
