"""A large launch, written from columns: its rows one by one, as `launch.py` writes them."""

from __future__ import annotations

from partita.core.store.memory.launch import LaunchPart
from partita.core.store.values import RunId, TaskId
from partita.core.store.values_tables import CellTable, EdgeTable, TaskTable


class LaunchTablesPart(LaunchPart):
    def open_whole(self, cells: CellTable) -> bool:
        return not self.open_cells(zip(cells.cells(), map(TaskId, cells.task.tolist()), strict=True))

    def insert_tables(self, run_id: RunId, tasks: TaskTable, edges: EdgeTable, cells: CellTable) -> None:
        self.insert_tasks([(run_id, task) for task in tasks.rows()])
        pairs = zip(edges.upstream.tolist(), edges.downstream.tolist(), strict=True)
        self.insert_edges((TaskId(above), TaskId(below)) for above, below in pairs)
        self.insert_task_cells(cells.rows())
