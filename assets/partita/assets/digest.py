"""Digests of what cells hold, summed so that the order of cells never matters.

The digest of a cell's inputs is the sum modulo 2^64 of (factor of the input) x (sum of the hashes of the
upstream cells). It is linear: the sum over a range of cells is a difference of two prefix sums, and an
input that reverts to an old version gives the old digest back. Owns no storage and no staleness rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

MASK64 = (1 << 64) - 1
Part = str | bytes | int

DERIVED = "derived:"
"""How data versions of derived cells begin; no other does."""
_CELL = b"s" + (4).to_bytes(8, "big") + b"cell"
_DERIVED = re.compile(r"derived:([0-9a-f]{16}):[0-9a-f]{16}")


def hash64(*parts: Part) -> int:
    """Hash the parts, each with its kind and length in front, to an unsigned 64-bit integer; the same on every machine.

    >>> hash64("ab", "c") == hash64("a", "bc")
    False
    >>> hash64("orders", 7)
    8704356835758318414
    """
    encoded = b"".join([kind + len(body).to_bytes(8, "big") + body for kind, body in map(_encode, parts)])
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big")


def cell_hash(partition_key: str, data_version: str) -> int:
    """Hash of one cell holding one data version (unsigned 64-bit): other data, other hash.

    A derived cell hashes to the sum of its parts: what reads it reads what its parts hold, and is as fresh as it was with them.

    >>> cell_hash("2026-03-01", "v1") == cell_hash("2026-03-01", "v2")
    False
    >>> parts = [("2026-03-01", "v1"), ("2026-03-02", "v7")]
    >>> cell_hash("2026-03", derived_version(parts)) == sum(cell_hash(*one) for one in parts) & MASK64
    True
    """
    if data_version.startswith(DERIVED) and (found := _DERIVED.fullmatch(data_version)) is not None:
        return int(found[1], 16)
    key, version = partition_key.encode(), data_version.encode()
    # As `hash64("cell", ...)`, which is called for every cell that is published, in half of its time.
    encoded = b"%bs%b%bs%b%b" % (_CELL, len(key).to_bytes(8, "big"), key, len(version).to_bytes(8, "big"), version)
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big")


def derived_version(parts: Iterable[tuple[str, str]]) -> str:
    """The data version of a cell that is put together of others, given as (partition, data version) in their order.

    It carries the sum of their hashes.

    >>> derived_version([("a", "1"), ("b", "2")])[:8]
    'derived:'
    >>> derived_version([("a", "1")]) == derived_version([("a", "2")])
    False
    """
    known = list(parts)
    total = sum(cell_hash(*one) for one in known) & MASK64
    return f"{DERIVED}{total:016x}:{hash64(*(text for one in known for text in one)):016x}"


def input_factor(upstream_asset_id: int, input_name: str) -> int:
    """The odd 64-bit multiplier of one input; odd, so that multiplication by it loses nothing.

    >>> input_factor(7, "orders") % 2
    1
    """
    return hash64("input", upstream_asset_id, input_name) | 1


def digest_of_inputs(items: Iterable[tuple[int, str, int]]) -> int:
    """Digest of (upstream asset id, input name, sum of cell hashes) over all inputs of a cell, modulo 2^64.

    It is linear, so that the digest of a range of cells is a difference of two sums.

    >>> first, second = cell_hash("2026-03-01", "v1"), cell_hash("2026-03-02", "v1")
    >>> whole = digest_of_inputs([(7, "orders", first + second)])
    >>> whole == digest_of_inputs([(7, "orders", first), (7, "orders", second)])
    True
    """
    return sum(input_factor(asset_id, name) * cells for asset_id, name, cells in items) & MASK64


def _encode(part: Part) -> tuple[bytes, bytes]:
    if isinstance(part, str):
        return b"s", part.encode()
    if isinstance(part, bytes):
        return b"b", part
    return b"i", str(part).encode()
