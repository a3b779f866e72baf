"""Random operations on both stores: files doomed, spared, taken, removed, wanted again."""

from __future__ import annotations

from tests.integration.store.differential_world import Op, World

from partita.core.store.values_actions import AuditId

_FILES = ("lake:file:///a", "lake:file:///b%20c", "lake:file:///é")


def doomed_files(w: World) -> Op:
    files, others = w.some(list(_FILES)), w.some(list(_FILES), 2)
    grace_s, limit, entry = w.one([0.0, 3600.0]), w.random.randint(1, 3), AuditId(w.random.randint(1, 9))
    return w.op(
        [
            lambda tx: tx.doom_files(files, entry),
            lambda tx: tx.doom_files(others, entry),
            lambda tx: sorted(tx.spare_files(others)),
            lambda tx: tx.take_doomed(files, grace_s),
            lambda tx: tx.doomed_files(limit),
            lambda tx: tx.settle_doomed(files[:1], others[:1]),
        ]
    )
