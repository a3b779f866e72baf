"""What partition schemes are interned and compared by. Pure."""

from __future__ import annotations

from hashlib import sha256

from partita.assets import PartitionsSpec, canonical_json


def scheme_hash(spec: PartitionsSpec | None) -> str:
    """32 hexadecimal digits; equal for equal schemes, and the same in every release that knows the scheme.

    >>> scheme_hash(None) == scheme_hash(None)
    True
    """
    return sha256(b"null" if spec is None else canonical_json(spec)).hexdigest()[:32]
