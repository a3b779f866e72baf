"""Named jobs: shown with what they would ask for, kept, run, paused.

Owns the order and the sentences; when a job ticks is the core's.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from partita.core.automation.jobs import tags_of_job
from partita.core.decide import jobs as decide
from partita.core.duties import jobs as duties
from partita.core.store.values_jobs import Job
from partita.ui.api.models import PlanRequest
from partita.ui.api.models.jobs import (
    JobChange,
    JobConfirm,
    JobList,
    JobPlan,
    JobPreview,
    JobRemoved,
    JobRequest,
    JobResume,
    JobRun,
    JobView,
)
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend
from partita.ui.api.services.lanes import known_lane
from partita.ui.api.services.plans import PlanService, Preview
from partita.ui.api.services.ticks import clock_changes

_TICKS = 5
_LANE = "scheduled"


class JobService:
    def __init__(self, backend: Backend, plans: PlanService) -> None:
        self._backend = backend
        self._plans = plans

    def list(self) -> JobList:
        """All jobs by name."""
        jobs, now = self._backend.store.run(lambda tx: (tx.jobs(), tx.now()), durable=False)
        return JobList(jobs=[_view(job, now) for job in jobs])

    def get(self, name: str) -> JobView:
        """Raises NotFound."""
        job, now = self._find(name)
        return _view(job, now)

    def preview(self, request: JobRequest) -> tuple[Preview, JobPreview]:
        """What it would ask for now, and when next. Keeps nothing but the plan. Raises JobRefused, SelectionError."""
        decide.check_job(request.name, request.cron, request.tz)
        shown = self._plans.preview(_plan_request(request))
        now, jobs, lanes = self._backend.store.run(lambda tx: (tx.now(), tx.jobs(), tx.lanes()), durable=False)
        job = self._job(request, now)
        known_lane(lanes, job.lane)
        exists = any(one.name == request.name for one in jobs)
        ticks = decide.fires(job, now, _TICKS)
        return shown, JobPreview(
            sentence=_sentence(job, exists=exists),
            plan=shown.view(),
            ticks=ticks,
            clock_changes=clock_changes(job.tz or "UTC", ticks),
            exists=exists,
            cli=_cli(request),
        )

    def add(self, request: JobConfirm) -> JobView:
        """Keeps it. Raises JobRefused for a name that is taken."""
        self.preview(request)
        now = self._backend.store.run(lambda tx: tx.now(), durable=False)
        kept = duties.add_job(self._backend.store, self._job(request, now), replacing=request.replace)
        return _view(kept, now)

    def plan(self, name: str, run: JobRun | None = None) -> tuple[Preview, JobPlan]:
        """What it asks for now, to be launched as any other plan. Raises NotFound, ParamsRefused."""
        job, _ = self._find(name)
        asked = _asked(job)
        params = {**(asked.get("params") or {}), **(run.params if run else {})}
        shown = self._plans.preview(PlanRequest.model_validate({**asked, "params": params, "as": "run"}))
        return shown, JobPlan(plan=shown.view(), tags=tags_of_job(job), lane=job.lane, max_active=job.max_active)

    def pause(self, name: str, change: JobChange) -> JobView:
        """Raises NotFound, JobRefused."""
        self._find(name)
        duties.pause_job(self._backend.store, name, who=self._backend.who, reason=change.reason)
        return self.get(name)

    def resume(self, name: str, change: JobResume) -> JobView:
        """Raises NotFound, JobRefused."""
        self._find(name)
        latest = change.catch_up == "latest"
        duties.resume_job(self._backend.store, name, who=self._backend.who, latest=latest, reason=change.reason)
        return self.get(name)

    def remove(self, name: str, change: JobChange) -> JobRemoved:
        """Forgets it; its runs stay. Raises NotFound."""
        self._find(name)
        duties.remove_job(self._backend.store, name, who=self._backend.who, reason=change.reason)
        return JobRemoved(name=name)

    def _find(self, name: str) -> tuple[Job, Any]:
        jobs, now = self._backend.store.run(lambda tx: (tx.jobs(), tx.now()), durable=False)
        for job in jobs:
            if job.name == name:
                return job, now
        raise NotFound(f"there is no job {name!r}", fix="`partita jobs list` lists what there is")

    def _job(self, request: JobRequest, now: Any) -> Job:
        asked = request.model_dump(include={"selection", "partitions", "mode", "upstream", "downstream", "params"})
        return Job(
            name=request.name,
            request=asked,
            lane=request.lane or _LANE,
            created_by=self._backend.who,
            created_at=now,
            tags=request.tags,
            cron=request.cron,
            tz=request.tz,
            max_cells=request.max_cells,
            max_active=request.max_active,
        )


def _asked(job: Job) -> dict[str, Any]:
    return {name: value for name, value in job.request.items() if value is not None}


def _plan_request(request: JobRequest) -> PlanRequest:
    asked = request.model_dump(include={"selection", "partitions", "mode", "upstream", "downstream", "params"})
    return PlanRequest.model_validate({**asked, "as": "run"})


def _view(job: Job, now: Any) -> JobView:
    asked = job.request
    ticks = decide.fires(job, now, _TICKS)
    return JobView(
        name=job.name,
        selection=asked["selection"],
        partitions=asked.get("partitions"),
        mode=list(asked["mode"]),
        upstream=bool(asked.get("upstream")),
        downstream=bool(asked.get("downstream")),
        params=dict(asked.get("params") or {}),
        tags=dict(job.tags),
        lane=job.lane,
        cron=job.cron,
        tz=job.tz,
        max_cells=job.max_cells,
        max_active=job.max_active,
        created_by=job.created_by,
        created_at=job.created_at,
        paused_by=job.paused_by,
        paused_at=job.paused_at,
        pause_reason=job.pause_reason,
        next_at=job.next_at,
        ticks=ticks,
        clock_changes=clock_changes(job.tz or "UTC", ticks),
        missed=decide.missed_by_pause(job, now),
        last_tick=job.last_tick,
        last_run=job.last_run,
        last_note=job.last_note,
    )


def _sentence(job: Job, *, exists: bool) -> str:
    when = "only by hand" if job.cron is None else f"at {job.cron} in {job.tz}, whatever is missing then"
    taken = " There is one of this name: it would be replaced." if exists else ""
    return f"Job {job.name} asks for {job.request['selection']} {job.request.get('partitions') or ''}".rstrip() + (
        f" {when}.{taken}"
    )


def _cli(request: JobRequest) -> str:
    parts = ["partita jobs add", request.name, shlex.quote(request.selection)]
    parts += [f"--partitions {shlex.quote(request.partitions)}"] if request.partitions else []
    parts += [f"--mode {','.join(request.mode)}"] if request.mode != ["missing", "failed", "stale"] else []
    parts += ["--upstream"] if request.upstream else []
    parts += ["--downstream"] if request.downstream else []
    parts += [f"--param {shlex.quote(f'{name}={json.dumps(value)}')}" for name, value in request.params.items()]
    parts += [f"--tag {shlex.quote(f'{name}={value}')}" for name, value in request.tags.items()]
    parts += [f"--lane {shlex.quote(request.lane)}"] if request.lane else []
    parts += [f"--cron {shlex.quote(request.cron)} --tz {request.tz}"] if request.cron else []
    parts += [f"--max-cells {request.max_cells}"] if request.max_cells is not None else []
    parts += [f"--max-active {request.max_active}"] if request.max_active is not None else []
    return " ".join(parts)
