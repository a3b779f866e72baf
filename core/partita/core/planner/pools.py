"""What a step takes of pools: the uses of all its assets, each pool once, with the most slots that one of them asks. Pure.

Preview, simulation and launch count by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from partita.assets import AssetSpec
from partita.core.decide.caps import asset_pool

DEFAULT_POOL = "default"
CREATED_SLOTS = 1
"""Of a pool that a plan names and nobody has made: launching makes it."""


def named_pools(members: Iterable[AssetSpec]) -> tuple[tuple[str, int], ...]:
    """(pool, slots) by name; empty when none of the assets of a step names a pool."""
    most: dict[str, int] = {}
    for spec in members:
        for use in spec.pools:
            most[use.name] = max(most.get(use.name, 0), use.slots)
    return tuple(sorted(most.items()))


def asset_caps(members: Iterable[AssetSpec]) -> tuple[str, ...]:
    """The pools that cap the assets of a step by their `max_active`."""
    return tuple(sorted(asset_pool(spec.key) for spec in members if spec.max_active is not None))


def pool_demand(members: Iterable[AssetSpec]) -> tuple[tuple[str, int], ...]:
    """What a step takes in all: its pools (if it names none, a slot of the default pool, S-022) and a slot of each cap."""
    specs = tuple(members)
    caps = ((name, 1) for name in asset_caps(specs))
    return tuple(sorted((*(named_pools(specs) or ((DEFAULT_POOL, 1),)), *caps)))
