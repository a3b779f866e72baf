"""Random freshness policies on both stores: set by activations, looked at, broken and kept; the story of cells."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values import AssetId
from partita.core.store.values_freshness import FreshnessUpdate, FreshState, LateSpan


def freshness(w: World) -> Op:
    wanted = {AssetId(one): w.one(["p1", "p2"]) for one in w.some(w.assets(), 3)}
    gone, limit, again = w.some(w.assets(), 1), w.random.randint(1, 4), w.one([None, -60.0, 3600.0])
    state, awaited, burn = w.one(list(FreshState)), w.one([None, "", w.text()]), w.one([None, "1 h"])
    ends, span_s = w.one([None, 0.0]), w.one([-7200.0, -60.0])

    def look(tx: Tx) -> Any:
        taken = tx.take_due_freshness_skip(limit)
        now = tx.now()
        spans = [
            LateSpan(
                one.asset_id,
                one.since + timedelta(seconds=span_s),
                None if ends is None else now,
                one.since,
                awaited,
                {"code": 1.5, "upstream": 2.0},
            )
            for one in taken
        ]
        tx.put_late_spans(spans)
        tx.write_freshness(
            [
                FreshnessUpdate(
                    one.asset_id,
                    state,
                    one.since,
                    now,
                    None,
                    awaited,
                    burn,
                    None if burn is None else now,
                    None if again is None else now + timedelta(seconds=again),
                )
                for one in taken
            ]
        )
        return taken

    def unknown(tx: Tx) -> None:
        now = tx.now()
        tx.write_freshness([FreshnessUpdate(AssetId(10**9), state, now, None, None, None, None, None, None)])

    return w.op(
        [
            lambda tx: tx.set_freshness(wanted, [one for one in gone if one not in wanted]),
            look,
            look,
            lambda tx: tx.freshness_of(list(wanted)),
            lambda tx: tx.late_spans([AssetId(one) for one in w.assets()], tx.now() - timedelta(seconds=3600.0)),
            lambda tx: tx.prune_late_spans(gone, tx.now()),
            unknown,
        ]
    )


def stories(w: World) -> Op:
    cells, most = [*w.known_cells(), w.cell()], w.random.randint(1, 3)
    return lambda tx: (tx.failed_checks(cells), tx.read_began(cells), tx.stories(cells, most))
