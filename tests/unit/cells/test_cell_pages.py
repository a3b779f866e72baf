"""Pages: packing is exact, folding in any order gives what one rebuild gives, pages stay within their size."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.core.cells.pages import PAGE_CELLS, block_of, fold, joined, pack, rows_equal, unpack
from partita.core.cells.values import CellBlock, CellRow, Outcome

KEYS = st.text(min_size=0, max_size=6)
ROWS = st.builds(
    CellRow,
    partition=KEYS,
    data_version=st.none() | st.text(max_size=4),
    fingerprint_id=st.none() | st.integers(1, 2**32 - 1),
    dependency_hash_id=st.none() | st.integers(1, 2**32 - 1),
    consumed_digest=st.none() | st.integers(0, 2**64 - 1),
    last_outcome=st.none() | st.sampled_from([one.name.lower() for one in Outcome if one]),
)


@given(rows=st.lists(ROWS, min_size=1, unique_by=lambda row: row.partition))
def test_packing_is_exact(rows: list[CellRow]) -> None:
    """Keys are any text (law 9), digests and hashes all 64 bits."""
    block = block_of(rows)
    page = pack(block)
    assert rows_equal(unpack(page.packed), block)
    assert unpack(page.packed).token == block.token
    assert (page.n, page.first_key) == (len(rows), min(row.partition for row in rows))
    assert page.sum_hash == int(block.hash.sum(dtype="uint64"))


@given(folds=st.lists(st.lists(ROWS, min_size=1, unique_by=lambda row: row.partition), min_size=1, max_size=6))
@settings(max_examples=50)
def test_folding_step_by_step_equals_rebuilding(folds: list[list[CellRow]]) -> None:
    page = None
    latest: dict[str, CellRow] = {}
    for rows in folds:
        latest.update({row.partition: row for row in rows})
        (made,) = fold(page, block_of(rows), last=True)
        page = unpack(made.packed)
    assert page is not None
    assert rows_equal(page, block_of(latest.values()))


def test_full_pages_split_at_the_end_by_filling_and_in_the_middle_evenly() -> None:
    rows = [CellRow(f"{index:06}", "v", None, None, None, None) for index in range(PAGE_CELLS * 2 + 5)]
    at_end = fold(None, block_of(rows), last=True)
    assert [page.n for page in at_end] == [PAGE_CELLS, PAGE_CELLS, 5]
    middle = fold(unpack(at_end[0].packed), block_of([CellRow("000000a", "v", None, None, None, None)]), last=False)
    assert [page.n for page in middle] == [2049, 2048]
    assert joined([unpack(page.packed) for page in at_end]).keys == tuple(row.partition for row in rows)


def test_a_page_of_another_form_is_refused() -> None:
    page = pack(block_of([CellRow("a", "v", 1, 1, 1, "published")]))
    other = page.packed[:2] + b"\x09" + page.packed[3:]
    with pytest.raises(ValueError, match="rebuild the pages"):
        unpack(other)


@given(
    rows=st.lists(ROWS, min_size=1, unique_by=lambda row: row.partition), more=st.lists(ROWS, min_size=1, max_size=3)
)
def test_pages_of_the_first_form_are_read_and_folded_into_todays(rows: list[CellRow], more: list[CellRow]) -> None:
    block, changed = block_of(rows), block_of({row.partition: row for row in more}.values())
    first = first_form(block)
    assert rows_equal(unpack(first), block)
    assert unpack(first).token == block.token
    (made,) = fold(unpack(first), changed, last=True)
    latest = {row.partition: row for row in (*rows, *more)}
    assert rows_equal(unpack(made.packed), block_of(latest.values()))


def first_form(block: CellBlock) -> bytes:
    """As the version before wrote it."""
    lengths = np.array([len(key.encode()) for key in block.keys], dtype="<u4")
    text = zlib.compress(lengths.tobytes() + "".join(block.keys).encode(), 1)
    columns = (block.hash, block.digest, block.fingerprint, block.dependency, block.flags)
    body = b"".join(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns)
    return struct.pack("<2sBxII", b"cp", 1, len(block.keys), len(text)) + text + body


def test_a_column_of_one_value_is_stored_once_and_keys_stay_packed() -> None:
    rows = [CellRow(f"2026-01-{day:02}", "v", 7, 8, None, "published") for day in range(1, 32)]
    page = pack(block_of(rows))
    varied = pack(block_of([row._replace(fingerprint_id=index + 1) for index, row in enumerate(rows)]))
    assert len(varied.packed) - len(page.packed) == 4 * (len(rows) - 1)
    read = unpack(page.packed)
    assert read.names.packed == block_of(rows).names.packed
    assert [len(getattr(read, name)) for name in ("hash", "digest", "fingerprint", "dependency", "flags")] == [31] * 5
    (again,) = fold(read, block_of([rows[3]._replace(data_version="w")]), last=True)
    assert unpack(again.packed).names.packed == read.names.packed  # no new key: not packed again
