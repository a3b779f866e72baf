"""Random operations on the outbox and on what keeps the house, on both stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import U64, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    AssetId,
    AutomationRequest,
    Exclusive,
    NewEvent,
    RunId,
    TodoEvent,
)
from partita.core.store.values_clocks import ClockUpdate, Gathered
from partita.core.store.values_requests import Fault, FaultKind, HeldContent, RequestId, RequestState


def append_events(w: World) -> Op:
    events = []
    for _ in range(w.random.randint(0, 4)):
        cell = w.cell()
        consumers = w.one([(), ("automation",), ("automation", "replan")])
        events.append(
            NewEvent(
                "materialized",
                cell.asset_id,
                cell.partition,
                RunId(1),
                None,
                {w.one(["t", "traceparent"]): w.text()},
                consumers,
            )
        )
    if w.maybe(0.3):
        events.append(NewEvent("run", run_id=RunId(1), for_consumers=("x",) if w.maybe(0.1) else ()))
    return lambda tx: tx.append_events(events)


def todo(w: World) -> Op:
    consumer, limit, keep = w.one(["automation", "replan"]), w.random.randint(1, 5), w.maybe()
    back, later = [TodoEvent(10**6, w.cell(), None)], w.maybe(0.3)

    def take(tx: Tx) -> Any:
        tx.peek_todo(consumer, limit)
        taken = tx.take_todo_skip(consumer, limit)
        traces = sorted(tx.traceparents([event.event_id for event in taken]))
        if keep:
            tx.put_back_todo(consumer, [*taken[:2], *back], until=tx.now() + timedelta(hours=1) if later else None)
        return taken, traces

    return take


def automation(w: World) -> Op:
    verdict = w.one([None, ["eager()", True, [["ready", True]]]])
    runs = [None, RunId(1), RunId(2)]
    requests = [AutomationRequest(cell, w.one([1, U64]), w.one(runs), {"kind": "eager"}, verdict) for cell in w.cells()]
    states = {cell: w.one([1, U64]) for cell in w.cells()}
    withdrawn = w.cells()
    return w.op(
        [
            lambda tx: tx.insert_automation_requests(requests),
            lambda tx: tx.known_requests(states),
            lambda tx: tx.withdraw_requests(RunId(1), withdrawn),
        ]
    )


def held_requests(w: World) -> Op:
    """Requests above the limit: held, merged, ended once, listed by consumer, overdue, forgotten."""
    content = HeldContent(
        assets=tuple(AssetId(one) for one in w.some(w.assets(), 3)),
        cells=w.random.randint(501, 10**6),
        cell_limit=500,
        preview=[{"asset": w.text(), "cells": 7, "by_reason": {"missing": 7}}],
        cause={"kind": "eager", "text": w.text()},
        body=w.random.randbytes(12),
        merged=w.random.randint(1, 4),
    )
    one = RequestId(w.one([*w.db.held_request.rows, 10**9]))
    assets, state, why, keep_s = w.some(w.assets(), 3), w.one(RequestState), w.text(), w.one([-1.0, 3600.0])
    forget_s = w.one([0.0, 3600.0])

    def replace(tx: Tx) -> None:
        tx.lock_requests()
        tx.replace_held_request(one, content, keep_s)

    return w.op(
        [
            lambda tx: tx.insert_held_request(content, keep_s),
            lambda tx: tx.insert_held_request(content, keep_s),
            replace,
            lambda tx: tx.end_held_request(one, state, by=why, reason=why, run_id=RunId(3)),
            lambda tx: tx.held_requests(assets),
            lambda tx: tx.read_held_request(one),
            lambda tx: tx.overdue_held_requests(),
            lambda tx: tx.forget_held_requests(forget_s),
        ]
    )


def caused_cells(w: World) -> Op:
    """What runs led to: counted, added to, forgotten."""
    pairs = {(RunId(w.random.randint(1, 3)), AssetId(one)): w.random.randint(1, 9) for one in w.some(w.assets(), 3)}
    forget_s = w.one([0.0, 3600.0])
    return w.op(
        [
            lambda tx: sorted(tx.add_caused_cells(pairs).items()),
            lambda tx: sorted(tx.add_caused_cells(pairs).items()),
            lambda tx: sorted(tx.caused_cells(pairs).items()),
            lambda tx: tx.forget_caused_cells(forget_s),
        ]
    )


def faults(w: World) -> Op:
    def fault(tx: Tx, kind: FaultKind, one: int, after_s: float) -> Fault:
        return Fault(kind, one, why, 3, tx.now(), tx.now(), tx.now() + timedelta(seconds=after_s))

    why, keys = w.text(), sorted({(w.one(FaultKind), w.random.randint(1, 3)) for _ in range(3)})
    return w.op(
        [
            lambda tx: tx.write_faults([fault(tx, kind, one, 60.0 * one) for kind, one in keys]),
            lambda tx: tx.clear_faults(keys[:1]),
            lambda tx: tx.faults(),
            lambda tx: tx.release_faults(),
        ]
    )


def clocks(w: World) -> Op:
    """Set by an activation, taken when due, moved by whoever took them."""
    wanted = {AssetId(one): w.one(["c1", "c2"]) for one in w.some(w.assets(), 3)}
    gone, limit, again = w.some(w.assets(), 1), w.random.randint(1, 4), w.one([None, -60.0, 3600.0])

    def look(tx: Tx) -> Any:
        taken = tx.take_due_clocks_skip(limit)
        later = None if again is None else tx.now() + timedelta(seconds=again)
        tx.write_clocks([ClockUpdate(one.asset_id, tx.now(), later, keep) for one in taken])
        return taken

    def gather(tx: Tx) -> Any:
        return tx.gather([Gathered(one, (w_key, "b"), tx.now() + timedelta(hours=1)) for one in wanted])

    keep, w_key = w.maybe(), w.text()

    return w.op(
        [
            lambda tx: tx.set_clocks(wanted, [one for one in gone if one not in wanted]),
            look,
            lambda tx: tx.clocks_of(list(wanted)),
            gather,
            lambda tx: tx.write_clocks([ClockUpdate(AssetId(10**9), None, None)]),
        ]
    )


def housekeeping(w: World) -> Op:
    odd = w.text()
    return w.op(
        [
            lambda tx: tx.try_duty(Exclusive.EXPLAIN),
            lambda tx: tx.note_duty("admit", "s1", 1.5),
            lambda tx: tx.note_duty("admit", "s1", None, failures=2, error=odd),
            lambda tx: tx.put_component("s1", "scheduler", "scheduler 1", 12),
            lambda tx: tx.put_component("s1", "scheduler", "scheduler 1", 12, {"duties": {odd: {"runs": 1.5}}}),
            lambda tx: tx.remove_component("s1"),
            lambda tx: tx.intern(["f1", "zz", "ä", "Z"]),
        ]
    )
