"""Law 4: what is asked of a catalog for each partition does not cost what the scheme has keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from partita.assets import AssetKey, AssetSpec, Snapshot, StaticPartitions, StepSpec, asset_key, to_spec
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.catalog.names import names_of
from partita.core.store.values import AssetId, LocationId, SnapshotId

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_scheme_is_hashed_once_and_not_for_each_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launching 30,000 cells of one static scheme took a minute of hashing its keys."""
    scheme = StaticPartitions(tuple(f"k{n}" for n in range(50)))
    spec = AssetSpec(key=asset_key("a"), step="a", partitions=to_spec(scheme), fingerprint="f", dependency_hash="none")
    snapshot = Snapshot(location="loc", assets=(spec,), steps=(StepSpec(id="a", assets=(spec.key,), function="m:f"),))
    stored = StoredSnapshot(LocationId(1), "loc", SnapshotId(1), "v1", snapshot)
    catalog = Catalog([stored], {AssetKey("a"): AssetId(1)})
    names_of(catalog.space(AssetKey("a"), NOW)).key(0)
    hashed: list[StaticPartitions] = []

    def noticed(self: StaticPartitions) -> int:
        hashed.append(self)
        return 1

    monkeypatch.setattr(StaticPartitions, "__hash__", noticed)
    for at in range(50):
        assert names_of(catalog.space(AssetKey("a"), NOW)).key(at) == f"k{at}"
    assert hashed == []
