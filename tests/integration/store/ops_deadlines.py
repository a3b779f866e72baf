"""Random deadlines on both stores: set, looked at when due, met or missed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values import CellRef, RunId, TaskId
from partita.core.store.values_deadlines import NewDeadline


def deadlines(w: World) -> Op:
    keys = w.some(sorted(w.db.task_cell.rows))
    free = [key for key in keys if (key[1], key[2], key[0]) not in w.db.deadline]
    run_of = {key: RunId(w.db.task.rows[key[0]]["run_id"]) for key in free}
    due_s = [w.one([-5.0, -5.0, 3600.0]) for _ in free]
    limit = w.random.randint(1, 4)

    def insert(tx: Tx) -> None:
        tx.insert_deadlines(
            NewDeadline(key[0], run_of[key], CellRef(key[1], key[2]), tx.now() + timedelta(seconds=s))
            for key, s in zip(free, due_s, strict=True)
        )

    def judge(tx: Tx) -> Any:
        due = tx.lock_due_deadlines_skip(limit)
        unknown = (CellRef(w.one(w.assets()), "none"), TaskId(10**9))
        tx.end_deadlines([one.key for one in due[::2]], [*(one.key for one in due[1::2]), unknown])
        return due

    return w.op([insert, insert, judge])
