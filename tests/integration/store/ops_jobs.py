"""Random operations on both stores: named jobs, made, locked, written, due, deleted."""

from __future__ import annotations

from datetime import timedelta

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values_jobs import Job


def jobs(w: World) -> Op:
    name = w.one(["nightly", "weekly", "Zeit", "a.b"])
    timed, paused = w.maybe(0.7), w.maybe(0.3)
    ahead_s, limit = w.one([-60.0, 3600.0]), w.random.randint(1, 3)
    note, tags = w.one([None, "x\x00", "12 cells"]), w.one([{}, {"ticket": "é"}])

    def job(tx: Tx) -> Job:
        now = tx.now()
        return Job(
            name,
            {"selection": "a", "partitions": None, "mode": ["missing"], "params": {"n": 1.5}},
            "interactive",
            "ada",
            now,
            tags,
            "0 6 * * *" if timed else None,
            "Europe/Berlin" if timed else None,
            w_limit,
            limit if timed else None,
            "bob" if paused else None,
            now if paused else None,
            "why" if paused else None,
            now + timedelta(seconds=ahead_s) if timed and not paused else None,
            now if timed else None,
            7 if timed else None,
            note,
        )

    w_limit = w.one([None, 500])
    return w.op(
        [
            lambda tx: tx.insert_job(job(tx)),
            lambda tx: tx.insert_job(job(tx)),
            lambda tx: tx.write_job(job(tx)),
            lambda tx: tx.lock_job(name),
            lambda tx: (tx.jobs(), tx.due_jobs(limit)),
            lambda tx: tx.delete_job(name),
        ]
    )
