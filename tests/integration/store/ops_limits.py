"""Random operations on both stores: runs that take too long, versions that no server has, places of workers."""

from __future__ import annotations

from tests.integration.store.differential_world import Op, World


def limits(w: World) -> Op:
    snapshots, limit = w.some(sorted(w.db.snapshot.rows), 3), w.random.randint(1, 3)
    queues, workers = w.some(["default", "gpu", "none"]), w.some(sorted(w.db.worker.rows), 3)
    return w.op(
        [
            lambda tx: tx.lock_overdue_runs_skip(limit),
            lambda tx: tx.note_gone_versions(snapshots),
            lambda tx: tx.stranded_runs(limit),
            lambda tx: tx.places_taken(queues, workers),
        ]
    )
