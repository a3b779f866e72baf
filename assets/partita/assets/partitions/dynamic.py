"""The keys of a dynamic scheme as a value: add, remove, let expire. Pure; the instant is always given.

Keys keep the order in which they were first added. A change is whole or refused: never half of a bulk, never a cut-off list.
Where the keys are kept is the control plane's matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from partita.assets.errors import DefinitionError, UnknownPartition, suggest
from partita.assets.keys import PartitionKey, partition_key
from partita.assets.partitions.definitions import DynamicPartitions

_NAMED = 20
"""So many bad keys are named in one error."""
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
        wanted = legal_keys(self.definition, keys)
        ends = ends_at(self.definition, now, ttl)
        alive = self.expire(now).entries
        check_cap(self.definition, len(alive), sum(key not in alive for key in wanted))
        entries = dict(alive)
        for key in wanted:
            known = entries.get(key)
            if known is None:
                entries[key] = DynamicKey(key, now, ends, dict(metadata))
            else:
                entries[key] = replace(known, expires_at=ends, metadata={**known.metadata, **metadata})
        return replace(self, entries=entries)

    def remove(self, keys: Iterable[str], now: datetime) -> DynamicKeys:
        """Without these keys. Raises UnknownPartition, and removes nothing, when some are not there."""
        alive = self.expire(now).entries
        gone = set(keys)
        check_there(self.definition, gone, alive)
        return replace(self, entries={key: entry for key, entry in alive.items() if key not in gone})

    def expire(self, now: datetime) -> DynamicKeys:
        """Without the keys whose time is over; itself when there are none."""
        alive = {key: entry for key, entry in self.entries.items() if entry.alive(now)}
        return self if len(alive) == len(self.entries) else replace(self, entries=alive)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<DynamicKeys {self.definition.name!r} {len(self.entries)} of {self.definition.cap}>"


def legal_keys(definition: DynamicPartitions, keys: Iterable[str]) -> list[PartitionKey]:
    """These keys, each once, in the order given. Raises DefinitionError that names every bad one with its reason."""
    wanted: list[PartitionKey] = []
    bad: list[str] = []
    for key in dict.fromkeys(keys):
        try:
            wanted.append(partition_key(key))
        except DefinitionError as refused:
            bad.append(f"{refused.what}: {refused.rule}")
    if bad:
        more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        raise DefinitionError(
            f"{len(bad)} of {len(bad) + len(wanted):,} keys for dynamic partitions {definition.name!r} cannot be: "
            f"{'; '.join(bad[:_NAMED])}{more}",
            rule="a change of keys is whole or refused: none was added",
            fix="correct or leave out these keys",
        )
    return wanted


def check_cap(definition: DynamicPartitions, present: int, more: int) -> None:
    """Raises DefinitionError when a scheme of `present` keys would get beyond its cap by `more`."""
    if present + more > definition.cap and more:
        raise DefinitionError(
            f"dynamic partitions {definition.name!r} would have {present + more:,} keys ({present:,} and {more:,} more)",
            rule=f"the cap is {definition.cap:,}",
            fix="remove keys, give them a ttl, or raise cap= in the definition",
        )


FAN_OUT = 1_024
"""So many keys may one attempt add (S-023), unless its asset says otherwise."""


def check_fan_out(definition: DynamicPartitions, keys: Collection[str], cap: int = FAN_OUT) -> None:
    """Raises DefinitionError, which names the cap, when one attempt would add more keys than that.

    >>> check_fan_out(Dynamic("files"), [f"{n}.csv" for n in range(1_025)])
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: 1,025 keys for dynamic partitions 'files' in one attempt; the cap ...
    """
    if len(keys) > cap:
        raise DefinitionError(
            f"{len(keys):,} keys for dynamic partitions {definition.name!r} in one attempt",
            rule=f"the cap of fan-out is {cap:,}",
            fix="add fewer, or raise it with @asset(fan_out=...)",
        )


def check_there(definition: DynamicPartitions, keys: Collection[str], present: Collection[str]) -> None:
    """Raises UnknownPartition that names those of `keys` that are not `present`."""
    strange = sorted(set(keys) - set(present))
    if strange:
        more = f" and {len(strange) - _NAMED:,} more" if len(strange) > _NAMED else ""
        word = "key" if len(strange) == 1 else "keys"
        raise UnknownPartition(
            f"dynamic partitions {definition.name!r} have no {word} {', '.join(map(repr, strange[:_NAMED]))}{more}",
            rule="a change of keys is whole or refused: none was removed",
            fix=suggest(strange[0], present),
        )


def ends_at(definition: DynamicPartitions, now: datetime, ttl: timedelta | None) -> datetime | None:
    """When a key that is added now is gone: after `ttl`, else after the scheme's; None for good."""
    if ttl is None and definition.ttl_s is not None:
        ttl = timedelta(seconds=definition.ttl_s)
    if ttl is None:
        return None
    if ttl <= timedelta(0):
        raise DefinitionError(f"a time to live of {ttl}", rule="a time to live is more than nothing")
    try:
        return now + ttl
    except OverflowError:
        raise DefinitionError(f"a time to live of {ttl}", rule="keys end before the year 10000") from None
