"""What an asset depends on, as one hash: upstreams, names and mappings of its inputs.

Owns what counts as another dependency. The location of an upstream does not: an asset that moves stays what it is. Neither
does a new key: whoever knows the former ones gives `origins` (ADR 10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from partita.assets.keys import AssetKey
from partita.assets.specs import InputSpec, canonical_json


def dependency_hash(inputs: Iterable[InputSpec], origins: Mapping[AssetKey, AssetKey] | None = None) -> str:
    """32 hex digits; the order of inputs does not count. `origins`: the first key of each upstream that was renamed.

    >>> reads = lambda key: InputSpec(name="rows", upstream=key, mapping=to_spec(Identity()))
    >>> dependency_hash([reads("raw/orders")]) == dependency_hash([reads("orders")])
    False
    >>> dependency_hash([reads("raw/orders")], {"raw/orders": "orders"}) == dependency_hash([reads("orders")])
    True
    """
    first = origins or {}
    forms = sorted(canonical_json(_identity(one, first.get(one.upstream, one.upstream))) for one in inputs)
    return sha256(b"\0".join(forms)).hexdigest()[:32]


def _identity(one: InputSpec, origin: AssetKey) -> InputSpec:
    if one.location is None and origin == one.upstream:
        return one
    return one.model_copy(update={"location": None, "upstream": origin})
