"""Random operations on locations, snapshots, assets, plans and pages of cells on both stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import AS_OF, KEYS, PARTITIONS, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    AssetId,
    Fence,
    LocationId,
    SnapshotId,
)
from partita.core.store.values_definitions import CellPage, LocationState, PageRef, PlanId
from partita.core.store.values_identity import CellWindow, DerivedCell


def definitions(w: World) -> Op:
    name, hash, key = w.one(["flights", "Ops"]), w.one(["h1", "h2"]), w.some(KEYS)
    state, limit, error = w.one(LocationState), w.one([0.5, -1]), w.one([None, w.text()])
    location_id = LocationId(w.one(sorted(w.db.location.rows) or [1]))
    snapshot_id = SnapshotId(w.one(sorted(w.db.snapshot.rows) or [1]))

    def snapshot(tx: Tx) -> Any:
        location = tx.put_location(name)
        return tx.put_snapshot(location, hash, body=b"\x00body", effective=b"eff", kept=[{"key": "a"}])

    def define(tx: Tx) -> Any:
        location = tx.put_location(name)
        snapshot_id, _ = tx.put_snapshot(location, hash, body=b"b", effective=b"e", kept=[])
        tx.activate_snapshot(location, snapshot_id)
        return tx.define_assets(location, snapshot_id, key), tx.retire_assets(location, set(key))

    return w.op(
        [
            snapshot,
            define,
            lambda tx: tx.intern_assets(key),
            lambda tx: tx.activate_snapshot(location_id, snapshot_id),
            lambda tx: tx.set_location_state(location_id, state, error=error, modules=[{"m": 1}]),
            lambda tx: tx.lock_locations(),
            lambda tx: tx.read_snapshots([snapshot_id]),
            lambda tx: tx.put_code_server("cs1", tx.put_location(name), "unix:x", [hash], limit),
            lambda tx: tx.renew_code_server("cs1", limit),
            lambda tx: tx.remove_code_server("cs1"),
            lambda tx: tx.live_code_servers(),
        ]
    )


def identity(w: World) -> Op:
    assets = w.some(w.assets(), 3)
    keys = [w.db.asset.rows[one]["key"] for one in assets if one in w.db.asset.rows]
    turned = dict(zip(assets, [*keys[1:], w.one([*keys[:1], "fresh", "Zeta"])], strict=False))
    home = LocationId(w.one([*sorted(w.db.location.rows), 99]))
    one = AssetId(w.one(w.assets()))
    schemes = {AssetId(a): w.one([("s1", {"kind": "x"}), ("s2", None)]) for a in assets}
    windows = [
        CellWindow(key, w.one([None, (AS_OF, AS_OF + timedelta(days=1))]), known=w.maybe())
        for key in sorted(set(w.some(PARTITIONS)))
    ]
    derived = [
        DerivedCell(
            key, (AS_OF, AS_OF + timedelta(days=7)), w.one(["d1", "d2"]), "f1", w.one(["h1", "h2"]), w.digest(),
            "lake:[]", {"rows": w.one([3, "many"])},
        )
        for key in sorted(set(w.some(PARTITIONS)))
    ]  # fmt: skip
    asked = w.one(["s1", "s2", "s3"])
    return w.op(
        [
            lambda tx: tx.read_assets(),
            lambda tx: tx.former_keys(),
            lambda tx: tx.published_counts(assets),
            lambda tx: tx.open_counts(assets),
            lambda tx: tx.rename_assets(turned, "me\x00"),
            lambda tx: tx.set_home(one, home, "me"),
            lambda tx: tx.retire_by_hand(assets, "me"),
            lambda tx: tx.set_schemes(schemes),
            lambda tx: tx.lock_schemes(assets),
            lambda tx: tx.windowed_cells(one),
            lambda tx: tx.former_cells(one),
            lambda tx: tx.set_aside(one, windows, Fence(7)),
            lambda tx: tx.bring_back(one, tx.former_cells(one)[:2], Fence(9)),
            lambda tx: tx.scheme_spec(asked),
            lambda tx: tx.derive_cells(one, derived, Fence(8)),
        ]
    )


def forget(w: World) -> Op:
    one = AssetId(w.one(w.assets()))

    def locked(tx: Tx) -> None:
        tx.lock_pages([one])
        tx.forget_assets([one])

    return locked


def plans(w: World) -> Op:
    plan_hash, prefix = w.one(["ab12", "ab34", "cd56"]), w.one(["ab", "ab34", "c", "ef"])
    keep_s, plan_id = w.one([-1, 60]), PlanId(w.one(sorted(w.db.plan.rows) or [1]))
    assets, limit = w.some(w.assets(), 2), w.random.randint(1, 4)
    pages = [
        CellPage(asset_id, key, 3, b"\x01\x00", w.digest())
        for asset_id in sorted(set(assets))
        for key in sorted(set(w.some(PARTITIONS)))
    ]
    removed = [PageRef(w.one(assets or w.assets()), key) for key in w.some(PARTITIONS, 2)]

    def fold(tx: Tx) -> Any:
        found = tx.lock_pages(assets)
        read = tx.read_pages([*removed, *(PageRef(asset_id, key) for asset_id, keys in found.items() for key in keys)])
        tx.replace_pages(removed, pages)
        return found, sorted(read.items(), key=lambda item: item[0])

    return w.op(
        [
            lambda tx: tx.save_plan(plan_hash, request={"a": 1}, as_of=AS_OF, body=b"\x00\xff", keep_s=keep_s),
            lambda tx: tx.load_plan(plan_id),
            lambda tx: tx.find_plan(prefix),
            lambda tx: tx.expire_plans(),
            lambda tx: tx.take_cell_changes(limit),
            fold,
        ]
    )
