"""Observers, schedules and sensors for people: what they do, when they are evaluated next, what came of it.

Owns the sentences; when one is evaluated is the core's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from partita.assets import EvaluatorSpec, next_fires
from partita.core.decide.evaluators import missed, spec_of
from partita.core.duties import evaluators as duties
from partita.core.store.queries import api_evaluators as sql
from partita.core.store.queries.api_read import now, number, one, rows
from partita.core.store.values_evaluators import EvaluatorId
from partita.ui.api.models.evaluators import (
    AskedView,
    EvaluationView,
    EvaluatorChange,
    EvaluatorCursor,
    EvaluatorDetail,
    EvaluatorList,
    EvaluatorResume,
    EvaluatorView,
)
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend
from partita.ui.api.services.ticks import clock_changes
from partita.ui.api.services.words import plural, seconds_text

Row = Mapping[str, Any]
_TICKS = 5
_HISTORY = 50
_MISSED = 1_000
_LATE_S = 10.0


class EvaluatorService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def list(self, kind: str | None = None, *, retired: bool = False) -> EvaluatorList:
        """By kind, location and name."""
        with self._backend.store.read() as reader:
            at = now(reader)
            live = number(reader, sql.TRIGGERERS)
            found = rows(reader, sql.LIST_EVALUATORS, kind=kind, retired=retired)
        return EvaluatorList(evaluators=[_view(row, at, live) for row in found])

    def detail(self, evaluator_id: int) -> EvaluatorDetail:
        """With its last evaluations and requests. Raises NotFound."""
        with self._backend.store.read() as reader:
            at = now(reader)
            live = number(reader, sql.TRIGGERERS)
            row = one(reader, sql.EVALUATOR, id=evaluator_id)
            if row is None:
                raise _unknown(evaluator_id)
            past = rows(reader, sql.EVALUATIONS, id=evaluator_id, limit=_HISTORY)
            asked = rows(reader, sql.ASKED, id=evaluator_id, limit=_HISTORY)
        return EvaluatorDetail(
            evaluator=_view(row, at, live),
            evaluations=[_evaluation(one_row) for one_row in past],
            asked=[_asked(one_row) for one_row in asked],
        )

    def named(self, kind: str, name: str) -> EvaluatorView:
        """The one of this kind and name; "LOCATION/NAME" where several locations have it. Raises NotFound."""
        found = [
            view
            for view in self.list(kind, retired=True).evaluators
            if name in (view.name, f"{view.location}/{view.name}")
        ]
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(f"{view.location}/{view.name}" for view in found)
            raise NotFound(f"several locations have a {kind} {name!r}", fix=f"write one of {places}")
        raise NotFound(f"there is no {kind} {name!r}", fix=f"`partita {COMMANDS[kind]} list` lists what there is")

    def run(self, evaluator_id: int) -> EvaluatorView:
        """It is due now. Raises EvaluatorRefused."""
        duties.evaluate_now(self._backend.store, EvaluatorId(evaluator_id), who=self._backend.who)
        return self._told(evaluator_id)

    def set_cursor(self, evaluator_id: int, request: EvaluatorCursor) -> EvaluatorView:
        """Raises EvaluatorRefused."""
        duties.set_cursor(
            self._backend.store, EvaluatorId(evaluator_id), request.cursor, who=self._backend.who, reason=request.reason
        )
        return self._told(evaluator_id)

    def pause(self, evaluator_id: int, change: EvaluatorChange) -> EvaluatorView:
        """Raises EvaluatorRefused."""
        duties.pause(self._backend.store, EvaluatorId(evaluator_id), who=self._backend.who, reason=change.reason)
        return self._told(evaluator_id)

    def resume(self, evaluator_id: int, change: EvaluatorResume) -> EvaluatorView:
        """Raises EvaluatorRefused."""
        duties.resume(
            self._backend.store,
            EvaluatorId(evaluator_id),
            who=self._backend.who,
            catch_up=change.catch_up,
            pace=change.pace,
            reason=change.reason,
        )
        return self._told(evaluator_id)

    def _told(self, evaluator_id: int) -> EvaluatorView:
        self._backend.wake(duties.CHANNELS)
        return self.detail(evaluator_id).evaluator


COMMANDS = {"observe": "observers", "schedule": "schedules", "sensor": "sensors"}
"""By kind, the command of its list."""


def _view(row: Row, at: datetime, live: int) -> EvaluatorView:
    spec = spec_of(row["spec"])
    state, told = _state(row, at, live)
    idle = state in ("paused", "retired")
    ticks = _ticks(spec, row["tick_at"], at)
    took = None if row["ended_at"] is None or row["started_at"] is None else row["ended_at"] - row["started_at"]
    behind = row["tick_at"] is not None and (row["paused_at"] is not None or row["catch_up"] == "all")
    waiting = len(missed(spec, row["tick_at"], at, _MISSED)) if behind else 0
    if state == "ok" and waiting:
        told = f"catches up: {plural(waiting, 'tick')} to go{_pace_text(row['pace'])}"
    return EvaluatorView(
        id=row["id"],
        location=row["location"],
        name=row["name"],
        kind=row["kind"],
        description=spec.description,
        owner=spec.owner,
        timing=f"every {_period(spec.every_s)}" if spec.every_s is not None else f"{spec.cron} {spec.tz}",
        tz=spec.tz,
        about=_about(spec),
        state=state,
        text=told,
        cursor=row["cursor"],
        next_at=None if idle else row["due_at"],
        ticks=ticks,
        clock_changes=clock_changes(spec.tz or "UTC", ticks),
        missed=waiting,
        pace=row["pace"],
        last_at=row["ended_at"],
        last_ms=None if took is None or took < timedelta(0) else took.total_seconds() * 1000,
        last=_came(row["outcome"], row["detail"], row["error"]),
        error=row["error"],
        failures=row["failures"],
    )


def _state(row: Row, at: datetime, live: int) -> tuple[str, str]:
    if row["retired_at"] is not None:
        return "retired", "no active version defines it; its cursor is kept"
    if row["paused_at"] is not None:
        return "paused", f"paused by {row['paused_by']}"
    if row["triggerer_id"] is not None:
        return (
            "running",
            f"evaluated by {row['triggerer_id']} since {seconds_text((at - row['started_at']).total_seconds())}",
        )
    late_s = 0.0 if row["due_at"] is None else (at - row["due_at"]).total_seconds()
    if late_s > _LATE_S and not live:
        return "waiting", "it is due, and no triggerer runs: start `partita triggerer`"
    if late_s > _LATE_S and not row["served"]:
        return "waiting", "it is due, and no server has its version"
    if row["failures"]:
        return "failing", f"failed {plural(row['failures'], 'time')} in a row: {row['error']}"
    if row["due_at"] is None:
        return "ok", "its cron fires no more"
    return "ok", ""


def _pace_text(pace: int | None) -> str:
    return "" if pace is None else f", at most {plural(pace, 'run')} of it at a time"


def _period(every_s: float) -> str:
    """`30 s`, `5 min`, `2 h`."""
    for length_s, unit in ((3600.0, "h"), (60.0, "min")):
        if every_s >= length_s:
            return f"{every_s / length_s:g} {unit}"
    return f"{every_s:g} s"


def _about(spec: EvaluatorSpec) -> str:
    """What it looks at: an asset, events, or whatever it likes."""
    if spec.observes is not None:
        return f"versions of {spec.observes}"
    if spec.ready is not None:
        return f"which partitions of {spec.ready} are ready"
    told = [*spec.watches, *(f"runs that ended {state}" for state in spec.runs)]
    return f"told of {', '.join(told)}" if told else ""


def _came(outcome: str | None, detail: Mapping[str, Any] | None, error: str | None) -> str:
    """What an evaluation came to: "2 requests, 1 known", "a holiday", "ValueError: boom"."""
    if outcome is None:
        return "never evaluated"
    if outcome == "failed":
        return error or "failed"
    said = detail or {}
    words = [
        plural(said[name], word)
        for name, word in (("requests", "request"), ("keys", "new key"), ("moved", "new version"))
        if said.get(name)
    ]
    words += [f"{said['known']} known"] if said.get("known") else []
    words += [f"{said['confirmed']} confirmed"] if said.get("confirmed") else []
    words += (
        [f"{plural(said['passed_over'], 'tick')} passed over"] if said.get("passed_over") and "skip" not in said else []
    )
    if "pace" in said:
        return f"waits: {plural(said['active'], 'run')} of it active, and its pace is {said['pace']}"
    return ", ".join(words) or str(said.get("skip") or "nothing")


def _evaluation(row: Row) -> EvaluationView:
    names = ("tick_at", "started_at", "ended_at", "outcome", "error", "traceback", "log")
    return EvaluationView(
        number=row["token"],
        text=_came(row["outcome"], row["detail"], row["error"]),
        **{name: row[name] for name in names},
    )


_STATES = {"open": "is being planned", "launched": "launched", "nothing": "asks for nothing that is to be made"}


def _asked(row: Row) -> AskedView:
    request = row["request"]
    return AskedView(
        id=row["id"],
        evaluation=row["token"],
        key=row["key"],
        selection=str(request.get("selection", "")),
        partitions=request.get("partitions"),
        request=dict(request),
        state=row["state"],
        text=row["error"] or _STATES.get(row["state"], row["state"]),
        run_id=row["run_id"],
        asked_at=row["asked_at"],
    )


def _ticks(spec: EvaluatorSpec, tick_at: datetime | None, at: datetime) -> list[datetime]:
    if spec.kind != "schedule" or spec.cron is None or spec.tz is None:
        return []
    first = [] if tick_at is None or tick_at > at else [tick_at]
    return [*first, *next_fires(spec.cron, spec.tz, at, _TICKS - len(first))]


def _unknown(evaluator_id: int) -> NotFound:
    return NotFound(f"there is no evaluator {evaluator_id}", fix="GET /evaluators lists what there is")


def cursor_text(cursor: str | None) -> str:
    """As people are shown it."""
    return "none" if cursor is None else json.dumps(cursor, ensure_ascii=False)
