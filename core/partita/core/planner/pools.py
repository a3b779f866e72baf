"""What a step takes of pools: the uses of all its assets, each pool once, with the most slots that one of them asks. Pure.

Preview, simulation and launch count by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from partita.assets import AssetSpec

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


def pool_demand(members: Iterable[AssetSpec]) -> tuple[tuple[str, int], ...]:
    """As `named_pools`; a step that names none takes one slot of the default pool (S-022)."""
    return named_pools(members) or ((DEFAULT_POOL, 1),)
