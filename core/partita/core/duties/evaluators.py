"""What people do to observers, schedules and sensors: evaluate one now, pause, resume, set its cursor. With the record of who."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from partita.assets import PartitaError
from partita.assets.condition_specs import CatchUp
from partita.core.decide.evaluators import Due, due_after, resumed, spec_of
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent
from partita.core.store.values_evaluators import Evaluator, EvaluatorId, EvaluatorUpdate

T = TypeVar("T")
CHANNELS = (Channel.WAIT, Channel.EVENT)
"""Whom to wake after any of these."""


class EvaluatorRefused(PartitaError):
    """What was asked for is not done to it."""


def evaluate_now(store: Store, evaluator_id: EvaluatorId, *, who: str) -> None:
    """It is due at once, whatever its clock or its failures say. A schedule only when its tick has come: a tick is an instant,
    and none is made up. Raises EvaluatorRefused."""

    def work(tx: Tx, one: Evaluator) -> None:
        now = tx.now()
        if one.paused or one.retired:
            raise EvaluatorRefused(
                f"{one.kind} {one.name!r} is {'retired' if one.retired else 'paused'}",
                rule="nobody evaluates it",
                fix="deploy a version that defines it" if one.retired else "resume it first",
            )
        if one.tick_at is not None and one.tick_at > now:
            raise EvaluatorRefused(
                f"schedule {one.name!r} has its next tick at {one.tick_at:%Y-%m-%d %H:%M} UTC",
                rule="a schedule is evaluated at its ticks",
                fix="ask for what it would ask for: partita materialize, or keep a job",
            )
        tx.write_evaluator(_update(one, Due(now, one.tick_at)))
        _record(tx, one, "evaluate", who)

    _change(store, evaluator_id, work)


def set_cursor(store: Store, evaluator_id: EvaluatorId, cursor: str | None, *, who: str, reason: str = "") -> None:
    """From now on it goes on from there (None: as at first). An evaluation that runs counts for nothing any more."""

    def work(tx: Tx, one: Evaluator) -> None:
        due = Due(one.due_at, one.tick_at) if one.tick_at is not None else Due(tx.now())
        update = replace(_update(one, due), cursor=cursor, failures=0, free=True)
        tx.write_evaluator(replace(update, position=None) if cursor is None else update)
        _record(tx, one, "cursor", who, reason, cursor=cursor, was=one.cursor)

    _change(store, evaluator_id, work)


def pause(store: Store, evaluator_id: EvaluatorId, *, who: str, reason: str = "") -> None:
    """Nobody evaluates it until it is resumed; what runs now ends and counts. Raises EvaluatorRefused."""

    def work(tx: Tx, one: Evaluator) -> None:
        if one.paused:
            raise EvaluatorRefused(f"{one.kind} {one.name!r} is paused already", rule="that is done once")
        tx.pause_evaluator(one.id, who)
        _record(tx, one, "pause", who, reason)

    _change(store, evaluator_id, work)


def resume(
    store: Store,
    evaluator_id: EvaluatorId,
    *,
    who: str,
    catch_up: CatchUp | None = None,
    pace: int | None = None,
    reason: str = "",
) -> None:
    """It is evaluated again. `catch_up` says which ticks that passed meanwhile are: none, the latest, or all of them in turn
    (None: as the schedule itself says). With a `pace` a tick of all of them is evaluated while fewer than so many of the runs
    that the schedule asked for are active. Raises EvaluatorRefused."""

    def work(tx: Tx, one: Evaluator) -> None:
        if not one.paused:
            raise EvaluatorRefused(f"{one.kind} {one.name!r} is not paused", rule="what is paused is resumed")
        chosen = catch_up or spec_of(one.spec).catch_up
        if pace is not None and (one.kind != "schedule" or chosen != "all"):
            raise EvaluatorRefused(
                f"{one.kind} {one.name!r} has no ticks to evaluate at a pace",
                rule="a pace is for all the ticks of a schedule that passed while it was paused",
                fix="leave the pace out" if one.kind != "schedule" else "ask for all of them: catch_up='all'",
            )
        tx.pause_evaluator(one.id, None)
        now = tx.now()
        due = _after_pause(one, catch_up, now)
        tx.write_evaluator(_update(one, due))
        behind = due.tick_at is not None and due.tick_at <= now
        tx.catch_up_evaluator(one.id, chosen if behind else None, pace if behind else None)
        _record(tx, one, "resume", who, reason, catch_up=catch_up, **({} if pace is None else {"pace": pace}))

    _change(store, evaluator_id, work)


def _after_pause(one: Evaluator, catch_up: CatchUp | None, now: datetime) -> Due:
    spec = spec_of(one.spec)
    if one.tick_at is None:
        return Due(now) if spec.kind != "schedule" else due_after(spec, now)
    return resumed(spec, one.tick_at, catch_up or spec.catch_up, now)


def _change(store: Store, evaluator_id: EvaluatorId, work: Callable[[Tx, Evaluator], T]) -> T:
    def locked(tx: Tx) -> T:
        one = tx.lock_evaluator(evaluator_id)
        if one is None:
            raise EvaluatorRefused(f"there is no evaluator {evaluator_id}", rule="locations define them")
        return work(tx, one)

    return store.run(locked)


def _update(one: Evaluator, due: Due) -> EvaluatorUpdate:
    """Only when it is evaluated next changes; what runs goes on."""
    return EvaluatorUpdate(one.id, one.cursor, one.position, due.tick_at, due.due_at, one.failures, free=False)


def _record(tx: Tx, one: Evaluator, action: str, who: str, reason: str = "", **detail: object) -> None:
    tx.audit(who, f"evaluator_{action}", {"kind": one.kind, "name": one.name, **detail}, reason=reason)
    tx.append_events([NewEvent("location", body={"evaluator": one.name})])
