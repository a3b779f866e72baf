"""What may be noted of a cell: small JSON (S-208, S-209). Large values belong into the data, with a reference here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from partita.assets.errors import PartitaError

METADATA_LIMIT_BYTES = 64 * 1024  # S-209
METADATA_DEPTH = 100  # well below what recursive readers of it can take


def checked_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` as a plain dict, refused when it is not JSON or too large."""
    if _deeper_than(values, METADATA_DEPTH):
        raise PartitaError(
            f"metadata {', '.join(sorted(map(str, values)))} is nested too deeply",
            rule=f"lists and dicts in metadata go at most {METADATA_DEPTH} levels deep",
            fix="flatten it, or keep it in the data and put a reference here",
        )
    try:
        size = len(json.dumps(values, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise PartitaError(
            f"metadata {', '.join(sorted(map(str, values)))} is not JSON: {error}",
            rule="metadata holds texts, finite numbers, booleans, None, lists and dicts with text keys",
            fix="convert the value, for example with str()",
        ) from None
    if size > METADATA_LIMIT_BYTES:
        raise PartitaError(
            f"metadata takes {size:,} bytes",
            rule=f"metadata of a cell takes at most {METADATA_LIMIT_BYTES:,} bytes",
            fix="keep large values in the data and put a reference here",
        )
    return dict(values)


def _deeper_than(value: object, levels: int) -> bool:
    """Whether lists and dicts nest deeper. Without recursion: that is what it guards against."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            if isinstance(one, Mapping | list | tuple)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not layer or len(layer) > METADATA_LIMIT_BYTES:  # as wide as that it is too large anyway
            return False
    return any(isinstance(one, Mapping | list | tuple) for one in layer)
