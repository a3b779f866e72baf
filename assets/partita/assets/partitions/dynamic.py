"""The keys of a dynamic scheme as a value: add, remove, let expire. Pure; the instant is always given.

Keys keep the order in which they were first added. A change is whole or refused: never half of a bulk, never a cut-off list.
Where the keys are kept is the control plane's matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from partita.assets.errors import DefinitionError, UnknownPartition, suggest
from partita.assets.keys import PartitionKey, partition_key
from partita.assets.partitions.definitions import DynamicPartitions

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DynamicKey:
    """One key: since when, until when (exclusive; None: for good), and what was noted of it.

    >>> lease = DynamicKey(partition_key("acme"), datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC))
    >>> lease.alive(datetime(2026, 3, 7, 23, tzinfo=UTC)), lease.alive(datetime(2026, 3, 8, tzinfo=UTC))
    (True, False)
    """

    key: PartitionKey
    added_at: datetime
    expires_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def alive(self, now: datetime) -> bool:
        """It has not expired."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True)
class DynamicKeys:
    """The keys of one scheme. Instants are aware datetimes.

    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> tenants = DynamicKeys(Dynamic("tenants", cap=2, ttl=timedelta(days=7))).add(["acme", "globex"], now)
    >>> tenants.keys(now + timedelta(days=1))
    ('acme', 'globex')
    >>> tenants.add(["initech"], now)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: dynamic partitions 'tenants' would have 3 keys (2 and 1 more); the cap is 2; ...
    """

    definition: DynamicPartitions
    entries: Mapping[PartitionKey, DynamicKey] = field(default_factory=dict)

    def keys(self, now: datetime) -> tuple[PartitionKey, ...]:
        """The keys alive at an instant, in order of their first addition: what `space_of(dynamic=)` takes."""
        return tuple(key for key, entry in self.entries.items() if entry.alive(now))

    def add(
        self,
        keys: Iterable[str],
        now: datetime,
        *,
        ttl: timedelta | None = None,
        metadata: Mapping[str, str] = _NOTHING,
    ) -> DynamicKeys:
        """These keys too. One that is there lives on from now (`ttl`, else the scheme's) and takes the metadata over its own.

        Raises DefinitionError, and adds nothing, for an illegal key or when there would be more than the cap.
        """
        wanted = list(dict.fromkeys(partition_key(key) for key in keys))
        alive = self.expire(now).entries
        new = [key for key in wanted if key not in alive]
        total = len(alive) + len(new)
        if total > self.definition.cap:
            raise DefinitionError(
                f"dynamic partitions {self.definition.name!r} would have {total:,} keys ({len(alive):,} and {len(new):,} more)",
                rule=f"the cap is {self.definition.cap:,}",
                fix="remove keys, give them a ttl, or raise cap= in the definition",
            )
        ends = self._ends(now, ttl)
        entries = dict(alive)
        for key in wanted:
            known = entries.get(key)
            if known is None:
                entries[key] = DynamicKey(key, now, ends, dict(metadata))
            else:
                entries[key] = replace(known, expires_at=ends, metadata={**known.metadata, **metadata})
        return replace(self, entries=entries)

    def remove(self, keys: Iterable[str], now: datetime) -> DynamicKeys:
        """Without these keys. Raises UnknownPartition, and removes nothing, when one is not there."""
        alive = self.expire(now).entries
        gone = set(keys)
        for key in sorted(gone):
            if key not in alive:
                raise UnknownPartition(
                    f"dynamic partitions {self.definition.name!r} have no key {key!r}", fix=suggest(key, alive)
                )
        return replace(self, entries={key: entry for key, entry in alive.items() if key not in gone})

    def expire(self, now: datetime) -> DynamicKeys:
        """Without the keys whose time is over; itself when there are none."""
        alive = {key: entry for key, entry in self.entries.items() if entry.alive(now)}
        return self if len(alive) == len(self.entries) else replace(self, entries=alive)

    def _ends(self, now: datetime, ttl: timedelta | None) -> datetime | None:
        if ttl is not None:
            if ttl <= timedelta(0):
                raise DefinitionError(f"a time to live of {ttl}", rule="a time to live is more than nothing")
            return now + ttl
        return None if self.definition.ttl_s is None else now + timedelta(seconds=self.definition.ttl_s)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<DynamicKeys {self.definition.name!r} {len(self.entries)} of {self.definition.cap}>"
