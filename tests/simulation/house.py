"""What the stories are about: a few assets of one location, a sensor and a schedule, and the rules of who is told of what."""

from __future__ import annotations

from tests.unit.duties.duty_world import LOCATION, SNAPSHOT

from partita.assets import AssetSpec, EvaluatorSpec, ModuleSpec, Snapshot, Static, asset_key, to_spec
from partita.core.alerts import Routing
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.config_alerts import AlertConfig
from partita.core.decide.evaluators import loaded
from partita.core.store.memory import MemoryStore
from partita.core.store.values import AssetId

ASSETS = range(1, 13)
PARTITIONS = ("a", "b", "c")
VERSIONS = ("v1", "v2")
SENSOR = EvaluatorSpec(name="counter", kind="sensor", function="m:counter", every_s=15.0)
SCHEDULE = EvaluatorSpec(
    name="ticks", kind="schedule", function="m:ticks", cron="*/5 * * * *", tz="UTC", catch_up="all"
)
RULES = (
    AlertConfig(name="pager", on=("retries_exhausted", "late"), to=("x://1", "x://2"), wait=3, every=10, recovery=True),
    AlertConfig(name="list", on=("failed", "run_failed", "blocked"), to=("x://3",), wait=1, every=5, blocked_after=40),
)
ROUTING = Routing(RULES, link="https://partita.example.com", environ={})
TARGETS = {rule.name: {f"alert:{rule.name}#{n}" for n in range(1, len(rule.to) + 1)} for rule in RULES}
GPU = "gpu"
ON_GPU = frozenset({9, 10, 11, 12})
"""The assets of which the steps are the GPU workers', in stories that have such."""
QUEUES = ("default", GPU)
SHUT_FOR_PAUSE = "!paused:"
"""How the names of pools begin that stand for a paused asset."""


class Catalogs:
    """The catalog of the first version; the second one defines the same."""

    def __init__(self) -> None:
        specs = tuple(
            AssetSpec(
                key=f"s{n}", step=f"s{n}", owner="team:ops", fingerprint=f"{n}", partitions=to_spec(Static(*PARTITIONS))
            )
            for n in ASSETS
        )
        snapshot = Snapshot(
            location="house", modules=(ModuleSpec(name="m", ok=True),), assets=specs, evaluators=(SENSOR, SCHEDULE)
        )
        stored = StoredSnapshot(LOCATION, "house", SNAPSHOT, VERSIONS[0], snapshot)
        self._catalog = Catalog([stored], {asset_key(f"s{n}"): AssetId(n) for n in ASSETS})

    def active(self) -> Catalog:
        return self._catalog


CATALOGS = Catalogs()


def settle_in(memory: MemoryStore) -> None:
    """The rows of the location, its versions, its assets and its evaluators."""
    with memory.begin() as tx:
        location = tx.put_location("house")
        assert location == LOCATION
        for version in VERSIONS:
            tx.put_snapshot(location, version, body=b"", effective=b"", kept=())
        for n in ASSETS:  # one by one, so that the ids rise as the names do
            assert tx.define_assets(location, SNAPSHOT, [f"s{n}"]) == {f"s{n}": n}
        tx.activate_snapshot(location, SNAPSHOT)
        rows = loaded([SENSOR, SCHEDULE], [], snapshot_id=SNAPSHOT, broken=(), now=tx.now(), position=None)
        tx.put_evaluators(location, rows)
