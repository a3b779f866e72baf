"""The retention duty: one step a visit, so that nothing waits for it. Owns the order of steps; decides nothing.

A day is marked as under way, its files are written from one snapshot, they take their names in the transaction that says that its
rows may go, and then the rows go, some at a visit. It may die between any two steps: before the mark that rows may go nothing
was deleted, and the files are written again in place of what is there; after it they are never written again. Two schedulers
that export the same day at once write the same rows, and the first one's mark counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from partita.core.decide.retention import next_day
from partita.core.store.port import Store, Tx
from partita.core.store.values import Exclusive
from partita.core.store.values_retention import ArchiveDay, ArchiveState

log = logging.getLogger(__name__)

TASKS_AT_ONCE = 1_000
_KEYS_AT_ONCE = 5_000
_DAY_S = 86_400.0


class Written(Protocol):
    """Files of a day that are complete, under names that nobody reads."""

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has in them."""

    def publish(self) -> None:
        """They take their names, in place of what has them."""

    def discard(self) -> None:
        """They are removed, whatever became of them."""


Export = Callable[[date], Written]


@dataclass(frozen=True, slots=True)
class Retained:
    """What a visit did: `deleted` rows went, or `exported` rows of `day` were written."""

    day: date | None = None
    exported: int = 0
    deleted: int = 0
    keys: int = 0
    more: bool = False
    why: str = ""


def retain(store: Store, export: Export, *, keep_days: float, limit: int = TASKS_AT_ONCE) -> Retained:
    """One step of what is due."""
    under_way, done = store.run(lambda tx: _step(tx, keep_days, limit), durable=True)
    if under_way is None or under_way.state is not ArchiveState.EXPORTING:
        return done
    written = export(under_way.day)
    try:
        exported = store.run(lambda tx: _publish(tx, under_way.day, written))
    finally:
        written.discard()
    rows = sum(written.rows.values()) if exported else 0
    log.info("history of %s is exported: %d rows", under_way.day, rows)
    return Retained(under_way.day, exported=rows, more=True)


def _step(tx: Tx, keep_days: float, limit: int) -> tuple[ArchiveDay | None, Retained]:
    if not tx.try_duty(Exclusive.RETENTION):
        return None, Retained()
    keys = tx.forget_keys(keep_days * _DAY_S, _KEYS_AT_ONCE)
    under_way = tx.archive_under_way()
    if under_way is None:
        oldest = tx.oldest_history()
        if oldest is None:
            return None, Retained(keys=keys)
        going = next_day(oldest, tx.archive_holds(oldest), tx.now(), keep_days)
        if going.day is None:
            return None, Retained(keys=keys, more=keys == _KEYS_AT_ONCE, why=going.why)
        tx.begin_archive(going.day)
        return ArchiveDay(going.day, ArchiveState.EXPORTING), Retained()
    if under_way.state is ArchiveState.EXPORTING:
        return under_way, Retained()
    deleted = tx.delete_history(under_way.day, limit)
    if not deleted:
        tx.end_archive(under_way.day)
    return under_way, Retained(under_way.day, deleted=deleted, keys=keys, more=True)


def _publish(tx: Tx, day: date, written: Written) -> bool:
    """The files take their names while the day's row is locked: no other export of it can come in between."""
    under_way = tx.archive_under_way()
    if under_way is None or under_way.day != day or under_way.state is not ArchiveState.EXPORTING:
        return False  # another scheduler was first; its files hold the same rows
    written.publish()
    tx.note_exported(day, written.rows)
    return True
