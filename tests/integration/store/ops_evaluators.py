"""Random observers, schedules and sensors on both stores: loaded, due, claimed, concluded, freed; what they asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import AS_OF, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import AssetId, LocationId, RunId, SnapshotId
from partita.core.store.values_evaluators import (
    AskedId,
    AskedState,
    AskedUpdate,
    EvaluationEnd,
    EvaluationOutcome,
    EvaluatorId,
    EvaluatorRow,
    EvaluatorUpdate,
    NewAsked,
)
from partita.core.store.values_waits import TriggererId

_TRIGGERERS = tuple(TriggererId(f"t{n}") for n in range(3))
_INSTANTS = (None, AS_OF, AS_OF + timedelta(days=9_000))
_NAMES = ("feed", "é", "Zeta", "a\x00b")


def evaluators(w: World) -> Op:
    pin = w.one(w.pins() or [(LocationId(10**9), SnapshotId(1))])
    rows = [
        EvaluatorRow(
            name,
            w.one(["observe", "schedule", "sensor"]),
            pin[1],
            {"name": name, "n": w.random.randint(0, 3), w.one(["watches", "runs", "tasks"]): w.one([[], ["some"]])},
            w.one(_INSTANTS),
            w.one(_INSTANTS),
            retired=w.maybe(0.2),
            position=w.one([None, "1:0", "0:0"]),
        )
        for name in w.some(_NAMES)
    ]
    one, limit, pins = w.one(_TRIGGERERS), w.random.randint(1, 3), w.some(w.pins())
    running = [EvaluatorId(key) for key in w.some(w.db.evaluator.rows, 2)]

    def put(tx: Tx) -> Any:
        if w.db.location.get(pin[0]) is not None:
            tx.put_evaluators(pin[0], rows)
        return tx.lock_evaluators_of(pin[0])

    def claim(tx: Tx) -> Any:
        return tx.due_evaluator_pins(), tx.claim_evaluators_skip(one, pins, limit, failing=limit == 3)

    def release(tx: Tx) -> int:
        return tx.release_evaluators([one])

    def drop(tx: Tx) -> int:
        return tx.drop_evaluators(one, running)

    return w.op([put, put, claim, claim, release, drop])


def evaluations(w: World) -> Op:
    known = sorted(w.db.evaluator.rows) or [1]
    one = EvaluatorId(w.one([*known, 10**9]) if w.maybe(0.1) else w.one(known))
    row = w.db.evaluator.get(one) or {"token": 1}
    update = EvaluatorUpdate(
        one,
        w.one([None, w.text()]),
        w.one([None, "7"]),
        w.one(_INSTANTS),
        w.one(_INSTANTS),
        w.random.randint(0, 2),
        w.maybe(0.7),
    )
    end = EvaluationEnd(
        one,
        row["token"],
        w.one(list(EvaluationOutcome)),
        w.one([None, None, AS_OF, AS_OF + timedelta(days=1)]),
        w.one([None, w.text()]),
        w.one([None, "Traceback\x00"]),
        w.one([None, {"requests": 1, "skip": w.text()}]),
        w.one([None, w.text()]),
    )
    by, kept = w.one([None, w.text()]), w.one([1, 3, 500])
    marks: dict[int, tuple[Any, int | None]] = {1: (None, None), 3: ("latest", None), 500: ("all", 3)}

    def write(tx: Tx) -> Any:
        if tx.lock_evaluator(one) is not None:
            tx.write_evaluator(update)
        return tx.read_evaluator(one)

    def finish(tx: Tx) -> None:
        tx.end_evaluation(end, kept=kept)

    def pause(tx: Tx) -> int:
        tx.pause_evaluator(one, by)
        tx.catch_up_evaluator(one, *marks[kept])
        return tx.active_of_evaluator(one)

    def news(tx: Tx) -> int:
        # Only that it is answered: what is final depends on all that runs in the cluster. (Compared in test_news.py.)
        found, _ = tx.read_news(None, ["materialized"], [AssetId(1)], 3)
        return len(found)

    return w.op([write, write, write, finish, finish, pause, news])


def asked(w: World) -> Op:
    known = sorted(w.db.evaluator.rows) or [1]
    new = [
        NewAsked(
            EvaluatorId(w.one(known)), w.random.randint(1, 3), w.one([None, "a", "b", "é\x00"]), {"selection": w.text()}
        )
        for _ in range(w.random.randint(0, 4))
    ]
    limit = w.random.randint(1, 4)
    states = [w.one(list(AskedState)) for _ in range(limit)]
    until, run_id, why = w.one(_INSTANTS), w.one([None, RunId(7)]), w.one([None, w.text()])

    def insert(tx: Tx) -> int:
        return tx.insert_asked(new)

    def take(tx: Tx) -> Any:
        taken = tx.take_asked_skip(limit)
        tx.end_asked(
            [AskedUpdate(AskedId(one.id), state, run_id, why, until) for one, state in zip(taken, states, strict=False)]
        )
        return taken

    return w.op([insert, take])
