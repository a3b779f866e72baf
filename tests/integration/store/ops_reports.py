"""Random operations on both stores: reports from outside that were answered."""

from __future__ import annotations

from datetime import timedelta

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values_reports import KnownReport, ReportKey

_KEYS = tuple(ReportKey(scope, key) for scope in ("", "till|'") for key in ("a", "B", "ö", "_"))


def reports(w: World) -> Op:
    """Some of them are over at once, so that they are given anew and forgotten."""
    keys, limit = w.some(_KEYS), w.random.randint(1, 3)
    said = [(key, w.text(), timedelta(seconds=w.one([-1, 3600]))) for key in keys]

    def insert(tx: Tx) -> set[ReportKey]:
        now = tx.now()
        return tx.insert_reports([KnownReport(key, "h", {"said": text}, now + keep) for key, text, keep in said])

    return w.op([insert, lambda tx: tx.read_reports(keys), lambda tx: tx.forget_reports(limit)])
