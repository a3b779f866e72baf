"""A small world for planner tests: specs to a catalog, cells in memory, and attempts that record what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita.assets import (
    AssetKey,
    AssetSpec,
    InputSpec,
    PartitionsDef,
    Snapshot,
    StepSpec,
    asset_key,
    canonical_json,
    default_mapping,
    to_spec,
)
from partita.assets import Mapping as PartitionMapping
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.catalog.body import StoredBody
from partita.core.cells import Statuses
from partita.core.planner import Plan, PlanRequest, plan
from partita.core.planner.memory import MemoryCells
from partita.core.store.values import AssetId, CellRef, LocationId, SnapshotId

AS_OF = datetime(2024, 1, 15, tzinfo=UTC)


def spec(
    key: str,
    partitions: PartitionsDef | None = None,
    inputs: Mapping[str, tuple[PartitionsDef | None, PartitionMapping | None]] | None = None,
    *,
    step: str = "",
    code: str = "1",
    **more: Any,
) -> AssetSpec:
    """An asset; `inputs` give per upstream its partitions (for the default mapping) and a mapping."""
    found = tuple(
        InputSpec(
            name=up.replace("/", "_"),
            upstream=asset_key(up),
            mapping=to_spec(mapping if mapping is not None else default_mapping(partitions, up_partitions)),
        )
        for up, (up_partitions, mapping) in (inputs or {}).items()
    )
    return AssetSpec(
        key=asset_key(key),
        step=step or key,
        partitions=to_spec(partitions),
        inputs=found,
        fingerprint=f"code-{code}",
        dependency_hash="-".join(f"{one.upstream}{one.mapping}" for one in found) or "none",
        **more,
    )


class World:
    """A catalog and its cells. `run` makes a cell from what its inputs hold, as an attempt does."""

    def __init__(self, specs: Sequence[AssetSpec], as_of: datetime = AS_OF, location: str = "loc") -> None:
        self.cells = MemoryCells(at=AS_OF - timedelta(days=1))
        self.as_of = as_of
        self.location = location
        self.ids: dict[AssetKey, AssetId] = {}
        self.define(specs)

    def define(self, specs: Sequence[AssetSpec]) -> None:
        """Load another version of the location."""
        for one in specs:
            self.ids.setdefault(one.key, AssetId(len(self.ids) + 1))
        steps: dict[str, list[AssetKey]] = {}
        for one in specs:
            steps.setdefault(one.step, []).append(one.key)
        snapshot = Snapshot(
            location=self.location,
            assets=tuple(specs),
            steps=tuple(StepSpec(id=step, assets=tuple(keys), function="m:f") for step, keys in steps.items()),
        )
        body = StoredBody(canonical_json(snapshot))  # as the store gives it
        stored = StoredSnapshot(LocationId(1), self.location, SnapshotId(1), "v1", body)
        self.catalog = Catalog([stored], self.ids)

    def ref(self, key: str, partition: str = "") -> CellRef:
        return CellRef(self.ids[AssetKey(key)], partition)

    def run(self, key: str, partition: str = "", version: str = "v1") -> None:
        """A successful attempt now."""
        self.cells.at += timedelta(minutes=1)
        asset = self.catalog.asset(key)
        statuses = self.statuses()
        ordinal = self.catalog.space(asset.key, self.as_of).ordinal_of(partition)
        self.cells.publish(
            self.ref(key, partition),
            version,
            fingerprint=asset.spec.fingerprint,
            dependency_hash=asset.spec.dependency_hash,
            digest=int(statuses.expected_digest(asset)[ordinal]) if asset.inputs else 0,
        )

    def run_all(self, key: str, version: str = "v1") -> None:
        """Every partition of an asset."""
        space = self.catalog.space(AssetKey(key), self.as_of)
        for partition in space.keys(space.all()):
            self.run(key, partition, version)

    def statuses(self) -> Statuses:
        return Statuses(self.catalog, self.cells, self.as_of)

    def state(self, key: str, partition: str = "") -> str:
        status = self.statuses().status(AssetKey(key))
        return status.state_at(status.space.ordinal_of(partition))

    def plan(self, selection: str = "*", **more: Any) -> Plan:
        return plan(self.catalog, self.cells, PlanRequest(selection=selection, as_of=self.as_of, **more))

    def keys(self, found: Plan) -> dict[str, list[str]]:
        """The planned partitions by asset."""
        return {
            asset.key: [str(key) for key in self.catalog.space(asset.key, self.as_of).keys(asset.cells)]
            for asset in found.assets
        }

    def waves(self, found: Plan) -> list[dict[str, list[str]]]:
        return [
            {key: [str(one) for one in self.catalog.space(key, self.as_of).keys(cells)] for key, cells in wave.items()}
            for wave in found.cells_by_wave()
        ]


@pytest.fixture
def world() -> type[World]:
    """The class, so that tests build their own."""
    return World


@pytest.fixture
def asset_of() -> Any:
    """`spec`, for tests that cannot import from a conftest."""
    return spec
