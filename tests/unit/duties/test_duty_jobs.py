"""Named jobs over the in-memory store with virtual time: each tick asks once, however many look (S-201)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.duties.duty_world import START, World, plan_of, report, step

from partita.core.decide.jobs import JobRefused
from partita.core.duties.jobs import PlanJob, add_job, pause_job, remove_job, resume_job, run_jobs
from partita.core.duties.values import Launch
from partita.core.store.values_jobs import Job

JOB = Job("nightly", {"selection": "a", "mode": ["missing"]}, "scheduled", "ada", START, cron="0 * * * *", tz="UTC")
HOUR_S = 3600


def asks(*tasks: Any) -> PlanJob:
    def plan(job: Job) -> tuple[Launch | None, str]:
        return plan_of(*tasks, request={"cells": []}) if tasks else None, f"for {job.name}"

    return plan


def row(world: World) -> Any:
    (found,) = world.rows("job")
    return found


def test_each_tick_is_one_run_and_the_next_is_known(world: World) -> None:
    kept = add_job(world.store, JOB, replacing=False)
    assert kept.next_at is not None
    assert run_jobs(world.store, asks(step(1))).taken == 0, "its time has not come"
    world.clock.forward(HOUR_S)
    ran = run_jobs(world.store, asks(step(1)))
    assert (ran.taken, ran.runs) == (1, 1)
    assert run_jobs(world.store, asks(step(1))).taken == 0
    found = row(world)
    assert (found["last_tick"], found["last_run"], found["last_note"]) == (kept.next_at, 1, "for nightly")
    assert (found["next_at"] - kept.next_at).total_seconds() == HOUR_S


def test_a_tick_that_another_scheduler_heeded_is_not_heeded_again(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    world.clock.forward(HOUR_S)

    def slow(job: Job) -> tuple[Launch | None, str]:
        run_jobs(world.store, asks(step(1)))  # another one is faster, while this one plans
        return plan_of(step(2), request={"cells": []}), "late"

    assert run_jobs(world.store, slow).runs == 0
    assert list(world.states()) == ["s1"]


def test_a_tick_asks_once_when_the_clock_is_set_back_while_it_is_planned(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    world.clock.forward(HOUR_S)

    def set_back(job: Job) -> tuple[Launch | None, str]:
        world.clock.forward(-2)
        return plan_of(step(1), request={"cells": []}), "early"

    assert run_jobs(world.store, set_back).runs == 0, "it has not come"
    world.clock.forward(2)
    assert run_jobs(world.store, asks(step(1))).runs == 1
    assert run_jobs(world.store, asks(step(2))).taken == 0


def test_an_outage_asks_once_for_all_that_passed(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    world.clock.forward(5 * HOUR_S)
    assert run_jobs(world.store, asks(step(1))).runs == 1
    assert row(world)["last_note"] == "for nightly; one for 5 ticks that had passed"


def test_what_cannot_be_planned_says_so_and_the_next_tick_comes(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    world.clock.forward(HOUR_S)

    def broken(job: Job) -> tuple[Launch | None, str]:
        raise JobRefused("900 cells, above its limit of 500")

    assert run_jobs(world.store, broken).runs == 0
    assert row(world)["last_note"] == "asked for nothing: 900 cells, above its limit of 500"
    assert run_jobs(world.store, broken).taken == 0
    world.clock.forward(HOUR_S)
    assert run_jobs(world.store, asks()).taken == 1
    assert (row(world)["last_note"], row(world)["last_run"]) == ("for nightly", None)


def test_a_paused_job_asks_for_nothing_and_catches_up_as_it_is_told(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    pause_job(world.store, "nightly", who="bob", reason="the source lies")
    world.clock.forward(3 * HOUR_S)
    assert run_jobs(world.store, asks(step(1))).taken == 0
    resume_job(world.store, "nightly", who="bob", latest=True)
    assert run_jobs(world.store, asks(step(1))).runs == 1
    world.finish(report(world.start()["s1"]))
    pause_job(world.store, "nightly", who="bob")
    world.clock.forward(3 * HOUR_S)
    resume_job(world.store, "nightly", who="bob", latest=False)
    assert run_jobs(world.store, asks(step(1))).taken == 0
    actions = [entry["action"] for entry in world.rows("audit") if entry["action"].startswith("job_")]
    assert actions == ["job_add", "job_pause", "job_resume", "job_pause", "job_resume"]


def test_a_name_is_one_job(world: World) -> None:
    add_job(world.store, JOB, replacing=False)
    with pytest.raises(JobRefused, match="there is a job nightly already"):
        add_job(world.store, JOB, replacing=False)
    add_job(world.store, replace(JOB, cron=None, tz=None), replacing=True)
    assert row(world)["next_at"] is None
    remove_job(world.store, "nightly", who="ada")
    assert world.rows("job") == []
    with pytest.raises(JobRefused, match="there is no job 'nightly'"):
        remove_job(world.store, "nightly", who="ada")
