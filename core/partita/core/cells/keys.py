"""The keys of a block in order, in two forms: packed, as a page stores them, and as texts.

Owns the packed form, and that neither form is worked out before it is asked for: most readers need only the token, by which
they find the ordinals that they worked out for the same keys before.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

TOKEN_BYTES = 16


class KeyColumn:
    """`n` keys in ascending order. `token` is equal for equal keys, and practically never for others."""

    __slots__ = ("_keys", "_packed", "_token", "n")

    def __init__(self, n: int, *, keys: tuple[str, ...] | None, packed: bytes | None, token: bytes | None) -> None:
        self.n = n
        self._keys = keys
        self._packed = packed
        self._token = token

    @classmethod
    def of(cls, keys: Iterable[str]) -> KeyColumn:
        """A column of these keys, which are in ascending order."""
        found = tuple(keys)
        return cls(len(found), keys=found, packed=None, token=None)

    @classmethod
    def stored(cls, n: int, packed: bytes, token: bytes | None = None) -> KeyColumn:
        """A column as a page stores it."""
        return cls(n, keys=None, packed=packed, token=token)

    def __repr__(self) -> str:
        return f"<KeyColumn {self.n} keys>"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys as texts."""
        if self._keys is None:
            self._keys = _texts(self._raw(), self.n)
        return self._keys

    @property
    def packed(self) -> bytes:
        """The stored form."""
        if self._packed is None:
            self._packed = zlib.compress(self._raw(), 1)
        return self._packed

    @property
    def token(self) -> bytes:
        """What caches of these keys go by: 16 bytes."""
        if self._token is None:
            self._token = blake2b(self._raw(), digest_size=TOKEN_BYTES).digest()
        return self._token

    def _raw(self) -> bytes:
        if self._packed is not None:
            return zlib.decompress(self._packed)
        encoded = [key.encode() for key in self._keys or ()]
        return np.fromiter(map(len, encoded), dtype="<u4", count=self.n).tobytes() + b"".join(encoded)


def _texts(raw: bytes, n: int) -> tuple[str, ...]:
    lengths = np.frombuffer(raw, dtype="<u4", count=n).tolist()
    blob = raw[4 * n :]
    found, at = [], 0
    if blob.isascii():
        text = blob.decode("ascii")
        for length in lengths:
            found.append(text[at : at + length])
            at += length
        return tuple(found)
    for length in lengths:
        found.append(blob[at : at + length].decode())
        at += length
    return tuple(found)
