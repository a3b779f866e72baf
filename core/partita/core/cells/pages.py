"""Pages: up to 4,096 cells of one asset in key order, packed into a few bytes each.

Owns the packed form and how changes are folded in. A page holds the cells from its first key up to the first key of the
next page; keys compare by code point, which is what the C collation does with UTF-8. Pure: `store.queries` moves the
bytes. Rebuilding all pages from the rows of `cell` must give the same cells (tested).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import cell_hash
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellBlock, CellRow, Outcome

PAGE_CELLS = 4096
_HEAD = struct.Struct("<2sBxII")  # magic, format, cells, bytes of the compressed keys
_MAGIC = b"cp"
_FORMAT = 1
_MASK64 = (1 << 64) - 1


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
    keys = tuple(row.partition for row in ordered)
    return CellBlock(
        keys=keys,
        token=_token(keys),
        hash=np.array([_hash(row) for row in ordered], dtype=np.uint64),
        digest=np.array([row.consumed_digest or 0 for row in ordered], dtype=np.uint64),
        fingerprint=np.array([row.fingerprint_id or 0 for row in ordered], dtype=np.uint32),
        dependency=np.array([row.dependency_hash_id or 0 for row in ordered], dtype=np.uint32),
        flags=np.array([_flags(row) for row in ordered], dtype=np.uint8),
    )


def pack(block: CellBlock) -> Page:
    """The stored form of a block that is not empty."""
    lengths = np.array([len(key.encode()) for key in block.keys], dtype="<u4")
    text = zlib.compress(lengths.tobytes() + "".join(block.keys).encode(), 1)
    columns = (block.hash, block.digest, block.fingerprint, block.dependency, block.flags)
    body = b"".join(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns)
    return Page(
        first_key=block.keys[0],
        packed=_HEAD.pack(_MAGIC, _FORMAT, len(block.keys), len(text)) + text + body,
        n=len(block.keys),
        sum_hash=int(block.hash.sum(dtype=np.uint64)),
    )


def unpack(packed: bytes) -> CellBlock:
    """The block of a stored page; raises ValueError when the bytes are of another form."""
    magic, form, n, text_bytes = _HEAD.unpack_from(packed)
    if magic != _MAGIC or form != _FORMAT:
        raise ValueError(f"a cell page of form {magic!r} {form} is not readable by this version; rebuild the pages")
    at = _HEAD.size + text_bytes
    raw = zlib.decompress(packed[_HEAD.size : at])
    keys = _keys(raw, n)
    columns = []
    for kind in ("<u8", "<u8", "<u4", "<u4", "u1"):
        columns.append(np.frombuffer(packed, dtype=kind, count=n, offset=at))
        at += n * np.dtype(kind).itemsize
    return CellBlock(keys, _token(keys), *columns)


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
        np.array_equal(getattr(left, name), getattr(right, name))
        for name in ("hash", "digest", "fingerprint", "dependency", "flags")
    )


def joined(blocks: Sequence[CellBlock]) -> CellBlock:
    """Blocks in key order as one; an empty list gives an empty block."""
    if not blocks:
        return block_of(())
    keys = tuple(key for block in blocks for key in block.keys)
    return _made(keys, {name: np.concatenate([getattr(block, name) for block in blocks]) for name in _COLUMNS})


def chosen(block: CellBlock, mask: npt.NDArray[np.bool_]) -> CellBlock:
    """The cells of a block where `mask` holds."""
    keys = tuple(key for key, stays in zip(block.keys, mask.tolist(), strict=True) if stays)
    return _made(keys, {name: getattr(block, name)[mask] for name in _COLUMNS})


_COLUMNS = ("hash", "digest", "fingerprint", "dependency", "flags")


def _merge(page: CellBlock, changed: CellBlock) -> CellBlock:
    place: dict[str, int] = {key: index for index, key in enumerate(page.keys)}
    place.update((key, len(page.keys) + index) for index, key in enumerate(changed.keys))
    keys = tuple(sorted(place))
    take = np.fromiter((place[key] for key in keys), dtype=np.int64, count=len(keys))
    columns = {name: np.concatenate((getattr(page, name), getattr(changed, name)))[take] for name in _COLUMNS}
    return _made(keys, columns)


def _split(block: CellBlock, *, last: bool) -> Iterable[CellBlock]:
    n = len(block.keys)
    parts = -(-n // PAGE_CELLS)
    each = PAGE_CELLS if last else -(-n // max(parts, 1))
    for start in range(0, n, max(each, 1)):
        chosen = slice(start, start + each)
        yield _made(block.keys[chosen], {name: getattr(block, name)[chosen] for name in _COLUMNS})


def _made(keys: tuple[str, ...], columns: Mapping[str, npt.NDArray[Any]]) -> CellBlock:
    return CellBlock(keys=keys, token=_token(keys), **columns)


def _keys(raw: bytes, n: int) -> tuple[str, ...]:
    lengths = np.frombuffer(raw, dtype="<u4", count=n).tolist()
    blob = raw[4 * n :]
    if blob.isascii():
        text = blob.decode("ascii")
        keys, at = [], 0
        for length in lengths:
            keys.append(text[at : at + length])
            at += length
        return tuple(keys)
    found, at = [], 0
    for length in lengths:
        found.append(blob[at : at + length].decode())
        at += length
    return tuple(found)


def _token(keys: Sequence[str]) -> bytes:
    state = blake2b(digest_size=16)
    for key in keys:
        state.update(f"{len(key)}:{key}".encode())
    return state.digest()


def _hash(row: CellRow) -> int:
    return 0 if row.data_version is None else cell_hash(row.partition, row.data_version)


def _flags(row: CellRow) -> int:
    return (PUBLISHED if row.data_version is not None else 0) | Outcome.of(row.last_outcome) << OUTCOME_SHIFT
