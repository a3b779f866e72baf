"""What a named job asks for now: its request planned as of the instant of the look, for its tick or for a person who runs it.

Owns the limit: a tick of more cells than that asks for nothing and says so, since nobody saw it; a person who runs the job sees
the plan and may.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from partita.core.automation.values import ActiveCatalog, Limits
from partita.core.decide.jobs import JobRefused
from partita.core.duties.jobs import PlanJob
from partita.core.duties.values import Launch
from partita.core.planner import PlanRequest, plan, sentence, to_launch
from partita.core.planner.params import check_params
from partita.core.store.values_jobs import Job

TAG = "job"
"""The tag by which the runs of a job are found."""


def request_of(job: Job, as_of: datetime, by: str) -> PlanRequest:
    """What the job asks for at an instant."""
    asked = job.request
    return PlanRequest(
        selection=asked["selection"],
        as_of=as_of,
        partitions=asked.get("partitions"),
        mode=tuple(asked["mode"]),
        upstream=bool(asked.get("upstream")),
        downstream=bool(asked.get("downstream")),
        params=dict(asked.get("params") or {}),
        requested_by=by,
    )


def tags_of_job(job: Job) -> dict[str, str]:
    """Of its runs: its own, and its name."""
    return {**job.tags, TAG: job.name}


def job_planner(read: Callable[[], AbstractContextManager[Any]], catalogs: ActiveCatalog, limits: Limits) -> PlanJob:
    """Plans the ticks of jobs over this store."""

    def plan_tick(job: Job) -> tuple[Launch | None, str]:
        catalog = catalogs.active()
        with read() as reader:
            made = plan(catalog, reader, request_of(job, reader.now(), f"job {job.name}"))
        if made.empty:
            return (
                None,
                "nothing to do: all of it is fresh" if not made.blocked else "nothing can run: all of it is blocked",
            )
        check_params(
            {one.key: catalog.assets[one.key].spec.params_schema for one in made.assets}, dict(made.request.params)
        )
        limit = limits.max_cells if job.max_cells is None else job.max_cells
        if made.cell_count > limit:
            raise JobRefused(
                f"{made.cell_count:,} cells, above its limit of {limit:,}",
                rule="nobody saw this plan",
                fix=f"partita jobs run {job.name}, or a higher --max-cells",
            )
        cause = {"kind": "job", "by": f"job {job.name}", "text": sentence(made), "job": job.name}
        launch = to_launch(made, catalog, cause=cause, lane=job.lane, tags=tags_of_job(job), max_active=job.max_active)
        return launch, sentence(made)

    return plan_tick
