"""What a change of dynamic keys writes: added, prolonged and ended keys. Pure; the rules are the model's.

A key past its time that the duty has not ended yet is ended here and begins a new life: it comes back as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.assets import DynamicPartitions
from partita.assets.partitions.dynamic import check_cap, check_there, ends_at
from partita.core.store.values_dynamic import EndedKey, KeyLife, NewKey, RenewedKey

EXPIRED = "ttl"
"""Who ends a key whose time is over."""


@dataclass(frozen=True, slots=True)
class Addition:
    """`expired` end first. `known` were there already: those whose time or metadata changes are in `renewed`."""

    expired: tuple[EndedKey, ...]
    new: tuple[NewKey, ...]
    renewed: tuple[RenewedKey, ...]
    known: int


def add(
    definition: DynamicPartitions,
    wanted: Sequence[str],
    there: Iterable[KeyLife],
    present: int,
    *,
    now: datetime,
    by: str,
    ttl: timedelta | None,
    metadata: Mapping[str, str],
) -> Addition:
    """Decide an addition. `wanted` are legal keys, `there` those of them that have not ended, `present` the number of keys of
    the scheme now. Raises DefinitionError beyond the cap or for a time to live that is none."""
    ends = ends_at(definition, now, ttl)
    lives = {life.key: life for life in there}
    alive = {key: life for key, life in lives.items() if _alive(life, now)}
    fresh = [key for key in wanted if key not in alive]
    check_cap(definition, present, len(fresh))
    renewed = [
        RenewedKey(definition.name, key, ends, {**alive[key].metadata, **metadata}) for key in wanted if key in alive
    ]
    return Addition(
        expired=tuple(EndedKey(definition.name, key) for key in sorted(lives.keys() - alive.keys())),
        new=tuple(NewKey(definition.name, key, place, by, ends, metadata) for place, key in enumerate(fresh)),
        renewed=tuple(one for one in renewed if _differs(one, alive[one.key])),
        known=len(renewed),
    )


def remove(
    definition: DynamicPartitions, wanted: Iterable[str], there: Iterable[KeyLife], *, now: datetime
) -> tuple[EndedKey, ...]:
    """Decide a removal. Raises UnknownPartition when some are not there."""
    alive = {life.key for life in there if _alive(life, now)}
    gone = set(wanted)
    check_there(definition, gone, alive)
    return tuple(EndedKey(definition.name, key) for key in sorted(gone))


def expire(due: Iterable[KeyLife]) -> tuple[EndedKey, ...]:
    """The ends of keys past their time."""
    return tuple(sorted(EndedKey(life.scheme, life.key) for life in due))


def _alive(life: KeyLife, now: datetime) -> bool:
    return life.expires_at is None or now < life.expires_at


def _differs(renewed: RenewedKey, life: KeyLife) -> bool:
    return renewed.expires_at != life.expires_at or dict(renewed.metadata) != dict(life.metadata)
