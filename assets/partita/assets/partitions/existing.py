"""`space_of`: the one way from a definition and an instant to the partitions that exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import assert_never

from partita.assets.partitions.definitions import (
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    StaticPartitions,
    TimePartitions,
)
from partita.assets.partitions.enumerated import KeySpace
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.space import PartitionSpace, UnitSpace
from partita.assets.partitions.time import TimeSpace

_NO_KEYS: Mapping[str, Sequence[str]] = MappingProxyType({})


def space_of(
    definition: PartitionsDef | None, as_of: datetime, dynamic: Mapping[str, Sequence[str]] = _NO_KEYS
) -> PartitionSpace:
    """The partitions of `definition` that exist at `as_of` (aware); `dynamic` gives current keys by name.

    Unpartitioned (None) has one partition. A dynamic name without entry has no keys. Raises DefinitionError for a
    naive instant.

    >>> space_of(Daily("2026-03-01"), datetime(2026, 3, 4, 12, tzinfo=UTC))
    <TimeSpace 3: '2026-03-01' .. '2026-03-03'>
    >>> space_of(Dynamic("tenants"), datetime(2026, 3, 4, tzinfo=UTC), {"tenants": ["acme"]}).find("acme")
    0
    >>> space_of(None, datetime(2026, 3, 4, tzinfo=UTC)).size
    1
    """
    if definition is None:
        return UnitSpace()
    if isinstance(definition, TimePartitions):
        return TimeSpace(definition, as_of)
    if isinstance(definition, StaticPartitions):
        return KeySpace(definition, definition.keys)
    if isinstance(definition, DynamicPartitions):
        return KeySpace(definition, dynamic.get(definition.name, ()))
    if isinstance(definition, MultiPartitions):
        return ProductSpace(definition, tuple(space_of(inner, as_of, dynamic) for _, inner in definition))
    assert_never(definition)
