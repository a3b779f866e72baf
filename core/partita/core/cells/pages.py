"""Pages: up to 4,096 cells of one asset in key order, packed into a few bytes each.

Owns the packed form and how changes are folded in. A page holds the cells from its first key up to the first key of the
next page; keys compare by code point, which is what the C collation does with UTF-8. Pure: `store.queries` moves the
bytes. Rebuilding all pages from the rows of `cell` must give the same cells (tested).

Reading a page copies nothing: its columns are views of the bytes, a column of one value is stored once, and the keys stay
packed until somebody asks for them.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import cell_hash
from partita.core.cells.keys import TOKEN_BYTES, KeyColumn
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellBlock, CellRow, Outcome

PAGE_CELLS = 4096
_MAGIC = b"cp"
_FORMAT = 2
# Magic, form, which columns are one value (a bit each), cells, bytes of the packed keys, their token; a multiple of eight
# bytes, as are the keys with their padding, so that the columns lie aligned.
_HEAD = struct.Struct(f"<2sBBII{TOKEN_BYTES}s4x")
_FIRST_FORM = struct.Struct("<2sBxII")  # pages of form 1: no token, no padding, every column in full

_COLUMNS = ("hash", "digest", "fingerprint", "dependency", "flags")
_KINDS = tuple(np.dtype(kind) for kind in ("<u8", "<u8", "<u4", "<u4", "u1"))

_OUTCOMES: dict[str | None, int] = {None: 0, **{one.name.lower(): one << OUTCOME_SHIFT for one in Outcome}}

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One row of `cell_page`."""

    first_key: str
    packed: bytes
    n: int
    sum_hash: int


def block_of(rows: Iterable[CellRow]) -> CellBlock:
    """Rows as columns, in key order."""
    ordered = sorted(rows, key=lambda row: row.partition)
    return CellBlock(
        names=KeyColumn.of(row.partition for row in ordered),
        hash=np.array([_hash(row) for row in ordered], dtype=np.uint64),
        digest=np.array([row.consumed_digest or 0 for row in ordered], dtype=np.uint64),
        fingerprint=np.array([row.fingerprint_id or 0 for row in ordered], dtype=np.uint32),
        dependency=np.array([row.dependency_hash_id or 0 for row in ordered], dtype=np.uint32),
        flags=np.array([_flags(row) for row in ordered], dtype=np.uint8),
    )


def pack(block: CellBlock) -> Page:
    """The stored form of a block that is not empty."""
    text = block.names.packed
    ones, body = 0, []
    for place, (name, kind) in enumerate(zip(_COLUMNS, _KINDS, strict=True)):
        column = getattr(block, name)
        if (column == column[0]).all():
            ones |= 1 << place
            column = column[:1]
        body.append(column.astype(kind).tobytes())
    head = _HEAD.pack(_MAGIC, _FORMAT, ones, len(block), len(text), block.token)
    return Page(
        first_key=block.keys[0],
        packed=b"".join((head, text, bytes(-len(text) % 8), *body)),
        n=len(block),
        sum_hash=int(block.hash.sum(dtype=np.uint64)),
    )


def unpack(packed: bytes) -> CellBlock:
    """The block of a stored page; raises ValueError when the bytes are of another form."""
    form = packed[2] if packed[:2] == _MAGIC else None
    if form == 1:
        return _unpack_first(packed)
    if form != _FORMAT:
        raise ValueError(f"a cell page of form {packed[:3]!r} is not readable by this version; rebuild the pages")
    _, _, ones, n, text_bytes, token = _HEAD.unpack_from(packed)
    start = _HEAD.size
    names = KeyColumn.stored(n, packed[start : start + text_bytes], token)
    at = start + text_bytes + -text_bytes % 8
    columns = []
    for place, kind in enumerate(_KINDS):
        one = ones >> place & 1
        columns.append(np.ndarray((n,), kind, packed, at, (0 if one else kind.itemsize,)))
        at += kind.itemsize * (1 if one else n)
    return CellBlock(names, *columns)


def fold(page: CellBlock | None, changed: CellBlock, *, last: bool) -> list[Page]:
    """The pages that take the place of `page` once the changed cells are in it.

    The last page of an asset is filled to the brim, because time keys come in order; a full page in the middle is
    split evenly, so that it does not split again at the next change.
    """
    merged = changed if page is None else _merge(page, changed)
    return [pack(part) for part in _split(merged, last=last)]


def rows_equal(left: CellBlock, right: CellBlock) -> bool:
    """Whether two blocks hold the same cells."""
    return left.keys == right.keys and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in _COLUMNS
    )


def joined(blocks: Sequence[CellBlock]) -> CellBlock:
    """Blocks in key order as one; an empty list gives an empty block."""
    if not blocks:
        return block_of(())
    names = KeyColumn.of(key for block in blocks for key in block.keys)
    return CellBlock(names, **{name: np.concatenate([getattr(block, name) for block in blocks]) for name in _COLUMNS})


def chosen(block: CellBlock, mask: npt.NDArray[np.bool_]) -> CellBlock:
    """The cells of a block where `mask` holds."""
    names = KeyColumn.of(key for key, stays in zip(block.keys, mask.tolist(), strict=True) if stays)
    return CellBlock(names, **{name: getattr(block, name)[mask] for name in _COLUMNS})


def _unpack_first(packed: bytes) -> CellBlock:
    """The block of a page of form 1, which earlier versions wrote: the next fold writes it in today's form."""
    _, _, n, text_bytes = _FIRST_FORM.unpack_from(packed)
    at = _FIRST_FORM.size + text_bytes
    names = KeyColumn.stored(n, packed[_FIRST_FORM.size : at])
    columns = []
    for kind in _KINDS:
        columns.append(np.frombuffer(packed, dtype=kind, count=n, offset=at))
        at += n * kind.itemsize
    return CellBlock(names, *columns)


def _merge(page: CellBlock, changed: CellBlock) -> CellBlock:
    """The cells of both; where they hold the same key, that of `changed`."""
    keys = page.keys
    places = np.fromiter((bisect_left(keys, key) for key in changed.keys), dtype=np.int64, count=len(changed))
    there = np.fromiter(
        (at < len(keys) and keys[at] == key for at, key in zip(places.tolist(), changed.keys, strict=True)),
        dtype=np.bool_,
        count=len(changed),
    )
    fresh = ~there
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in _COLUMNS:
        column, new = getattr(page, name).copy(), getattr(changed, name)
        column[places[there]] = new[there]
        columns[name] = np.insert(column, places[fresh], new[fresh]) if fresh.any() else column
    if not fresh.any():
        return CellBlock(page.names, **columns)  # the usual case: the keys keep their packed form
    more = [key for key, is_new in zip(changed.keys, fresh.tolist(), strict=True) if is_new]
    return CellBlock(KeyColumn.of(sorted((*keys, *more))), **columns)


def _split(block: CellBlock, *, last: bool) -> Iterable[CellBlock]:
    n = len(block)
    if n <= PAGE_CELLS:
        yield block
        return
    each = PAGE_CELLS if last else -(-n // -(-n // PAGE_CELLS))
    for start in range(0, n, each):
        chosen = slice(start, start + each)
        columns: Columns = {name: getattr(block, name)[chosen] for name in _COLUMNS}
        yield CellBlock(KeyColumn.of(block.keys[chosen]), **columns)


def _hash(row: CellRow) -> int:
    return 0 if row.data_version is None else cell_hash(row.partition, row.data_version)


def _flags(row: CellRow) -> int:
    return (PUBLISHED if row.data_version is not None else 0) | _OUTCOMES[row.last_outcome]
