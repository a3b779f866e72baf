"""Evaluations of observers, schedules and sensors: begun under a lease, concluded once.

What an evaluation asked for, its cursor and its tick are one transaction, under the fence of its token: a killed evaluator loses
an evaluation and never half of one, and one that was taken over commits nothing any more. A failure changes nothing but when it
is tried again. Owns the order of locks: the evaluator, then keys, then cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from partita.assets import EvaluatorSpec, PartitaError, UnknownAsset, suggest
from partita.assets.partitions.dynamic import legal_keys
from partita.core.automation.handing import MOST_TASKS, handed
from partita.core.automation.values import ActiveCatalog
from partita.core.catalog import Catalog
from partita.core.changes.observed import Said, observations_of
from partita.core.decide.evaluators import due_after, due_after_failure, spec_of, tick_now
from partita.core.duties.channels import Channel
from partita.core.duties.dynamic import add_keys_in
from partita.core.duties.observe import observe_in
from partita.core.store.port import Busy, Conflict, Store, Tx, Unavailable
from partita.core.store.values import LocationId, SnapshotId
from partita.core.store.values_evaluators import (
    EvaluationEnd,
    EvaluationOutcome,
    Evaluator,
    EvaluatorId,
    EvaluatorUpdate,
    NewAsked,
)
from partita.core.store.values_waits import TriggererId

CALLBACK_TRIES = 5
KEPT = 500
"""The history of an evaluator: what its last so many evaluations asked for, or why they failed."""


PACE_POLL_S = 5.0
"""How often a schedule that catches up at a pace looks whether a run of it has ended."""


@dataclass(frozen=True, slots=True)
class Begun:
    """An evaluation that this process has begun. `given` is for user code; `tick` that of a schedule, for which `passed_over`
    earlier ones were passed over."""

    evaluator: Evaluator
    spec: EvaluatorSpec | None
    given: Mapping[str, Any]
    tick: datetime | None = None
    passed_over: int = 0
    position: str | None = None

    @property
    def known_spec(self) -> EvaluatorSpec:
        """Of one that was begun; None is only between claim and reading."""
        assert self.spec is not None
        return self.spec


@dataclass(frozen=True, slots=True)
class Came:
    """It ended well: `asked` is the JSON of `partita.sdk.evaluate.Evaluated`."""

    asked: Mapping[str, Any]
    log: str = ""


@dataclass(frozen=True, slots=True)
class Broke:
    """It failed, took too long, or could not be called."""

    error: str
    traceback: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Concluded:
    """`counted` is false when somebody else evaluates it by now: nothing was written. `error` says why it failed."""

    counted: bool
    outcome: EvaluationOutcome = EvaluationOutcome.NOTHING
    error: str = ""
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- begin
def begin(
    store: Store,
    catalogs: ActiveCatalog,
    triggerer_id: TriggererId,
    pins: Sequence[tuple[LocationId, SnapshotId]],
    limit: int,
    *,
    running: Collection[EvaluatorId] = (),
    failing: int | None = None,
) -> list[Begun]:
    """Takes up to `limit` that are due, of these versions, and what each is handed; of those whose last evaluation failed up to
    `failing`, after the others. Ticks that are passed over are noted, and
    what cannot be called is concluded, at once. What this triggerer holds and is not `running` (an outage came between) is
    free again."""
    taken = store.run(
        partial(_take, triggerer_id=triggerer_id, pins=pins, limit=limit, running=running, failing=failing)
    )
    return [begun for one in taken if (begun := _begin(store, catalogs, one)) is not None]


def _take(
    tx: Tx,
    *,
    triggerer_id: TriggererId,
    pins: Sequence[tuple[LocationId, SnapshotId]],
    limit: int,
    running: Collection[EvaluatorId],
    failing: int | None,
) -> list[Evaluator]:
    tx.drop_evaluators(triggerer_id, running)
    if not pins or limit <= 0:
        return []
    taken = tx.claim_evaluators_skip(triggerer_id, pins, limit, failing=False)
    room = limit - len(taken) if failing is None else min(limit - len(taken), failing)
    return [*taken, *tx.claim_evaluators_skip(triggerer_id, pins, room, failing=True)] if room > 0 else taken


def _begin(store: Store, catalogs: ActiveCatalog, one: Evaluator) -> Begun | None:
    begun = Begun(one, None, {})
    try:
        begun = replace(begun, spec=spec_of(one.spec))
        return store.run(partial(_hand, catalog=catalogs.active(), begun=begun))
    except (Busy, Unavailable, Conflict, OSError, MemoryError):
        raise
    except Exception as error:  # it must not stand before the others, whatever it is
        text = str(error) if isinstance(error, PartitaError) else f"{type(error).__name__}: {error}"
        conclude(store, catalogs, begun, Broke(text))
        return None


def _hand(tx: Tx, *, catalog: Catalog, begun: Begun) -> Begun | None:
    one, spec, now = begun.evaluator, begun.known_spec, tx.now()
    if one.tick_at is not None:
        if (active := _too_many(tx, one)) is not None:
            _stand_back(tx, begun, now, active)
            return None
        tick, passed = tick_now(spec, one.tick_at, now, catch_up=one.catch_up)
        begun = replace(begun, tick=tick, passed_over=passed)
        if tick is None:
            _pass_over(tx, begun, now)
            return None
    found = handed(tx, catalog, one, spec, now=now, tick=begun.tick)
    begun = replace(begun, given=found.given, position=found.position)
    if found.idle:
        _rest(tx, begun, now)
        return None
    return begun


def _too_many(tx: Tx, one: Evaluator) -> int | None:
    """How many of its runs are active, when its pace allows no more."""
    if one.pace is None:
        return None
    active = tx.active_of_evaluator(one.id)
    return active if active >= one.pace else None


def _stand_back(tx: Tx, begun: Begun, now: datetime, active: int) -> None:
    """The next missed tick waits for an end: it is evaluated in the state that it finds then."""
    one = tx.lock_evaluator(begun.evaluator.id)
    if one is None or not _ours(one, begun.evaluator):
        return
    due_at = now + timedelta(seconds=PACE_POLL_S)
    tx.write_evaluator(EvaluatorUpdate(one.id, one.cursor, one.position, one.tick_at, due_at, one.failures))
    detail = {"active": active, "pace": one.pace}
    tx.end_evaluation(EvaluationEnd(one.id, one.token, EvaluationOutcome.NOTHING, detail=detail), kept=KEPT)


def _rest(tx: Tx, begun: Begun, now: datetime) -> None:
    """There is nothing to tell it: user code is not called."""
    one = tx.lock_evaluator(begun.evaluator.id)
    if one is not None and _ours(one, begun.evaluator):
        _write(tx, one, begun, now, one.cursor)
        tx.end_evaluation(EvaluationEnd(one.id, one.token, EvaluationOutcome.NOTHING), kept=KEPT)


def _pass_over(tx: Tx, begun: Begun, now: datetime) -> None:
    one = tx.lock_evaluator(begun.evaluator.id)
    if one is None or not _ours(one, begun.evaluator):
        return
    n = begun.passed_over
    why = f"{n} tick{'s' if n > 1 else ''} passed while nobody was there to evaluate: catch_up='none'"
    _write(tx, one, begun, now, one.cursor)
    detail = {"skip": why, "passed_over": n}
    tx.end_evaluation(EvaluationEnd(one.id, one.token, EvaluationOutcome.SKIPPED, None, detail=detail), kept=KEPT)


# ------------------------------------------------------------------------------------------------- conclude
def conclude(store: Store, catalogs: ActiveCatalog, begun: Begun, end: Came | Broke) -> Concluded:
    """Writes what became of an evaluation, once."""
    if isinstance(end, Came):
        try:
            return store.run(partial(_came, catalog=catalogs.active(), begun=begun, end=end))
        except (PartitaError, KeyError, TypeError, ValueError) as refused:  # what it asked for is not to be had
            text = str(refused) if isinstance(refused, PartitaError) else f"{type(refused).__name__}: {refused}"
            end = Broke(text, log=end.log)
    return store.run(partial(_broke, begun=begun, end=end))


def _came(tx: Tx, *, catalog: Catalog, begun: Begun, end: Came) -> Concluded:
    one = tx.lock_evaluator(begun.evaluator.id)
    if one is None or not _ours(one, begun.evaluator):
        return Concluded(False)
    now, asked = tx.now(), end.asked
    detail: dict[str, Any] = {"passed_over": begun.passed_over} if begun.passed_over else {}
    channels: set[Channel] = set()
    for keys in asked.get("keys", ()):
        added, woken = _add_keys(tx, catalog, one, keys)
        channels |= set(woken)
        detail["keys"] = detail.get("keys", 0) + added
    if asked.get("versions"):
        observes = begun.known_spec.observes
        assert observes is not None
        said = [Said(observes, key, version) for key, version in asked["versions"].items()]
        seen = observe_in(tx, observations_of(catalog, said, now), by=by(one), followed=catalog.automation_assets)
        channels |= set(seen.channels)
        detail |= {"moved": len(seen.moved), "confirmed": seen.confirmed}
    if asked.get("requests"):
        new = [NewAsked(one.id, one.token, _key(request), request) for request in asked["requests"]]
        inserted = tx.insert_asked(new)
        detail |= {"requests": inserted, "known": len(new) - inserted}
        if inserted:
            channels.add(Channel.TODO)
    if asked.get("skip"):
        detail["skip"] = str(asked["skip"])
    _write(tx, one, begun, now, asked.get("cursor"))
    broke = str(asked.get("broke") or "")
    outcome = EvaluationOutcome.FAILED if broke else _outcome(detail)
    ended = EvaluationEnd(
        one.id, one.token, outcome, begun.tick, broke or None, detail=detail or None, log=end.log or None
    )
    tx.end_evaluation(ended, kept=KEPT)
    return Concluded(True, outcome, broke, channels=tuple(sorted(channels)))


def _broke(tx: Tx, *, begun: Begun, end: Broke) -> Concluded:
    one = tx.lock_evaluator(begun.evaluator.id)
    if one is None or not _ours(one, begun.evaluator):
        return Concluded(False)
    failures = one.failures + 1
    every_s = None if begun.spec is None else begun.spec.every_s
    due = due_after_failure(every_s, failures, tx.now())
    cursor, position = one.cursor, one.position
    if begun.spec is not None and begun.spec.tasks and failures >= CALLBACK_TRIES:
        cursor, position, failures = (
            None,
            begun.position or position,
            0,
        )  # those that follow must not wait for ever for what hangs
    tx.write_evaluator(EvaluatorUpdate(one.id, cursor, position, one.tick_at, due, failures))
    tx.end_evaluation(
        EvaluationEnd(
            one.id,
            one.token,
            EvaluationOutcome.FAILED,
            begun.tick,
            error=end.error,
            traceback=end.traceback or None,
            detail={"failures": failures},
            log=end.log or None,
        ),
        kept=KEPT,
    )
    return Concluded(True, EvaluationOutcome.FAILED, end.error)


def by(one: Evaluator) -> str:
    """Who asks, for people: "sensor new_files"."""
    return f"{one.kind} {one.name}"


def _ours(now: Evaluator, begun: Evaluator) -> bool:
    return now.token == begun.token and now.triggerer_id == begun.triggerer_id


def _write(tx: Tx, one: Evaluator, begun: Begun, now: datetime, cursor: str | None) -> None:
    due = due_after(begun.known_spec, now, tick=begun.tick)
    due_at = now if len(begun.given.get("tasks", ())) == MOST_TASKS else due.due_at  # there are more to tell of
    tx.write_evaluator(EvaluatorUpdate(one.id, cursor, begun.position or one.position, due.tick_at, due_at, 0))
    if one.catch_up is not None and (due.tick_at is None or due.tick_at > now):
        tx.catch_up_evaluator(one.id, None, None)


def _outcome(detail: Mapping[str, Any]) -> EvaluationOutcome:
    if any(detail.get(name) for name in ("requests", "moved", "keys")):
        return EvaluationOutcome.ASKED
    return EvaluationOutcome.SKIPPED if "skip" in detail else EvaluationOutcome.NOTHING


def _key(request: Mapping[str, Any]) -> str | None:
    key = request.get("key")
    return None if key is None else str(key)


def _add_keys(tx: Tx, catalog: Catalog, one: Evaluator, keys: Mapping[str, Any]) -> tuple[int, tuple[Channel, ...]]:
    schemes = catalog.dynamic_schemes
    scheme = schemes.get(keys["scheme"])
    if scheme is None:
        raise UnknownAsset(
            f"no asset is partitioned by the dynamic scheme {keys['scheme']!r}", fix=suggest(keys["scheme"], schemes)
        )
    ttl = None if keys.get("ttl_s") is None else timedelta(seconds=keys["ttl_s"])
    followers = [catalog.assets[key].id for key in scheme.assets if catalog.assets[key].automated]
    wanted = legal_keys(scheme.definition, keys["keys"])
    changed = add_keys_in(tx, scheme.definition, wanted, by(one), ttl, {}, followers)
    return changed.added, changed.channels
