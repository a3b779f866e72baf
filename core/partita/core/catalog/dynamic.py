"""The keys of dynamic schemes at one revision: what a catalog sees of them, whole or not at all.

A revision is complete when it can be seen, and its keys can be read again later: previews, plans and the runs pinned to
them see the keys of one instant, in every process. Pure values; `load.py` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from partita.assets import (
    AssetKey,
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    product_set,
)
from partita.assets.partitions.multi import ProductSpace


@dataclass(frozen=True, slots=True)
class KeysAt:
    """Per scheme its keys in order of their addition. Revision 0: nobody ever added one."""

    revision: int = 0
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _digests: dict[tuple[str, ...], str] = field(default_factory=dict, repr=False, compare=False)

    def digest(self, schemes: Iterable[str]) -> str:
        """What stands for the keys of these schemes in the hash of a plan. "" for no scheme."""
        names = tuple(sorted(set(schemes)))
        if not names:
            return ""
        if names not in self._digests:
            found = sha256()
            for name in names:
                for text in (name, *self.keys.get(name, ())):
                    found.update(f"{len(text)}:{text}".encode())
                found.update(b";")
            self._digests[names] = found.hexdigest()
        return self._digests[names]


NO_KEYS = KeysAt()


@dataclass(frozen=True, slots=True)
class DynamicScheme:
    """A named scheme, the assets that are sliced by it, and its definition (activation refuses two that differ)."""

    definition: DynamicPartitions
    assets: tuple[AssetKey, ...]


def dynamic_parts(definition: PartitionsDef | None) -> tuple[DynamicPartitions, ...]:
    """The dynamic schemes in a definition: itself, or those of its dimensions."""
    if isinstance(definition, DynamicPartitions):
        return (definition,)
    if isinstance(definition, MultiPartitions):
        return tuple(part for _, part in definition if isinstance(part, DynamicPartitions))
    return ()


def schemes_of(definitions: Mapping[AssetKey, PartitionsDef | None]) -> dict[str, DynamicScheme]:
    """The dynamic schemes of these assets by name."""
    found: dict[str, tuple[DynamicPartitions, list[AssetKey]]] = {}
    for key, definition in definitions.items():
        for part in dynamic_parts(definition):
            found.setdefault(part.name, (part, []))[1].append(key)
    return {name: DynamicScheme(part, tuple(dict.fromkeys(assets))) for name, (part, assets) in sorted(found.items())}


def cells_of_keys(space: PartitionSpace, scheme: str, keys: Collection[str]) -> PartitionSet:
    """The partitions of a space that have one of these keys of a scheme, in whichever dimension."""
    if not isinstance(space, ProductSpace):
        return _places(space, keys) if _is(space, scheme) else PartitionSet.empty()
    found = PartitionSet.empty()
    for dimension, part in enumerate(space.parts):
        if _is(part, scheme):
            chosen = [_places(part, keys) if at == dimension else one.all() for at, one in enumerate(space.parts)]
            found = found | product_set(chosen, space.sizes)
    return found


def _is(space: PartitionSpace, scheme: str) -> bool:
    return isinstance(space.definition, DynamicPartitions) and space.definition.name == scheme


def _places(space: PartitionSpace, keys: Collection[str]) -> PartitionSet:
    return PartitionSet.from_ordinals(sorted(at for at in map(space.find, keys) if at is not None))
