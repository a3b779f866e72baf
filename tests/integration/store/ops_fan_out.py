"""Random operations on both stores: what tasks that added keys owe their runs, and runs that grow."""

from __future__ import annotations

from tests.integration.store.differential_world import Op, World

from partita.core.store.values import RunId, TaskId
from partita.core.store.values_fan_out import FanOut


def fan_outs(w: World) -> Op:
    run = w.one(sorted(w.db.run.rows) or [RunId(1)])
    task = w.one([*w.tasks(), TaskId(1)])
    keys = {scheme: w.some(["a", "日本", "c|d"], 3) for scheme in w.some(["files", "Kunden"], 2)}
    planned = FanOut(
        task, run, keys, w.random.randint(1, 9), w.one([*w.tasks(), None]), tuple(w.tasks()), tuple(w.cells())
    )
    new, more = FanOut(task, run, keys, 3), w.random.randint(0, 3)
    return w.op(
        [
            lambda tx: tx.put_fan_out(new),
            lambda tx: tx.put_fan_out(planned),
            lambda tx: tx.take_fan_out_skip(),
            lambda tx: tx.grow_run(run, more, 4),
            lambda tx: tx.read_runs([run]),
        ]
    )
