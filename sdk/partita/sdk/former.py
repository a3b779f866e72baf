"""`renamed_from=`: the keys that an asset had before. Owns what may be written there; what it does is decided at activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from partita.assets import AssetKey, DefinitionError, asset_key

FormerKeys: TypeAlias = str | Sequence[str]
"""One former key, or several with the nearest first."""


def former_keys(said: FormerKeys, key: AssetKey) -> tuple[AssetKey, ...]:
    """The checked keys of `renamed_from=`. Raises DefinitionError.

    >>> former_keys(["shop/orders", "orders"], asset_key("raw/orders"))
    ('shop/orders', 'orders')
    """
    written: object = said
    several = isinstance(written, list | tuple) and all(isinstance(one, str) for one in written)
    if not isinstance(written, str) and not several:
        raise DefinitionError(
            f"asset {key!r}: renamed_from={written!r}",
            rule="it is a key, or a list of keys with the nearest former one first",
            fix='write for example renamed_from="raw/orders"',
        )
    found = tuple(asset_key(one) for one in ([said] if isinstance(said, str) else said))
    if key in found:
        raise DefinitionError(
            f"asset {key!r}: renamed_from names its own key",
            rule="it names keys that the asset had before",
            fix="leave it out, or give the asset its new key",
        )
    if len(set(found)) != len(found):
        raise DefinitionError(
            f"asset {key!r}: renamed_from={list(found)!r} names a key twice", rule="each former key is named once"
        )
    return found
