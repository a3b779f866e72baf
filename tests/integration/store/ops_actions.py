"""Random operations on what people do by hand, on both stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import AS_OF, POOL_SETS, U64, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import AssetId, RunId, WaitReason
from partita.core.store.values_actions import EVERYTHING, AuditId, HandPublication


def audit(w: World) -> Op:
    odd = w.text()
    undone = AuditId(w.one([*w.db.audit.rows, 1])) if w.maybe(0.3) else None
    return lambda tx: tx.audit("me", "cancel", {"run": 1, "t": odd}, reason=odd, undo_of=undone)


def tag_runs(w: World) -> Op:
    runs = w.some([*w.db.run.rows, 10**9], 2)
    tags = {RunId(one): {w.one(["team", "why"]): w.text()} for one in runs}
    return lambda tx: tx.tag_runs(tags)


def pauses(w: World) -> Op:
    assets = [AssetId(one) for one in w.some(w.assets(), 3)] + ([EVERYTHING] if w.maybe(0.3) else [])
    by, why, tasks = w.text(), w.text(), w.tasks(3)
    pools = {task_id: w.one(POOL_SETS) for task_id in w.open_tasks(2)}
    says = w.one([(None, None), (WaitReason.PAUSED, {"asset": 1, "why": why})])
    told = {task_id: says for task_id in pools if w.maybe()}
    return w.op(
        [
            lambda tx: tx.lock_assets(assets),
            lambda tx: tx.put_pauses(assets, by, why),
            lambda tx: tx.end_pauses(assets),
            lambda tx: tx.pauses(),
            lambda tx: tx.lock_open_tasks_of(assets),
            lambda tx: tx.lock_open_tasks_of(None),
            lambda tx: tx.assets_of_open_tasks(tasks),
            lambda tx: tx.set_task_pools(pools, told),
        ]
    )


def cells_by_hand(w: World) -> Op:
    """Kept, changed, given back: as the duties do it, now and then what was attempted since."""
    cells, known, text = w.cells(), w.known_cells(4), w.text()
    window = w.one([None, (AS_OF, AS_OF + timedelta(days=1))])
    entries = sorted({row["audit_id"] for row in w.db.kept_cell}) or [1]
    entry = AuditId(w.one(entries))
    published = [
        HandPublication(cell, w.text(), w.one(["f1", "f2"]), "d", w.one([1, U64]), w.one([None, "x"]), {"n": text})
        for cell in known
    ]
    how = w.one(["publish", "fail", "empty", "confirm"])

    def change(tx: Tx) -> Any:
        tx.ensure_cells(dict.fromkeys(cells, window))
        audit_id, fence = tx.audit("me", "mark", {"n": len(known)}), tx.next_fence()
        tx.lock_cells(known)
        tx.keep_cells(audit_id, known, fence)
        if how == "publish":
            tx.publish_by_hand(published, fence)
        elif how == "fail":
            tx.fail_by_hand(known, text, fence)
        elif how == "confirm":
            tx.confirm_cells(known)
        else:
            tx.empty_cells(known, fence)
        return audit_id, fence, tx.kept_cells(audit_id)

    def undo(tx: Tx) -> Any:
        kept = [one.cell for one in tx.kept_cells(entry)]
        return kept, tx.restore_cells(entry, kept, tx.next_fence())

    return w.op([change, undo])
