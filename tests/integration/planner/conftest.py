"""A stage for planner and automation: definitions in a store, plans launched, attempts claimed and finished by the duties.

The same stage stands on Postgres and on the in-memory store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from tests.unit.planner.conftest import spec

from partita.assets import AssetKey, AssetSpec, Snapshot, StepSpec, canonical_json, snapshot_hash
from partita.core.automation import (
    Limits,
    changed_rebuilds,
    run_automation,
    run_clocks,
    run_rebuilds,
    run_replans,
    wanted_clocks,
)
from partita.core.automation.replan import TxCells
from partita.core.automation.values import Automated
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.cells import Statuses
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import register
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Launched
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, Claimed
from partita.core.freshness import wanted_policies
from partita.core.planner import PlanRequest, to_launch
from partita.core.planner.assemble import assemble
from partita.core.planner.decide import decide
from partita.core.planner.targets import find_targets
from partita.core.store.memory import MemoryStore
from partita.core.store.open import open_store
from partita.core.store.port import Store
from partita.core.store.postgres import PostgresStore
from partita.core.store.values import AttemptOutcome, CellRef, RunId, SnapshotId, WorkerId

_workers = count(1)


@dataclass
class Stage:
    """`version` gives the data version that an attempt at a cell writes; None fails the attempt."""

    store: Store
    version: Callable[[str, str], str | None] = lambda key, partition: "v1"
    attempts: list[tuple[str, str]] = field(default_factory=list)
    """(asset, partition) of every finished cell, in order."""
    limits: Limits = field(default_factory=Limits)
    specs: tuple[AssetSpec, ...] = ()
    pinned: dict[RunId, Catalog] = field(default_factory=dict)
    """What runs see that do not see the catalog of now."""

    def define(self, specs: Sequence[AssetSpec], location: str = "loc") -> Catalog:
        """Activate a snapshot of one location."""
        steps: dict[str, list[AssetKey]] = {}
        for one in specs:
            if one.kind == "asset":
                steps.setdefault(one.step, []).append(one.key)
        snapshot = Snapshot(
            location=location,
            assets=tuple(specs),
            steps=tuple(StepSpec(id=step, assets=tuple(keys), function="m:f") for step, keys in steps.items()),
        )
        body = canonical_json(snapshot)
        with self.store.begin() as tx:
            location_id = tx.put_location(location)
            version = snapshot_hash(snapshot)
            snapshot_id, _ = tx.put_snapshot(location_id, version, body=body, effective=body, kept=[])
            tx.activate_snapshot(location_id, snapshot_id)
            ids = tx.define_assets(location_id, snapshot_id, [one.key for one in specs])
            tx.append_events(changed_rebuilds(self.specs, specs, ids))
            tx.set_freshness(*wanted_policies(specs, ids))
            tx.set_clocks(*wanted_clocks(specs, ids))
            tx.release_faults()
        self.specs = tuple(specs)
        self.pin = (location_id, SnapshotId(snapshot_id))
        stored = StoredSnapshot(location_id, location, snapshot_id, version, snapshot)
        self.catalog = Catalog([stored], {AssetKey(key): asset_id for key, asset_id in ids.items()})
        self.worker = WorkerId(f"w{next(_workers)}")
        register(self.store, self.worker, host="h", pid=1, capacity=1000)
        return self.catalog

    def active(self) -> Catalog:
        return self.catalog

    def ref(self, key: str, partition: str = "") -> CellRef:
        return CellRef(self.catalog.asset(key).id, partition)

    def request(
        self, selection: str, mode: tuple[str, ...] = ("missing", "failed", "stale"), kind: str = "person", **more: Any
    ) -> Launched | None:
        """Plan within the store's own transaction and launch; None when there is nothing to do. `kind` of its cause."""
        with self.store.begin() as tx:
            now = tx.now()
            every = {
                asset.id: [
                    CellRef(asset.id, partition)
                    for partition in self.catalog.space(key, now).keys(self.catalog.space(key, now).all())
                ]
                for key, asset in self.catalog.assets.items()
            }
            request = PlanRequest(selection=selection, as_of=now, mode=mode, **more)
            statuses = Statuses(self.catalog, TxCells(tx, every), now)
            decided = decide(self.catalog, statuses, find_targets(self.catalog, statuses, request))
            plan = assemble(self.catalog, request, decided.choices, decided.blocked)
        if plan.empty:
            return None
        return launch(self.store, to_launch(plan, self.catalog, cause={"kind": kind, "by": "me", "text": "asked"}))

    def start(self, limit: int = 1000) -> list[Claimed]:
        """Admit and claim what can start; the attempts stay running."""
        claimed: list[Claimed] = []
        while True:
            while admit(self.store).more:  # again after each claim: what ends without an attempt releases what is below
                pass
            inputs = CatalogInputs(lambda run_id: self.pinned.get(run_id, self.catalog))
            claims = claim(self.store, self.worker, [self.pin], limit, inputs, lambda *_: None)
            claimed += claims.claimed
            if not claims.more:
                return claimed

    def end(self, claimed: Sequence[Claimed], *, failed: bool = False) -> None:
        """Finish attempts, each with its version."""
        finish(self.store, [self._result(one, failed=failed) for one in claimed])

    def work(self) -> int:
        """Start and end until nothing is ready; returns how many attempts ran."""
        ran = 0
        while claimed := self.start():
            self.end(claimed)
            ran += len(claimed)
        while fold_tallies(self.store).more:
            pass
        return ran

    def automate(self) -> Automated:
        return run_automation(self.store, self, limits=self.limits)

    def look(self) -> Automated:
        """What the clocks say."""
        return run_clocks(self.store, self, limits=self.limits)

    def rebuild(self) -> Automated:
        return run_rebuilds(self.store, self, limits=self.limits)

    def replan(self) -> Automated:
        return run_replans(self.store, self)

    def settle(self) -> int:
        """Work and automation until both rest; returns how many attempts ran."""
        ran = 0
        while True:
            worked = self.work()
            found = self.automate()
            ran += worked
            if not worked and not found.requested and not self.rebuild().requested and not self.replan().requested:
                return ran

    def _result(self, one: Claimed, *, failed: bool) -> AttemptResult:
        cells = []
        for own in one.cells:
            key = self.catalog.by_id[own.cell.asset_id].key
            version = None if failed else self.version(key, own.cell.partition)
            self.attempts.append((key, own.cell.partition))
            if version is None:
                cells.append(CellResult(own.cell, CellOutcome.FAILED, error="boom"))
            else:
                cells.append(CellResult(own.cell, CellOutcome.WRITTEN, data_version=version, location="here"))
        bad = any(cell.kind is CellOutcome.FAILED for cell in cells)
        return AttemptResult(
            task_id=one.task.id,
            attempt_id=one.attempt_id,
            fence=one.fence,
            outcome=AttemptOutcome.FAILED if bad else AttemptOutcome.SUCCESS,
            cells=tuple(cells),
            digests=one.digests,
            versions=one.versions,
            error="boom" if bad else None,
            automation_assets=self.catalog.automation_assets,
        )


@pytest.fixture(params=["memory", "postgres"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A stage on each of the two stores."""
    if request.param == "memory":
        yield Stage(MemoryStore(lambda: datetime.now(UTC)))
        return
    store = open_store(request.getfixturevalue("pg_url"), pool_size=8)
    yield Stage(store)
    store.close()


@pytest.fixture
def pg_stage(pg_url: str) -> Iterator[Stage]:
    """A stage on Postgres."""
    store = open_store(pg_url, pool_size=12)
    yield Stage(store)
    store.close()


@pytest.fixture
def asset_of() -> Any:
    """`spec`."""
    return spec


__all__ = ["PostgresStore", "Stage", "spec"]
