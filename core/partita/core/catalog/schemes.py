"""What partition schemes are interned and compared by. Pure.

A scheme is what says which keys there are and which window each means. What only says when a partition begins to exist
(`horizon`), how many keys there may be and how long they live (`cap`, `ttl_s`) may change without another scheme: cells stay
where they are, and a plan that is made before may be launched after.
"""

from __future__ import annotations

from hashlib import sha256

from partita.assets import DynamicSpec, MultiSpec, PartitionsSpec, StaticSpec, TimeSpec, canonical_json


def scheme_hash(spec: PartitionsSpec | None) -> str:
    """32 hexadecimal digits; equal for equal schemes, and the same in every release that knows the scheme.

    >>> scheme_hash(DynamicSpec(name="tenants", cap=10)) == scheme_hash(DynamicSpec(name="tenants", cap=20))
    True
    >>> scheme_hash(DynamicSpec(name="tenants")) == scheme_hash(DynamicSpec(name="shops"))
    False
    """
    return sha256(b"null" if spec is None else canonical_json(scheme_of(spec))).hexdigest()[:32]


def scheme_of(spec: PartitionsSpec) -> PartitionsSpec:
    """The scheme without what is no part of it."""
    if isinstance(spec, MultiSpec):
        dims = tuple(one.model_copy(update={"partitions": _bare(one.partitions)}) for one in spec.dims)
        return spec.model_copy(update={"dims": dims})
    return _bare(spec)


def _bare(spec: TimeSpec | StaticSpec | DynamicSpec) -> TimeSpec | StaticSpec | DynamicSpec:
    # To the defaults, so that the hashes of schemes that never said anything of it stay what they were.
    fields = type(spec).model_fields
    return spec.model_copy(update={name: fields[name].default for name in _NO_PART if name in fields})


_NO_PART = ("horizon", "cap", "ttl_s")
