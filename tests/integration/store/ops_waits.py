"""Random waits and triggerers on both stores: put, opened, claimed, fired, overdue, dropped, freed."""

from __future__ import annotations

from typing import Any

from tests.integration.store.differential_world import PARTITIONS, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import CellRef, LocationId, SnapshotId
from partita.core.store.values_waits import NewWait, TriggererId, WaitKey, WaitState, WaitUpdate

_TRIGGERERS = tuple(TriggererId(f"t{n}") for n in range(3))
_PAYLOADS = (True, 1, "é\x00", ["a", 1.5, None], {"state": "done"})


def waits(w: World) -> Op:
    tasks = w.tasks()
    pin = w.one(w.pins() or [(LocationId(1), SnapshotId(1))])
    new = [
        NewWait(
            task_id,
            place,
            pin[0],
            pin[1],
            trigger="shop:Arrived",
            args={"pattern": w.one(["in/a.csv", "é\x00"])},
            label=w.one(["file in/a.csv", "\x00"]),
            deadline_s=w.one([0.000001, 3600.0]),
            poll_s=w.one([None, 300.0]),
            cell=w.one([None, None, CellRef(w.one(w.assets()), w.one(PARTITIONS))]),
            newer=w.maybe(0.3),
            asks=w.maybe(0.3),
        )
        for task_id in tasks
        for place in sorted(w.some([-2, -1, 0, 1]))
    ]
    rows = w.some(sorted(w.db.wait.rows), 5)
    updates = [_update(w, w.db.wait.rows[key]) for key in rows]
    chosen = sorted({key[0] for key in rows} | set(tasks))

    def put(tx: Tx) -> None:
        tx.put_waits(new)

    def open_(tx: Tx) -> None:
        tx.open_waits(chosen)

    def write(tx: Tx) -> None:
        tx.write_waits(updates)

    def end(tx: Tx) -> None:
        tx.end_waits(chosen[:2])

    def read(tx: Tx) -> Any:
        return tx.waits_of(chosen), sorted(tx.met_cells(chosen).items(), key=repr), tx.waiting_pins()

    return w.op([put, put, open_, open_, write, end, read])


def _update(w: World, row: Any) -> WaitUpdate:
    stint = row["stint"] if w.maybe(0.95) else row["stint"] + 1
    state = w.one([WaitState.FIRED, WaitState.FIRED, WaitState.DORMANT, WaitState.ENDED])
    payload = w.one(_PAYLOADS) if state is WaitState.FIRED else None
    return WaitUpdate(WaitKey(row["task_id"], row["place"], stint), state, payload, w.one([None, "boom\x00"]))


def triggerers(w: World) -> Op:
    one, lease_s, limit = w.one(_TRIGGERERS), w.one([-1.0, 60.0]), w.random.randint(1, 4)
    pins = w.some(w.pins())

    def put(tx: Tx) -> None:
        tx.put_triggerer(one, "h", 7, lease_s)

    def renew(tx: Tx) -> bool:
        return tx.renew_triggerer(one, lease_s)

    def retire(tx: Tx) -> None:
        tx.retire_triggerer(one)

    def sweep(tx: Tx) -> Any:
        lapsed = tx.lock_lapsed_triggerers_skip(limit)
        return lapsed, tx.release_waits([gone.id for gone in lapsed])

    def claim(tx: Tx) -> Any:
        return tx.claim_waits_skip(one, pins, limit)

    def drop(tx: Tx) -> Any:
        return tx.drop_waits(one)

    kept = [WaitKey(key[0], key[1], 1) for key in w.some(sorted(w.db.wait.rows), 3)]

    def disown(tx: Tx) -> int:
        return tx.disown_waits(one, kept)

    def due(tx: Tx) -> Any:
        return tx.lock_overdue_skip(limit), tx.lock_met_skip(limit)

    return w.op([put, renew, retire, sweep, claim, claim, claim, disown, drop, due, due])
