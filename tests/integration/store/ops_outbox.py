"""Random operations on the outbox and on what keeps the house, on both stores."""

from __future__ import annotations

from typing import Any

from tests.integration.store.differential_world import U64, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    AutomationRequest,
    NewEvent,
    RunId,
    TodoEvent,
)


def append_events(w: World) -> Op:
    events = []
    for _ in range(w.random.randint(0, 4)):
        cell = w.cell()
        consumers = w.one([(), ("automation",), ("automation", "replan")])
        events.append(
            NewEvent("materialized", cell.asset_id, cell.partition, RunId(1), None, {"t": w.text()}, consumers)
        )
    if w.maybe(0.3):
        events.append(NewEvent("run", run_id=RunId(1), for_consumers=("x",) if w.maybe(0.1) else ()))
    return lambda tx: tx.append_events(events)


def todo(w: World) -> Op:
    consumer, limit, keep = w.one(["automation", "replan"]), w.random.randint(1, 5), w.maybe()
    back = [TodoEvent(10**6, w.cell(), None)]

    def take(tx: Tx) -> Any:
        taken = tx.take_todo_skip(consumer, limit)
        if keep:
            tx.put_back_todo(consumer, [*taken[:2], *back])
        return taken

    return take


def automation(w: World) -> Op:
    requests = [AutomationRequest(cell, w.one([1, U64]), None, {"kind": "eager"}) for cell in w.cells()]
    return lambda tx: tx.insert_automation_requests(requests)


def housekeeping(w: World) -> Op:
    return w.op(
        [
            lambda tx: tx.note_duty("admit", "s1", 1.5),
            lambda tx: tx.audit("me", "cancel", {"run": 1}),
            lambda tx: tx.put_component("s1", "scheduler", "scheduler 1", 12),
            lambda tx: tx.remove_component("s1"),
            lambda tx: tx.intern(["f1", "zz", "ä", "Z"]),
        ]
    )
