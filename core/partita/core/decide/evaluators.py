"""When an observer, schedule or sensor is evaluated next, and what a loaded version makes of those that are there. Pure.

A tick of a schedule is an instant of its own: it is evaluated once, and what happens to ticks that nobody was there for is the
schedule's `catch_up`. Failures wait longer each time; what a function asked for before it failed counts for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from partita.assets import EvaluatorSpec, count_fires, next_fires, previous_fires
from partita.assets.condition_specs import CatchUp
from partita.core.store.values import SnapshotId
from partita.core.store.values_evaluators import Evaluator, EvaluatorRow

LATE_S = 300.0
"""A tick that is looked at later than this was missed: `catch_up="none"` passes over it."""
_FIRST_RETRY_S = 10.0
_LONGEST_RETRY_S = 900.0
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Due:
    """When it is evaluated next; `tick_at` of a schedule. Without `due_at` its cron fires no more."""

    due_at: datetime | None
    tick_at: datetime | None = None


def first_due(spec: EvaluatorSpec, now: datetime) -> Due:
    """Of one that is new, or has another timing: at once with a period, at the next fire time with a cron."""
    if spec.cron is None:
        return Due(now)
    fire = _next(spec, now)
    return Due(fire, fire if spec.kind == "schedule" else None)


def tick_now(
    spec: EvaluatorSpec, tick_at: datetime, now: datetime, *, catch_up: CatchUp | None = None
) -> tuple[datetime | None, int]:
    """Which tick is evaluated, when `tick_at` came next and it is `now`; and how many are passed over for it. None: none of
    those that passed. `catch_up` is a person's word, in place of the schedule's own."""
    policy = catch_up or spec.catch_up
    if policy == "all":
        return tick_at, 0
    last = _last(spec, now)
    latest = tick_at if last is None or last < tick_at else last
    passed = 0 if latest == tick_at else _count(spec, tick_at, latest)
    if policy == "none" and (now - latest).total_seconds() > LATE_S:
        return None, passed + 1
    return latest, passed


def due_after(spec: EvaluatorSpec, now: datetime, *, tick: datetime | None = None) -> Due:
    """After an evaluation that ended well, or passed over its ticks; `tick` is the one that was evaluated."""
    if spec.kind == "schedule":
        fire = _next(spec, now if tick is None else tick)
        return Due(fire, fire)
    if spec.cron is not None:
        return Due(_next(spec, now))
    assert spec.every_s is not None
    return Due(now + timedelta(seconds=spec.every_s))


def due_after_failure(every_s: float | None, failures: int, now: datetime) -> datetime:
    """Later each time, never sooner than its period: 10 s, 20 s, ... up to 15 minutes. `failures` in a row, this one
    included."""
    waits_s = min(_FIRST_RETRY_S * 2.0 ** min(failures - 1, 20), _LONGEST_RETRY_S)
    return now + timedelta(seconds=max(waits_s, every_s or 0.0))


def resumed(spec: EvaluatorSpec, tick_at: datetime, catch_up: CatchUp, now: datetime) -> Due:
    """Of a schedule that was paused, when `tick_at` came next: from that tick on, from the last that passed, or from the next
    one on."""
    last = _last(spec, now)
    if tick_at > now or catch_up == "all" or last is None:
        return Due(tick_at, tick_at)
    if catch_up == "latest":
        latest = max(last, tick_at)
        return Due(latest, latest)
    return due_after(spec, now)


def loaded(
    specs: Sequence[EvaluatorSpec],
    known: Sequence[Evaluator],
    *,
    snapshot_id: SnapshotId,
    broken: Collection[str],
    now: datetime,
    position: str | None,
) -> list[EvaluatorRow]:
    """What a version makes of the evaluators of its location. Those of modules that do not load stay with the version that
    they have (law 8); those that it defines no more are retired, with their cursors. New ones are told of what happens from
    `position` on, whenever they are evaluated first."""
    before = {one.name: one for one in known}
    rows = [replace(_row(spec, before.get(spec.name), snapshot_id, now), position=position) for spec in specs]
    return [*rows, *_retired(known, {spec.name for spec in specs}, broken)]


def missed(spec: EvaluatorSpec, tick_at: datetime, now: datetime, limit: int) -> list[datetime]:
    """The ticks from `tick_at` that have passed, oldest first; up to `limit`."""
    found = [tick_at] if tick_at <= now else []
    if found and spec.cron is not None and spec.tz is not None:
        found += [one for one in next_fires(spec.cron, spec.tz, tick_at, limit - 1) if one <= now]
    return found


def spec_of(stored: Mapping[str, object]) -> EvaluatorSpec:
    """The definition of a stored one."""
    return EvaluatorSpec.model_validate(stored)


def _row(spec: EvaluatorSpec, before: Evaluator | None, snapshot_id: SnapshotId, now: datetime) -> EvaluatorRow:
    stored = spec.model_dump(mode="json")
    if before is not None and not before.retired and before.kind == spec.kind and _same_times(spec, before):
        due = Due(before.due_at, before.tick_at)
        if before.failures:
            due = Due(now, before.tick_at)  # its code may be mended now
    else:
        due = first_due(spec, now)
    return EvaluatorRow(spec.name, spec.kind, snapshot_id, stored, due.tick_at, due.due_at)


def _same_times(spec: EvaluatorSpec, before: Evaluator) -> bool:
    known = spec_of(before.spec)
    return (spec.every_s, spec.cron, spec.tz) == (known.every_s, known.cron, known.tz)


def _retired(known: Iterable[Evaluator], defined: Collection[str], broken: Collection[str]) -> list[EvaluatorRow]:
    gone = [one for one in known if one.name not in defined and not one.retired and not _of(one, broken)]
    return [
        EvaluatorRow(one.name, one.kind, one.snapshot_id, one.spec, one.tick_at, one.due_at, retired=True)
        for one in gone
    ]


def _of(one: Evaluator, modules: Collection[str]) -> bool:
    module = str(one.spec.get("module", ""))
    return any(module == name or module.startswith(f"{name}.") for name in modules)


def _next(spec: EvaluatorSpec, after: datetime) -> datetime | None:
    assert spec.cron is not None
    assert spec.tz is not None
    return next(iter(next_fires(spec.cron, spec.tz, after)), None)


def _last(spec: EvaluatorSpec, now: datetime) -> datetime | None:
    """The last fire time at or before an instant."""
    assert spec.cron is not None
    assert spec.tz is not None
    return next(iter(previous_fires(spec.cron, spec.tz, now + _INSTANT)), None)


def _count(spec: EvaluatorSpec, first: datetime, last: datetime) -> int:
    assert spec.cron is not None
    assert spec.tz is not None
    return count_fires(spec.cron, spec.tz, first, last)
