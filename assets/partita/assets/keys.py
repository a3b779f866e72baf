"""Keys of assets and partitions: their legal form and their stored form.

Keys are opaque text. A multi-dimensional key is stored as a canonical JSON array, so that any printable
text is a legal dimension key; no code splits a key on a separator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NewType

from partita.assets.errors import DefinitionError

AssetKey = NewType("AssetKey", str)
"""A validated key of an asset (text); made by `asset_key`.

>>> AssetKey("raw/orders")
'raw/orders'
"""
PartitionKey = NewType("PartitionKey", str)
"""A validated stored key of a partition (text); made by `partition_key` and `join_key`, listed by a space.

>>> PartitionKey("2026-03-01")
'2026-03-01'
"""

UNPARTITIONED = PartitionKey("")
"""The stored key of the one partition of an unpartitioned asset.

>>> space_of(None, datetime(2026, 3, 1, tzinfo=UTC)).keys_of([0]) == [UNPARTITIONED]
True
"""

MAX_PARTITION_KEY_BYTES = 1000
"""Of UTF-8, in one dimension. Keys are indexed: Postgres takes 2,700 bytes of all dimensions together."""
MAX_SEGMENT_CHARS = 200
"""Of an asset key: each segment names a folder, which file systems limit to 255."""
MAX_ASSET_KEY_CHARS = 500

_ASSET_KEY = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_./-]+")


def asset_key(text: str) -> AssetKey:
    """Validate `text` as an asset key (`segment/segment`); raises DefinitionError.

    >>> asset_key("raw/orders")
    'raw/orders'
    >>> asset_key("raw orders")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: asset key 'raw orders' is not legal; ...; for example 'raw_orders'
    """
    if not _ASSET_KEY.fullmatch(text):
        legal = "/".join(part for part in _NOT_ALLOWED.sub("_", text).split("/") if part)
        raise DefinitionError(
            f"asset key {text!r} is not legal",
            rule="a key is one or more segments of letters, digits, '_', '.' and '-', joined by '/'",
            fix=f"for example {legal!r}" if legal else "",
        )
    if len(text) > MAX_ASSET_KEY_CHARS or max(map(len, text.split("/"))) > MAX_SEGMENT_CHARS:
        raise DefinitionError(
            f"asset key {text[:40]!r}... has {len(text)} characters",
            rule=f"a key has at most {MAX_ASSET_KEY_CHARS} characters, and {MAX_SEGMENT_CHARS} between two '/'",
        )
    return AssetKey(text)


def partition_key(text: str) -> PartitionKey:
    """Validate `text` as the key of one partition in one dimension; raises DefinitionError.

    >>> partition_key("São Paulo / 東京")
    'São Paulo / 東京'
    >>> partition_key(" EWR")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: partition key ' EWR' is not legal; ...
    """
    if not text:
        rule = "a partition key is not empty"
    elif text != text.strip():
        rule = "a partition key neither begins nor ends with blanks"
    elif not text.isprintable():
        rule = "a partition key holds printable characters only"
    elif len(text.encode()) > MAX_PARTITION_KEY_BYTES:
        raise DefinitionError(
            f"partition key {text[:40]!r}... takes {len(text.encode()):,} bytes",
            rule=f"a partition key takes at most {MAX_PARTITION_KEY_BYTES:,} bytes of UTF-8",
            fix="partition by a short name or a digest of it",
        )
    else:
        return PartitionKey(text)
    raise DefinitionError(f"partition key {text!r} is not legal", rule=rule)


def join_key(parts: Sequence[str]) -> PartitionKey:
    r"""Return the stored form of a multi-dimensional key, its parts in the definition's order of dimensions.

    >>> join_key(["2026-03-01", 'a "b", c'])
    '["2026-03-01","a \\"b\\", c"]'
    """
    return PartitionKey(f"[{','.join(map(json_text, parts))}]")


def json_text(part: str) -> str:
    """One dimension key as it stands in a stored multi-dimensional key."""
    return json.dumps(part, ensure_ascii=False)


def split_key(key: str) -> tuple[str, ...] | None:
    """Return the dimension keys of a stored multi-dimensional key; None when `key` is not in that form.

    >>> split_key('["2026-03-01","EWR"]')
    ('2026-03-01', 'EWR')
    >>> split_key("2026-03-01") is None
    True
    """
    try:
        parts = json.loads(key)
    except ValueError:
        return None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return None
    return tuple(parts) if join_key(parts) == key else None
