"""Keys of dynamic schemes in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from partita.core.store.encode import as_stored, clean_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values_dynamic import EndedKey, KeyLife, NewKey, RenewedKey

_K = TypeVar("_K", RenewedKey, EndedKey)


class DynamicPart(MemoryPart):
    def lock_keys_revision(self) -> int:
        revision: int = self._db.dynamic_revision.rows[1]["revision"]
        return revision

    def set_keys_revision(self, revision: int) -> None:
        if revision <= self.lock_keys_revision():
            raise self._conflict(f"revision {revision} of the dynamic keys is not the next")
        self._db.dynamic_revision.change(1, revision=revision)

    def count_keys(self, scheme: str) -> int:
        return sum(not self._due(row) for row in self._db.dynamic_key.find("there", scheme))

    def read_keys(self, scheme: str, keys: Collection[str]) -> list[KeyLife]:
        wanted = set(keys)
        return [_life(row) for row in self._db.dynamic_key.find("there", scheme) if row["key"] in wanted]

    def due_keys(self, limit: int) -> list[KeyLife]:
        due = [row for row in self._db.dynamic_key if row["ended"] is None and self._due(row)]
        due.sort(key=lambda row: (row["expires_at"], row["scheme"], row["key"]))
        return [_life(row) for row in due[:limit]]

    def insert_keys(self, revision: int, keys: Sequence[NewKey]) -> None:
        distinct(((one.scheme, one.key) for one in keys), "insert_keys")
        taken: set[tuple[str, str]] = set()
        places: set[tuple[str, int]] = set()
        for scheme in {one.scheme for one in keys}:
            for row in self._db.dynamic_key:
                if row["scheme"] == scheme and (row["ended"] is None or row["revision"] == revision):
                    taken.add((scheme, row["key"]))
                if row["scheme"] == scheme and row["revision"] == revision:
                    places.add((scheme, row["place"]))
        for one in keys:
            if (one.scheme, one.key) in taken or (one.scheme, one.place) in places:
                raise self._violation(f"key {one.key!r} of {one.scheme!r} is there, or its place is taken")
            places.add((one.scheme, one.place))
            self._db.dynamic_key.put(
                {
                    "scheme": one.scheme,
                    "key": one.key,
                    "revision": revision,
                    "place": one.place,
                    "added_at": self._now,
                    "added_by": clean_text(one.added_by),
                    "expires_at": one.expires_at,
                    "metadata": as_stored(one.metadata),
                    "ended": None,
                    "ended_at": None,
                    "ended_by": None,
                }
            )

    def renew_keys(self, keys: Sequence[RenewedKey]) -> None:
        distinct(((one.scheme, one.key) for one in keys), "renew_keys")
        for one, row in self._there(keys):
            self._db.dynamic_key.put(row | {"expires_at": one.expires_at, "metadata": as_stored(one.metadata)})

    def end_keys(self, revision: int, keys: Sequence[EndedKey], by: str) -> None:
        distinct(keys, "end_keys")
        found = self._found(keys)
        # As in Postgres, where the constraint refuses the statement before it has counted its rows.
        for (_, key), row in found.items():
            if revision <= row["revision"]:
                raise self._violation(f"key {key!r} ends at revision {revision}, before it was added")
        for _, row in self._there(keys):
            self._db.dynamic_key.put(row | {"ended": revision, "ended_at": self._now, "ended_by": clean_text(by)})

    def _there(self, keys: Iterable[_K]) -> list[tuple[_K, Row]]:
        """Each with its row."""
        wanted = list(keys)
        rows = self._found(wanted)
        for one in wanted:
            if (one.scheme, one.key) not in rows:
                raise self._conflict(f"key {one.key!r} of {one.scheme!r} is not there")
        return [(one, rows[one.scheme, one.key]) for one in wanted]

    def _found(self, keys: Iterable[_K]) -> dict[tuple[str, str], Row]:
        """The rows of those that are there; the keys of one scheme are looked up together."""
        wanted = {(one.scheme, one.key) for one in keys}
        rows = (row for scheme in {one for one, _ in wanted} for row in self._db.dynamic_key.find("there", scheme))
        return {at: row for row in rows if (at := (row["scheme"], row["key"])) in wanted}

    def _due(self, row: Row) -> bool:
        return row["expires_at"] is not None and row["expires_at"] <= self._now


def _life(row: Row) -> KeyLife:
    return KeyLife(
        row["scheme"],
        row["key"],
        row["revision"],
        row["place"],
        row["added_at"],
        row["added_by"],
        row["expires_at"],
        row["metadata"],
    )
