"""Keys of dynamic schemes: lives of keys, under the lock of the one revision."""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from partita.core.store.encode import clean_text, to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values_dynamic import EndedKey, KeyLife, NewKey, RenewedKey

LOCK_REVISION = text("SELECT revision FROM dynamic_revision WHERE id = 1 FOR UPDATE")
SET_REVISION = text("UPDATE dynamic_revision SET revision = :revision WHERE id = 1 AND revision < :revision")

# What is past its time counts no more, whether or not the duty has ended it yet.
COUNT_KEYS = text("""
    SELECT count(*) FROM dynamic_key
    WHERE scheme = :scheme AND ended IS NULL AND (expires_at IS NULL OR expires_at > now())
""")

_LIFE = "scheme, key, revision, place, added_at, added_by, expires_at, metadata"

READ_KEYS = text(f"""
    SELECT {_LIFE} FROM dynamic_key
    WHERE scheme = :scheme AND ended IS NULL AND key = ANY(CAST(:keys AS text[])) ORDER BY key
""")

DUE_KEYS = text(f"""
    SELECT {_LIFE} FROM dynamic_key WHERE ended IS NULL AND expires_at <= now() ORDER BY expires_at, scheme, key LIMIT :n
""")

INSERT_KEYS = text("""
    INSERT INTO dynamic_key (scheme, key, revision, place, added_by, expires_at, metadata)
    SELECT u.scheme, u.key, :revision, u.place, u.added_by, u.expires_at, u.metadata
    FROM unnest(CAST(:schemes AS text[]), CAST(:keys AS text[]), CAST(:places AS integer[]), CAST(:added_by AS text[]),
                CAST(:expires_at AS timestamptz[]), CAST(:metadata AS jsonb[]))
         AS u(scheme, key, place, added_by, expires_at, metadata)
""")

RENEW_KEYS = text("""
    UPDATE dynamic_key k SET expires_at = u.expires_at, metadata = u.metadata
    FROM unnest(CAST(:schemes AS text[]), CAST(:keys AS text[]), CAST(:expires_at AS timestamptz[]),
                CAST(:metadata AS jsonb[]))
         AS u(scheme, key, expires_at, metadata)
    WHERE k.scheme = u.scheme AND k.key = u.key AND k.ended IS NULL
""")

END_KEYS = text("""
    UPDATE dynamic_key k SET ended = :revision, ended_at = now(), ended_by = :by
    FROM unnest(CAST(:schemes AS text[]), CAST(:keys AS text[])) AS u(scheme, key)
    WHERE k.scheme = u.scheme AND k.key = u.key AND k.ended IS NULL
""")


class DynamicPart(PostgresPart):
    def lock_keys_revision(self) -> int:
        return int(self._rows(LOCK_REVISION)[0][0])

    def set_keys_revision(self, revision: int) -> None:
        self._expect(self._execute(SET_REVISION, revision=revision), 1, f"revision {revision} of the dynamic keys")

    def count_keys(self, scheme: str) -> int:
        return int(self._rows(COUNT_KEYS, scheme=scheme)[0][0])

    def read_keys(self, scheme: str, keys: Collection[str]) -> list[KeyLife]:
        return [KeyLife(*row) for row in self._rows(READ_KEYS, scheme=scheme, keys=sorted(set(keys)))]

    def due_keys(self, limit: int) -> list[KeyLife]:
        return [KeyLife(*row) for row in self._rows(DUE_KEYS, n=limit)]

    def insert_keys(self, revision: int, keys: Sequence[NewKey]) -> None:
        rows: list[NewKey] = ordered(keys, lambda one: (one.scheme, one.key), "insert_keys")
        if rows:
            self._execute(
                INSERT_KEYS,
                revision=revision,
                **_names(rows),
                places=[one.place for one in rows],
                added_by=[clean_text(one.added_by) for one in rows],
                expires_at=[one.expires_at for one in rows],
                metadata=[to_json(one.metadata) for one in rows],
            )

    def renew_keys(self, keys: Sequence[RenewedKey]) -> None:
        rows: list[RenewedKey] = ordered(keys, lambda one: (one.scheme, one.key), "renew_keys")
        if rows:
            written = self._execute(
                RENEW_KEYS,
                **_names(rows),
                expires_at=[one.expires_at for one in rows],
                metadata=[to_json(one.metadata) for one in rows],
            )
            self._expect(written, len(rows), f"dynamic keys {[one.key for one in rows[:20]]}")

    def end_keys(self, revision: int, keys: Sequence[EndedKey], by: str) -> None:
        rows: list[EndedKey] = ordered(keys, lambda one: one, "end_keys")
        if rows:
            written = self._execute(END_KEYS, revision=revision, by=clean_text(by), **_names(rows))
            self._expect(written, len(rows), f"dynamic keys {[one.key for one in rows[:20]]}")


def _names(rows: Sequence[Any]) -> dict[str, list[str]]:
    return {"schemes": [one.scheme for one in rows], "keys": [one.key for one in rows]}
