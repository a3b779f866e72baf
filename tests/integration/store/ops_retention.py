"""Random operations on both stores: finished history on its way out, and lives of keys that ended."""

from __future__ import annotations

from datetime import date, timedelta

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx


def retention(w: World) -> Op:
    """Rows are of the day of the transaction; another one has none. What is deleted may be much, so that is rare."""
    far, limit, rows = w.maybe(0.3), w.random.randint(1, 4), {w.text(): w.random.randint(0, 9)}

    def day(tx: Tx) -> date:
        return (tx.now() - timedelta(days=400 if far else 0)).date()

    return w.op(
        [
            lambda tx: tx.archive_under_way(),
            lambda tx: tx.archive_days(limit),
            lambda tx: tx.oldest_history(),
            lambda tx: tx.archive_holds(day(tx)),
            lambda tx: tx.begin_archive(day(tx)),
            lambda tx: tx.begin_archive(day(tx)),
            lambda tx: tx.note_exported(day(tx), rows),
            lambda tx: tx.end_archive(day(tx)),
            lambda tx: tx.delete_history(day(tx), limit),
            lambda tx: tx.forget_keys(3600.0 if far else 0.0, limit),
        ]
    )
