"""Locations that stand for several: what a cell points to that was put together of stored parts.

Owns the text form, which the control plane writes and an IO manager reads. All else of a location is its manager's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from partita.assets.errors import DefinitionError

JOINABLE = frozenset({"lake"})
"""The schemes of locations whose manager reads several parts as one."""


def joined_location(parts: Iterable[str]) -> str:
    """One location for the rows of all `parts`, in their order: the scheme, and a JSON list. Parts that are joined already are
    taken apart first. Raises DefinitionError where no manager reads such a list.

    >>> joined_location(["lake:file:///a", "lake:file:///b"])
    'lake:["lake:file:///a","lake:file:///b"]'
    >>> joined_location(["duckdb:file:///a", "duckdb:file:///b"])
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: 'duckdb' locations cannot be joined; ...
    """
    flat = [one for part in parts for one in location_parts(part)]
    for scheme in sorted({one.partition(":")[0] for one in flat} - JOINABLE):
        raise DefinitionError(f"{scheme!r} locations cannot be joined", rule="the lake reads several parts as one")
    return flat[0] if len(flat) == 1 else f"lake:{json.dumps(flat, ensure_ascii=False, separators=(',', ':'))}"


def location_parts(location: str) -> tuple[str, ...]:
    """The locations that one stands for: itself, unless it is joined.

    >>> location_parts('lake:["lake:file:///a","lake:file:///b"]')
    ('lake:file:///a', 'lake:file:///b')
    >>> location_parts("lake:file:///a")
    ('lake:file:///a',)
    """
    scheme, _, rest = location.partition(":")
    if scheme not in JOINABLE or not rest.startswith("["):
        return (location,)
    return tuple(str(one) for one in json.loads(rest))
