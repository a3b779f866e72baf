"""Random operations on keys of dynamic schemes on both stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values_dynamic import EndedKey, NewKey, RenewedKey

_SCHEMES = ("customers", "Größe")  # few of both, so that keys come back
_KEYS = ("EWR|'\"\\", "Å/ß", "日本", "a", "B")


def keys_change(w: World) -> Op:
    """A change as the duty makes it, with revision and lock; now and then one that goes against what is there."""
    scheme = w.one(_SCHEMES)
    there = [row["key"] for row in w.db.dynamic_key.find("there", scheme)]
    fresh = [key for key in _KEYS if key not in there or w.maybe(0.03)]
    new = [
        NewKey(scheme, key, place, w.text(), _instant(w), {"note": w.text()})
        for place, key in enumerate(w.some(fresh, 3))
    ]
    gone = [EndedKey(scheme, key) for key in w.some(there if w.maybe(0.95) else _KEYS, 3)]
    renewed = [RenewedKey(scheme, key, _instant(w), {"n": "1"}) for key in w.some(there, 3)]
    by, step = w.text(), w.one([1, 1, 1, 1, 1, 1, 1, 0])

    def change(tx: Tx) -> Any:
        revision = tx.lock_keys_revision() + step
        tx.end_keys(revision, gone, by)
        tx.insert_keys(revision, new)
        tx.set_keys_revision(revision)
        return revision

    return w.op([change, change, lambda tx: tx.renew_keys(renewed)])


def keys_reads(w: World) -> Op:
    scheme, asked, limit = w.one(_SCHEMES), w.some(_KEYS, 6), w.one([1, 3, 100])
    return w.op(
        [
            lambda tx: tx.count_keys(scheme),
            lambda tx: tx.read_keys(scheme, asked),
            lambda tx: tx.due_keys(limit),
            lambda tx: tx.lock_keys_revision(),
        ]
    )


def _instant(w: World) -> datetime | None:
    """For good, past, or ahead; a microsecond apart so that no two are equal."""
    shift = w.one([None, -3600, 3600])
    base = datetime.now(UTC).replace(microsecond=w.random.randrange(1_000_000))
    return None if shift is None else base + timedelta(seconds=shift)
