"""What attempts that added keys owe their runs, in memory."""

from __future__ import annotations

from partita.core.store.encode import as_stored
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row
from partita.core.store.values import CellRef, RunId, TaskState
from partita.core.store.values_fan_out import FanOut


class FanOutPart(MemoryPart):
    def put_fan_out(self, owed: FanOut) -> None:
        self._db.fan_out.put(
            {
                "task_id": owed.task_id,
                "run_id": owed.run_id,
                "keys": as_stored({scheme: list(keys) for scheme, keys in owed.keys.items()}),
                "revision": owed.revision,
                "gate_id": owed.gate_id,
                "held": list(owed.held),
                "again": as_stored([[cell.asset_id, cell.partition] for cell in owed.again]),
            }
        )

    def take_fan_out_skip(self) -> FanOut | None:
        for row in self._db.fan_out.sorted_rows():
            gate = None if row["gate_id"] is None else self._db.task.get(row["gate_id"])
            if gate is None or TaskState(gate["state"]).terminal:
                return _fan_out(self._db.fan_out.delete(row["task_id"]))
        return None

    def grow_run(self, run_id: RunId, tasks: int, keys_revision: int) -> None:
        row = self._db.run.get(run_id)
        if row is not None:
            self._db.run.put(row | {"task_count": row["task_count"] + tasks, "keys_revision": keys_revision})


def _fan_out(row: Row) -> FanOut:
    again = tuple(CellRef(asset_id, partition) for asset_id, partition in row["again"])
    return FanOut(
        row["task_id"], row["run_id"], row["keys"], row["revision"], row["gate_id"], tuple(row["held"]), again
    )
