"""Random operations on cells, attempts, checks and acceptances on both stores."""

from __future__ import annotations

from typing import Any

from tests.integration.store.differential_world import WORKERS, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    AttemptEnd,
    AttemptId,
    AttemptOutcome,
    CellAttempt,
    CellRef,
    CheckRow,
    Fence,
    NewAttempt,
    Publication,
    RunId,
    SnapshotId,
)
from partita.core.store.values_accept import AcceptanceId, CellBasis, Rebase


def raise_fences(w: World) -> Op:
    cells = [*w.known_cells(), CellRef(w.one(w.assets()), "not there")]

    def claim(tx: Tx) -> Fence:
        fence = tx.next_fence()
        tx.raise_fences(cells, [fence] * len(cells))
        return fence

    return claim


def read_cells(w: World) -> Op:
    cells = w.cells(6)
    return w.op([lambda tx: tx.read_cells(cells), lambda tx: tx.lock_cells(cells)])


def publish_cells(w: World) -> Op:
    cells = w.known_cells()

    def one(cell: CellRef) -> Publication:
        row = w.db.cell.rows[(cell.asset_id, cell.partition)]
        confirms = row["data_version"] is not None and w.maybe(0.3)
        return Publication(
            cell=cell,
            fence=Fence(row["fence"] + (1 if w.maybe(0.03) else 0)),
            confirms=confirms or w.maybe(0.02),
            data_version=row["data_version"] if confirms else w.one(["v1", "v2"]),
            fingerprint=w.one(["f1", "f2", "ä"]),
            dependency_hash=w.one(["d1", "d2"]),
            consumed_digest=w.digest(),
            location=w.one([None, "s3://x/y"]),
            metadata={"rows": w.random.randint(0, 9), "note": w.text(), "mean": float("inf")},
            attempt_id=AttemptId(w.random.randint(1, 9)),
            run_id=RunId(1),
        )

    publications = [one(cell) for cell in cells]
    return lambda tx: tx.publish_cells(publications)


def note_attempts(w: World) -> Op:
    notes = [
        CellAttempt(
            cell,
            Fence(w.db.cell.rows[(cell.asset_id, cell.partition)]["fence"] + w.one([0, 0, 1])),
            w.one(["failed", "lost"]),
            AttemptId(3),
            w.one([None, w.text()]),
        )
        for cell in w.known_cells()
    ]
    return lambda tx: tx.note_attempts(notes)


def start_attempts(w: World) -> Op:
    tasks = w.tasks(3)
    log, inputs = w.one([None, "logs/1"]), ({"name": "orders", "cells": ["a"]},)

    def start(tx: Tx) -> Any:
        ids = tx.reserve_attempt_ids(len(tasks))
        tx.start_attempts(
            [
                NewAttempt(attempt_id, task_id, RunId(1), 1, WORKERS[0], SnapshotId(1), Fence(1), None, inputs, log)
                for attempt_id, task_id in zip(ids, tasks, strict=True)
            ]
        )
        return ids

    return start


def end_attempts(w: World) -> Op:
    ends = [
        AttemptEnd(attempt_id, w.one(AttemptOutcome), w.text(), w.one([None, w.text()]), w.one([None, {"cpu_s": 0.25}]))
        for attempt_id in w.some(sorted(w.db.attempt.rows))
    ]
    process = AttemptId(w.one(sorted(w.db.attempt.rows) or [1]))
    return w.op([lambda tx: tx.end_attempts(ends), lambda tx: tx.note_attempt_process(process, 77)])


def insert_checks(w: World) -> Op:
    checks = [CheckRow(AttemptId(1), cell, w.one(["c1", "c2"]), w.maybe(), True, {"n": 1}) for cell in w.cells()]
    return lambda tx: tx.insert_checks(checks)


def _basis(w: World) -> CellBasis:
    return CellBasis(w.one([None, "f1", "f2", "ä"]), w.one([None, "d1", "d2"]), w.one([None, w.digest()]))


def acceptances(w: World) -> Op:
    def text(fingerprint_id: int | None) -> str | None:
        return None if fingerprint_id is None else w.db.fingerprint.rows[fingerprint_id]["text"]

    def one(cell: CellRef) -> Rebase:
        row = w.db.cell.rows[(cell.asset_id, cell.partition)]
        held = CellBasis(text(row["fingerprint_id"]), text(row["dependency_hash_id"]), row["consumed_digest"])
        return Rebase(cell, Fence(row["fence"] + w.one([0, 0, 0, 1])), _basis(w) if w.maybe(0.2) else held, _basis(w))

    rebases = [one(cell) for cell in w.known_cells()]
    known = AcceptanceId(w.one(sorted(w.db.acceptance.rows) or [1]))
    who, reason = w.text(), w.text() or "because"

    def accept(tx: Tx) -> Any:
        tx.lock_cells([one.cell for one in rebases])
        written = tx.rebase_cells(rebases)
        return written, tx.insert_acceptance(who, reason, {"n": 1}, [one for one in rebases if one.cell in written])

    def undo(tx: Tx) -> Any:
        recorded = tx.accepted_cells(known)
        back = [Rebase(one.cell, one.fence, one.basis, one.expect) for one in recorded]
        found = recorded, tx.lock_acceptance(known), tx.rebase_cells(back)
        tx.end_acceptance(known, who)
        return found, tx.lock_acceptance(known)

    return w.op([accept, accept, undo, lambda tx: tx.rebase_cells(rebases)])


def unreasonable_acceptance(w: World) -> Op:
    return lambda tx: tx.insert_acceptance("me", "", {}, [])
