"""Named jobs: kept, paused, resumed, removed by people, each with its record; and the tick that asks once.

The plan of a tick is made outside; the transaction that launches it locks the job, compares what it saw of it, and moves the
job to its next tick. So of any number of schedulers that look at one tick one launches, and the others find it moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from partita.assets import PartitaError
from partita.core.decide import jobs as decide
from partita.core.decide.jobs import JobRefused
from partita.core.duties.channels import Channel
from partita.core.duties.launch import LaunchAgain, LaunchRefused, launch_in
from partita.core.duties.values import Launch, Launched
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent
from partita.core.store.values_jobs import Job

PlanJob = Callable[[Job], tuple[Launch | None, str]]
"""The launch of what a job asks for now, with a sentence; None when there is nothing to do. Raises PartitaError."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Ticked:
    """`taken` jobs were looked at; `runs` were launched."""

    taken: int = 0
    runs: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.taken


# ------------------------------------------------------------------------------------------------- what people do
def add_job(store: Store, job: Job, *, replacing: bool) -> Job:
    """Keeps a job under its name; another of this name is only taken away when `replacing`. Raises JobRefused."""
    decide.check_job(job.name, job.cron, job.tz)

    def work(tx: Tx) -> Job:
        now = tx.now()
        new = replace(job, created_at=now)
        new = replace(new, next_at=decide.next_tick(new, now))
        old = tx.lock_job(job.name)
        if old is not None and not replacing:
            raise _taken(job.name)
        if old is not None:
            tx.write_job(replace(new, last_tick=old.last_tick, last_run=old.last_run, last_note=old.last_note))
        elif not tx.insert_job(new):
            raise _taken(job.name)
        said = {"job": job.name, "selection": job.request.get("selection"), "partitions": job.request.get("partitions")}
        tx.audit(job.created_by, "job_add", {**said, "cron": job.cron, "tz": job.tz, "replaced": old is not None})
        _tell(tx, job.name)
        return new

    return store.run(work)


def remove_job(store: Store, name: str, *, who: str, reason: str = "") -> None:
    """Forgets it; its runs stay. Raises JobRefused."""

    def work(tx: Tx) -> None:
        _locked(tx, name)
        tx.delete_job(name)
        tx.audit(who, "job_remove", {"job": name}, reason=reason)
        _tell(tx, name)

    store.run(work)


def pause_job(store: Store, name: str, *, who: str, reason: str = "") -> Job:
    """No tick of it asks for anything; by hand it runs. Raises JobRefused."""

    def work(tx: Tx) -> Job:
        paused = decide.pause(_locked(tx, name), who=who, reason=reason, now=tx.now())
        tx.write_job(paused)
        tx.audit(who, "job_pause", {"job": name}, reason=reason)
        _tell(tx, name)
        return paused

    return store.run(work)


def resume_job(store: Store, name: str, *, who: str, latest: bool, reason: str = "") -> Job:
    """Its ticks ask again; of those that passed none is heeded, or the `latest`. Raises JobRefused."""

    def work(tx: Tx) -> Job:
        job, now = _locked(tx, name), tx.now()
        missed = decide.missed_by_pause(job, now)
        resumed = decide.resume(job, now=now, latest=latest)
        tx.write_job(resumed)
        tx.audit(who, "job_resume", {"job": name, "missed": missed, "latest": latest}, reason=reason)
        _tell(tx, name)
        return resumed

    return store.run(work)


# ------------------------------------------------------------------------------------------------- what schedulers do
def run_jobs(store: Store, plan: PlanJob, limit: int = 20) -> Ticked:
    """Heeds the ticks that have come, each in a transaction of its own."""
    due = store.run(lambda tx: tx.due_jobs(limit), durable=False)
    channels: set[Channel] = set()
    runs = 0
    for job in due:
        launched = _heed(store, job, plan)
        if launched is not None:
            runs += 1
            channels.update(launched.channels)
    return Ticked(len(due), runs, len(due) == limit, tuple(sorted(channels)))


def _heed(store: Store, job: Job, plan: PlanJob) -> Launched | None:
    for _ in range(_TRIES):
        wanted: Launch | None = None
        try:
            wanted, note = plan(job)
        except PartitaError as error:
            note = f"asked for nothing: {error.what}"
        try:
            return store.run(partial(_tick, seen=job, wanted=wanted, note=note))
        except LaunchAgain:
            continue  # planned anew: owners of cells moved, or a scheme
        except LaunchRefused as error:
            return store.run(partial(_tick, seen=job, wanted=None, note=f"asked for nothing: {error}"))
    return None  # in the next look


def _tick(tx: Tx, *, seen: Job, wanted: Launch | None, note: str) -> Launched | None:
    job = tx.lock_job(seen.name)
    if job is None or job != seen:
        return None  # another scheduler heeded it, or a person changed it
    now = tx.now()
    if job.next_at is None or job.next_at > now:
        return None  # the clock was set back since the look: the tick comes, and asks once
    ticked = decide.tick(job, now)
    launched = None if wanted is None else launch_in(tx, wanted)
    said = note if not ticked.missed else f"{note}; one for {ticked.missed + 1} ticks that had passed"
    run = None if launched is None else int(launched.run_id)
    tx.write_job(
        replace(job, next_at=ticked.next_at, last_tick=ticked.at, last_run=run or job.last_run, last_note=said)
    )
    _tell(tx, job.name)
    return launched


def _locked(tx: Tx, name: str) -> Job:
    job = tx.lock_job(name)
    if job is None:
        raise unknown_job(name)
    return job


def unknown_job(name: str) -> JobRefused:
    """The error for a name that no job has."""
    return JobRefused(f"there is no job {name!r}", rule="jobs are kept by name", fix="partita jobs list")


def _taken(name: str) -> JobRefused:
    return JobRefused(
        f"there is a job {name} already", rule="a name is one job", fix="choose another name, or --replace"
    )


def _tell(tx: Tx, name: str) -> None:
    tx.append_events([NewEvent("job", body={"job": name})])
