"""Mutants of what follows by itself: reports, callbacks, pauses, keys that runs find, ticks, lateness, retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from tests.simulation.mutant import Patch, mutant

from partita.core.automation import catch_up as catch_up_duty
from partita.core.automation import clocks, evaluating, fan_out, follow, handing, pacing, rebuild, view, visit
from partita.core.decide import dynamic as dynamic_decider
from partita.core.decide import jobs as jobs_decider
from partita.core.decide import observe as observe_decider
from partita.core.decide import retention as retention_decider
from partita.core.duties import consequences
from partita.core.duties import finish as finish_duty
from partita.core.duties import intake as intake_duty
from partita.core.duties import jobs as jobs_duty
from partita.core.duties import observe as observe_duty
from partita.core.freshness import looking
from partita.core.retention import duty as retention_duty
from partita.core.runtime import activate as activation
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values_alerts import AlertKind
from partita.core.store.values_freshness import FreshState
from partita.core.store.values_reports import KnownReport

# ---------------------------------------------------------------------------------------------- reports, observations


@mutant("report recorded without its event", theme="feeds")
def _(patch: Patch) -> None:
    right = observe_duty.observe_in

    def silent(tx: MemoryTx, *args: Any, **options: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(MemoryTx, "append_events", lambda tx, events: None)
            return right(tx, *args, **options)

    patch.setattr(intake_duty, "observe_in", silent)


@mutant("key of a report not recorded", theme="feeds")
def _(patch: Patch) -> None:
    def forgets(tx: MemoryTx, reports: Sequence[KnownReport]) -> Any:
        return {one.id for one in reports}

    patch.setattr(MemoryTx, "insert_reports", forgets)


@mutant("key of a report forgotten before its time", theme="feeds")
def _(patch: Patch) -> None:
    right = MemoryTx.forget_reports

    def early(tx: MemoryTx, limit: int) -> int:
        now, tx._now = tx._now, tx._now + timedelta(days=30)
        try:
            return right(tx, limit)
        finally:
            tx._now = now

    patch.setattr(MemoryTx, "forget_reports", early)


@mutant("version that did not move told again", theme="feeds")
def _(patch: Patch) -> None:
    right = observe_decider.judge

    def all_moved(observations: Any, facts: Any, *, by: str) -> Any:
        unknown = {cell: fact._replace(data_version=None) for cell, fact in facts.items()}
        return right(observations, unknown, by=by)

    patch.setattr(observe_duty, "judge", all_moved)


# ---------------------------------------------------------------------------------------------- evaluations, callbacks


@mutant("request of a known key asked for again", theme="feeds")
def _(patch: Patch) -> None:
    right = MemoryTx.insert_asked

    def again(tx: MemoryTx, asked: Any) -> int:
        known = {row["key"]: row for row in tx._db.asked}
        new = right(tx, asked)
        for one in asked:
            if one.key in known:
                tx._db.asked.put({**known[one.key], "id": tx._db.next("asked")})
        return new

    patch.setattr(MemoryTx, "insert_asked", again)


@mutant("others wait for a slow evaluation", theme="feeds")
def _(patch: Patch) -> None:
    right = evaluating._take

    def one_at_a_time(tx: MemoryTx, *, limit: int, running: Any, **options: Any) -> Any:
        return right(tx, limit=0 if running else limit, running=running, **options)

    patch.setattr(evaluating, "_take", one_at_a_time)


@mutant("news begin with the first evaluation", theme="feeds")
def _(patch: Patch) -> None:
    right = MemoryTx.put_evaluators

    def late(tx: MemoryTx, location_id: Any, rows: Any) -> None:
        right(tx, location_id, [replace(row, position=None) for row in rows])

    patch.setattr(MemoryTx, "put_evaluators", late)


@mutant("callback that cannot be called is passed over", theme="feeds")
def _(patch: Patch) -> None:
    right = evaluating._broke

    def goes_on(tx: MemoryTx, *, begun: Any, end: Any) -> Any:
        done = right(tx, begun=begun, end=end)
        if done.counted and begun.position is not None:
            tx._db.evaluator.change(begun.evaluator.id, position=begun.position)
        return done

    patch.setattr(evaluating, "_broke", goes_on)


@mutant("callback told of the first end only", theme="feeds")
def _(patch: Patch) -> None:
    right = handing._ended

    def first(*args: Any) -> Any:
        found = right(*args)
        return replace(found, given={**found.given, "tasks": found.given["tasks"][:1]})

    patch.setattr(handing, "_ended", first)


# ---------------------------------------------------------------------------------------------- consumers, pauses


@mutant("request of a known state made again", theme="pauses")
def _(patch: Patch) -> None:
    right = MemoryTx.insert_automation_requests

    def all_new(tx: MemoryTx, requests: Any) -> Any:
        right(tx, requests)
        return {one.cell for one in requests}

    patch.setattr(MemoryTx, "insert_automation_requests", all_new)
    patch.setattr(MemoryTx, "known_requests", lambda tx, states: set())


@mutant("event of a paused consumer dropped", theme="pauses")
def _(patch: Patch) -> None:
    right = MemoryTx.put_back_todo

    def drops(tx: MemoryTx, consumer: str, events: Any, *, until: datetime | None = None) -> None:
        if until is None:
            right(tx, consumer, events)

    patch.setattr(MemoryTx, "put_back_todo", drops)


@mutant("catch-up launched and not recorded", theme="pauses")
def _(patch: Patch) -> None:
    patch.setattr(catch_up_duty, "requests_of", lambda *args: [])


# ---------------------------------------------------------------------------------------------- keys that runs find


@mutant("keys found and owed to nobody", theme="files")
def _(patch: Patch) -> None:
    right = finish_duty._add_keys
    patch.setattr(finish_duty, "_add_keys", lambda *args: replace(right(*args), owed=None))


@mutant("keys found and not gone on over", theme="files")
def _(patch: Patch) -> None:
    patch.setattr(fan_out, "_growth", lambda *args: None)


@mutant("run hears of keys before they are planned", theme="files")
def _(patch: Patch) -> None:
    right = consequences.write
    patch.setattr(finish_duty, "write", lambda *args, untold, **options: right(*args, **options))


@mutant("what collects does not wait for what was found", theme="files")
def _(patch: Patch) -> None:
    patch.setattr(fan_out, "_hold", lambda tx, run, owed, *others, **more: owed)


@mutant("cap of keys off by one", theme="files")
def _(patch: Patch) -> None:
    right = dynamic_decider.add

    def one_more(definition: Any, *args: Any, **options: Any) -> Any:
        return right(replace(definition, cap=definition.cap + 1), *args, **options)

    patch.setattr(dynamic_decider, "add", one_more)


@mutant("tasks over new keys not counted", theme="files")
def _(patch: Patch) -> None:
    right = MemoryTx.grow_run
    patch.setattr(MemoryTx, "grow_run", lambda tx, run_id, tasks, revision: right(tx, run_id, 0, revision))


# ---------------------------------------------------------------------------------------------- ticks, lateness


@mutant("tick asked for by each scheduler", theme="ticks")
def _(patch: Patch) -> None:
    right = jobs_duty._tick

    def not_compared(tx: MemoryTx, *, seen: Any, **options: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(MemoryTx, "lock_job", lambda tx, name: seen)
            return right(tx, seen=seen, **options)

    patch.setattr(jobs_duty, "_tick", not_compared)


@mutant("paused job ticks", theme="ticks")
def _(patch: Patch) -> None:
    right = jobs_decider.pause
    patch.setattr(jobs_decider, "pause", lambda job, **options: replace(right(job, **options), next_at=job.next_at))


@mutant("every tick that passed asks", theme="ticks")
def _(patch: Patch) -> None:
    def each(job: Any, now: datetime) -> Any:
        return jobs_decider.Tick(job.next_at, 0, jobs_decider.next_tick(job, job.next_at))

    patch.setattr(jobs_decider, "tick", each)


@mutant("tick asked for again when the clock is set back", theme="ticks")
def _(patch: Patch) -> None:
    right = jobs_duty._tick

    def at_the_look(tx: MemoryTx, *, seen: Any, **options: Any) -> Any:
        now: datetime = tx._now
        job = tx.lock_job(seen.name)
        if job is None or job != seen or job.next_at is None or job.next_at <= now:
            return right(tx, seen=seen, **options)
        tx._now = job.next_at
        try:
            done = right(tx, seen=seen, **options)
        finally:
            tx._now = now
        tx._db.job.change(job.name, next_at=jobs_decider.next_tick(job, now))
        return done

    patch.setattr(jobs_duty, "_tick", at_the_look)


@mutant("lateness told at each look", theme="ticks")
def _(patch: Patch) -> None:
    right = looking._signals

    def each(one: Any, *args: Any) -> Any:
        asked = replace(one.asked, row=replace(one.asked.row, state=FreshState.UNKNOWN))
        return right(replace(one, asked=asked), *args)

    patch.setattr(looking, "_signals", each)


@mutant("lateness told to nobody", theme="ticks")
def _(patch: Patch) -> None:
    patch.setattr(looking, "_signals", lambda *args: [])


@mutant("span of lateness left open", theme="ticks")
def _(patch: Patch) -> None:
    right = MemoryTx.put_late_spans
    patch.setattr(
        MemoryTx, "put_late_spans", lambda tx, spans: right(tx, [replace(one, until_at=None) for one in spans])
    )


@mutant("alert of lateness never over", theme="ticks")
def _(patch: Patch) -> None:
    right = MemoryTx._over
    kinds = {AlertKind.LATE.value, AlertKind.SLO_BURN.value}
    patch.setattr(MemoryTx, "_over", lambda tx, row: row["kind"] not in kinds and right(tx, row))


# ---------------------------------------------------------------------------------------------- conditions, other code


@mutant("past asked for at once", theme="pauses")
def _(patch: Patch) -> None:
    patch.setattr(visit, "portions", lambda catalog, asking, now: [pacing.Portion(tuple(asking))])


@mutant("past that is paced is lost", theme="pauses")
def _(patch: Patch) -> None:
    right = pacing.portions

    def without_past(*args: Any) -> Any:
        return [one for one in right(*args) if one.pace is None]

    patch.setattr(visit, "portions", without_past)


@mutant("code that goes back is no change", theme="deployments")
def _(patch: Patch) -> None:
    patch.setattr(view.StepView, "replaced", lambda self, cell: "")


@mutant("what tasks of other code are at overlooked", theme="deployments")
def _(patch: Patch) -> None:
    right = rebuild._made_otherwise

    def published_only(visit: Any, asset: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(MemoryTx, "open_owners", lambda tx, cells: {})
            return right(visit, asset)

    patch.setattr(rebuild, "_made_otherwise", published_only)


@mutant("request stays when its task is removed", theme="deployments")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "withdraw_requests", lambda tx, run_id, cells: None)


@mutant("code that changed asks nobody", theme="deployments")
def _(patch: Patch) -> None:
    patch.setattr(activation, "changed_rebuilds", lambda *args: [])


@mutant("clock not moved on", theme="ticks")
def _(patch: Patch) -> None:
    patch.setattr(clocks, "next_look", lambda *args: None)


@mutant("what is debounced follows at once", theme="feeds")
def _(patch: Patch) -> None:
    patch.setattr(follow, "_at_once", lambda visit, steps: steps)


# ---------------------------------------------------------------------------------------------- retention


@mutant("history that is referred to goes", theme="history")
def _(patch: Patch) -> None:
    def whatever_holds(oldest: date, holds: Any, now: datetime, keep_days: float) -> Any:
        young = oldest >= retention_decider.first_kept(now, keep_days)
        return retention_decider.Going(None if young else oldest)

    patch.setattr(retention_duty, "next_day", whatever_holds)


@mutant("history goes before its files are there", theme="history")
def _(patch: Patch) -> None:
    right = MemoryTx.begin_archive

    def at_once(tx: MemoryTx, day: date) -> None:
        right(tx, day)
        tx._db.archive_day.change(day, state="deleting")

    patch.setattr(MemoryTx, "begin_archive", at_once)


@mutant("history goes a day early", theme="history")
def _(patch: Patch) -> None:
    right = retention_decider.first_kept
    patch.setattr(retention_decider, "first_kept", lambda now, keep_days: right(now, keep_days - 1))
