"""Keys of dynamic schemes added, removed and expired: one transaction each, under the lock of the one revision.

Cells and their history stay when a key ends (law 8), and so do open tasks: a run sees the keys that it was planned with. The
lock comes before everything else; nothing else is locked here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from partita.assets import DynamicPartitions, PartitaError
from partita.assets.partitions.dynamic import legal_keys
from partita.core.decide import dynamic as decide
from partita.core.duties.channels import Channel
from partita.core.duties.values import KEYS
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, NewEvent

_EXPIRED_AT_ONCE = 5_000
_AUDITED = 20


class KeysMoved(PartitaError):
    """The keys are others than when the change was shown."""


@dataclass(frozen=True, slots=True)
class KeysChanged:
    """`revision` is the one that the change made, or the present one when nothing changed; `present` how many keys the
    scheme has now."""

    added: int = 0
    prolonged: int = 0
    unchanged: int = 0
    removed: int = 0
    present: int = 0
    revision: int = 0
    channels: tuple[Channel, ...] = ()
    new: tuple[str, ...] = ()  # the keys that were added


@dataclass(frozen=True, slots=True)
class Expired:
    """How many keys ended because their time was over."""

    keys: int
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.keys


def add_keys(
    store: Store,
    definition: DynamicPartitions,
    keys: Sequence[str],
    *,
    who: str,
    ttl: timedelta | None = None,
    metadata: Mapping[str, str] | None = None,
    followers: Collection[AssetId] = (),
    confirm_new: int | None = None,
) -> KeysChanged:
    """Add keys to a scheme, all or none. Those that are there live on. Raises DefinitionError for illegal keys (each named)
    and beyond the cap, KeysMoved when another number than `confirm_new` is new. `followers` are the eager assets that are
    sliced by the scheme: they hear of each new key."""
    wanted = legal_keys(definition, keys)
    return store.run(lambda tx: add_keys_in(tx, definition, wanted, who, ttl, metadata or {}, followers, confirm_new))


def add_keys_in(
    tx: Tx,
    definition: DynamicPartitions,
    wanted: Sequence[str],
    who: str,
    ttl: timedelta | None,
    metadata: Mapping[str, str],
    followers: Collection[AssetId],
    confirm_new: int | None = None,
) -> KeysChanged:
    """`add_keys` as a part of a larger transaction; the keys are legal."""
    revision = tx.lock_keys_revision()
    # Read after the lock: what others added is there, or will wait for us.
    present = tx.count_keys(definition.name)
    there = tx.read_keys(definition.name, wanted)
    change = decide.add(definition, wanted, there, present, now=tx.now(), by=who, ttl=ttl, metadata=metadata)
    if confirm_new is not None and len(change.new) != confirm_new:
        raise KeysMoved(
            f"{confirm_new} new keys of {definition.name!r} were confirmed, by now {len(change.new)} are new",
            rule="what happens is what was shown",
            fix="look again and confirm",
        )
    if change.new:
        revision += 1
        tx.end_keys(revision, change.expired, decide.EXPIRED)
        tx.insert_keys(revision, change.new)
        tx.set_keys_revision(revision)
    tx.renew_keys(change.renewed)
    if not change.new and not change.renewed:
        return KeysChanged(unchanged=change.known, present=present, revision=revision)
    tx.audit(
        who,
        "add_keys",
        _detail(definition.name, [*(one.key for one in change.new), *(one.key for one in change.renewed)]),
    )
    if change.new:
        _tell(tx, definition.name, revision)
    tx.append_events(
        [
            NewEvent(
                "keys", asset_id=asset_id, partition=one.key, body={"scheme": definition.name}, for_consumers=(KEYS,)
            )
            for asset_id in sorted(followers)
            for one in change.new
        ]
    )
    return KeysChanged(
        added=len(change.new),
        prolonged=len(change.renewed),
        unchanged=change.known - len(change.renewed),
        present=present + len(change.new),
        revision=revision,
        channels=(Channel.EVENT, Channel.TODO) if change.new and followers else (Channel.EVENT,),
        new=tuple(one.key for one in change.new),
    )


def remove_keys(store: Store, definition: DynamicPartitions, keys: Collection[str], *, who: str) -> KeysChanged:
    """Remove keys from a scheme, all or none. Raises UnknownPartition that names those that are not there."""
    return store.run(lambda tx: _remove(tx, definition, keys, who))


def _remove(tx: Tx, definition: DynamicPartitions, keys: Collection[str], who: str) -> KeysChanged:
    revision = tx.lock_keys_revision()
    present = tx.count_keys(definition.name)
    gone = decide.remove(definition, keys, tx.read_keys(definition.name, keys), now=tx.now())
    if not gone:
        return KeysChanged(present=present, revision=revision)
    tx.end_keys(revision + 1, gone, who)
    tx.set_keys_revision(revision + 1)
    tx.audit(who, "remove_keys", _detail(definition.name, [one.key for one in gone]))
    _tell(tx, definition.name, revision + 1)
    return KeysChanged(removed=len(gone), present=present - len(gone), revision=revision + 1, channels=(Channel.EVENT,))


def expire_keys(store: Store, limit: int = _EXPIRED_AT_ONCE) -> Expired:
    """End the keys whose time is over."""
    return store.run(lambda tx: _expire(tx, limit))


def _expire(tx: Tx, limit: int) -> Expired:
    revision = tx.lock_keys_revision()
    gone = decide.expire(tx.due_keys(limit))
    if not gone:
        return Expired(0)
    tx.end_keys(revision + 1, gone, decide.EXPIRED)
    tx.set_keys_revision(revision + 1)
    for scheme in sorted({one.scheme for one in gone}):
        tx.audit(decide.EXPIRED, "expire_keys", _detail(scheme, [one.key for one in gone if one.scheme == scheme]))
        _tell(tx, scheme, revision + 1)
    return Expired(len(gone), more=len(gone) == limit, channels=(Channel.EVENT,))


def _tell(tx: Tx, scheme: str, revision: int) -> None:
    """As a location that loaded: which partitions there are is another thing now."""
    tx.append_events([NewEvent(kind="location", body={"keys": scheme, "revision": revision})])


def _detail(scheme: str, keys: Sequence[str]) -> dict[str, object]:
    return {"scheme": scheme, "count": len(keys), "keys": list(keys[:_AUDITED])}
