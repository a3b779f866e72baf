"""Running a task again: the request that makes its cells anew, whatever they hold now.

Owns which request that is; it is planned, shown and launched as any other. Cells go into it by name: a task of a run is looked at
with today's partitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from partita.assets import PartitionSet
from partita.core.planner.params import taken
from partita.core.store.queries import api_runs as sql
from partita.core.store.queries.api_read import Rows, now, one, rows
from partita.ui.api.models import PlanRequest
from partita.ui.api.models.plans import TaskRerun, TaskRerunRequest
from partita.ui.api.problems import NotFound, StillOpen
from partita.ui.api.services.asset_views import selection_text
from partita.ui.api.services.base import Backend
from partita.ui.api.services.plans import PlanService, Preview
from partita.ui.api.services.run_views import TERMINAL


class RerunService:
    def __init__(self, backend: Backend, plans: PlanService) -> None:
        self._backend = backend
        self._plans = plans

    def view(self, task_id: int, request: TaskRerunRequest) -> TaskRerun:
        """The plan, for people. Raises as `preview`."""
        asked, preview = self.preview(task_id, downstream=request.downstream)
        return TaskRerun(
            plan=preview.view(), selection=asked.selection, partitions=asked.partitions, downstream=asked.downstream
        )

    def preview(self, task_id: int, *, downstream: bool) -> tuple[PlanRequest, Preview]:
        """The cells of a task that has ended, with the params of its run, planned to be made again and stored. Raises NotFound,
        StillOpen, and as any plan where an asset or partition is no more."""
        with self._backend.store.read() as reader:
            found = rows(reader, sql.TASKS_BY_ID, ids=[task_id])
            if not found:
                raise NotFound(f"there is no task {task_id}", fix="`partita runs show RUN` lists the tasks of a run")
            [task] = found
            run = one(reader, sql.PARAMS_OF_RUN, run_id=task["run_id"])
            cells = rows(reader, sql.CELLS_OF_TASK, task_id=task_id, limit=None)
        if task["state"] not in TERMINAL:
            raise StillOpen(
                f"task {task_id} is {task['state'].replace('_', ' ')}",
                rule="what has ended is run again; a cell has one task at a time",
                fix=f"wait for it, or partita tasks cancel {task_id}",
            )
        request = PlanRequest.model_validate(
            {
                "selection": " or ".join(dict.fromkeys(_quoted(cell["asset"]) for cell in cells)),
                "partitions": self._partitions(cells),
                "mode": ["all"],
                "downstream": downstream,
                "params": self._params({} if run is None else run["params"], cells, downstream=downstream),
            }
        )
        return request, self._plans.preview(request)

    def _params(self, of_run: Mapping[str, Any], cells: Rows, *, downstream: bool) -> dict[str, Any]:
        """Those of the run that one of these assets takes: it may have had more assets, which took the others."""
        catalog = self._backend.catalogs.active()
        keys = {cell["asset"] for cell in cells} & catalog.assets.keys()
        if downstream and keys:
            keys |= catalog.graph.descendants(*keys)
        return taken({key: catalog.assets[key].spec.params_schema for key in keys}, of_run)

    def _partitions(self, cells: Rows) -> str | None:
        """Of one of its assets: those of a group have the same."""
        key = cells[0]["asset"]
        keys = [cell["partition"] for cell in cells if cell["asset"] == key]
        if keys == [""]:
            return None
        catalog = self._backend.catalogs.active()
        if key in catalog.assets:
            with self._backend.store.read() as reader:
                space = catalog.space(catalog.asset(key).key, now(reader))
            ordinals = space.ordinals_of(keys)
            if all(at >= 0 for at in ordinals):
                return selection_text(space, PartitionSet.from_ordinals(ordinals))
        return ", ".join(map(_quoted, keys))  # the plan says what of it is no more


def _quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
