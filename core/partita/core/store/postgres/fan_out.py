"""What attempts that added keys owe their runs."""

from __future__ import annotations

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values import CellRef, RunId, TaskState
from partita.core.store.values_fan_out import FanOut

PUT_FAN_OUT = text("""
    INSERT INTO fan_out (task_id, run_id, keys, revision, gate_id, held, again)
    VALUES (:task, :run, CAST(:keys AS jsonb), :revision, :gate, CAST(:held AS bigint[]), CAST(:again AS jsonb))
    ON CONFLICT (task_id) DO UPDATE
    SET run_id = excluded.run_id, keys = excluded.keys, revision = excluded.revision, gate_id = excluded.gate_id,
        held = excluded.held, again = excluded.again
""")

# A gate that retention has taken ended long ago.
TAKE_FAN_OUT = text("""
    DELETE FROM fan_out WHERE task_id = (
        SELECT f.task_id FROM fan_out f LEFT JOIN task g ON g.id = f.gate_id
        WHERE g.state IS NULL OR g.state = ANY(CAST(:ended AS text[]))
        ORDER BY f.task_id LIMIT 1 FOR UPDATE OF f SKIP LOCKED
    )
    RETURNING task_id, run_id, keys, revision, gate_id, held, again
""")

GROW_RUN = text("UPDATE run SET task_count = task_count + :n, keys_revision = :revision WHERE id = :run")

_ENDED = [state.value for state in TaskState if state.terminal]


class FanOutPart(PostgresPart):
    def put_fan_out(self, owed: FanOut) -> None:
        self._execute(
            PUT_FAN_OUT,
            task=owed.task_id,
            run=owed.run_id,
            keys=to_json({scheme: list(keys) for scheme, keys in owed.keys.items()}),
            revision=owed.revision,
            gate=owed.gate_id,
            held=list(owed.held),
            again=to_json([[cell.asset_id, cell.partition] for cell in owed.again]),
        )

    def take_fan_out_skip(self) -> FanOut | None:
        for task_id, run_id, keys, revision, gate_id, held, again in self._rows(TAKE_FAN_OUT, ended=_ENDED):
            cells = tuple(CellRef(asset_id, partition) for asset_id, partition in again)
            return FanOut(task_id, run_id, keys, revision, gate_id, tuple(held), cells)
        return None

    def grow_run(self, run_id: RunId, tasks: int, keys_revision: int) -> None:
        self._execute(GROW_RUN, run=run_id, n=tasks, revision=keys_revision)
