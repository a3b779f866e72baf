"""What the stories of automation are about: assets that follow others, keys that are found at run time, functions that are
evaluated, a named job, a policy of freshness; and what is true outside, where producers and callbacks are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from tests.simulation.house import PARTITIONS, VERSIONS
from tests.unit.duties.duty_world import LOCATION, START, Definitions

from partita.assets import (
    AllSpec,
    AssetSpec,
    Dynamic,
    EvaluatorSpec,
    FreshnessSpec,
    IdentitySpec,
    InputSpec,
    ModuleSpec,
    Snapshot,
    Static,
    StepSpec,
    TimePartitions,
    asset_key,
    to_spec,
)
from partita.assets.specs import EagerSpec, canonical_json
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.catalog.dynamic import KeysAt
from partita.core.changes.observed import Said, observations_of
from partita.core.decide.intake import Report
from partita.core.decide.jobs import next_tick
from partita.core.decide.observe import Observation
from partita.core.duties.values_attempts import ResolvedInputs
from partita.core.runtime.activate import activate
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, RunId, SnapshotId, Task, TaskCell
from partita.core.store.values_jobs import Job
from partita.core.store.values_reports import ReportKey
from partita.sdk import eager, on_close, on_cron

FILES = Dynamic("files", cap=4)
_LETTERS = to_spec(Static(*PARTITIONS))
LAG_S = 45.0
PACE = 2
_MIDNIGHT = START.replace(tzinfo=None)
WINDOWS = TimePartitions("* * * * *", _MIDNIGHT - timedelta(minutes=6), end=_MIDNIGHT + timedelta(minutes=2), tz="UTC")
"""Six have closed when a story begins: five of them are the past."""
EVERY_TWO_MINUTES = "*/2 * * * *"


def _asset(key: str, partitions: Any, *reads: tuple[str, Any], **more: Any) -> AssetSpec:
    inputs = tuple(InputSpec(name=up, upstream=asset_key(up), mapping=mapping) for up, mapping in reads)
    named = {"owner": "team:ops", "fingerprint": key, **more}
    return AssetSpec(key=asset_key(key), step=key, partitions=partitions, inputs=inputs, **named)


def _outside(key: str) -> AssetSpec:
    return AssetSpec(key=asset_key(key), kind="external", observed=True, partitions=_LETTERS, owner="team:ops")


def specs_of(version: str) -> tuple[AssetSpec, ...]:
    """What a version defines. In the second one `second` and `built` are other code, and `calm` gathers for another while."""
    first = version == VERSIONS[0]
    return (
        _outside("pushed"),
        _outside("watched"),
        _asset("first", _LETTERS, ("pushed", IdentitySpec()), automation=EagerSpec()),
        _asset(
            "second",
            _LETTERS,
            ("first", IdentitySpec()),
            ("watched", IdentitySpec()),
            automation=EagerSpec(),
            fingerprint=f"second {version}",
        ),
        _asset("calm", _LETTERS, ("pushed", IdentitySpec()), automation=eager().debounced(20 if first else 5).spec),
        _asset(
            "built",
            _LETTERS,
            ("watched", IdentitySpec()),
            automation=EagerSpec(),
            on_code_change="rebuild",
            fingerprint=f"built {version}",
        ),
        _asset("rates", _LETTERS, automation=on_cron(EVERY_TWO_MINUTES, "UTC").spec),
        _asset("windows", to_spec(WINDOWS), automation=on_close(catch_up="all", pace=PACE).spec),
        _asset("inbox", None),
        _asset("parsed", to_spec(FILES), ("inbox", AllSpec())),
        _asset("thumb", to_spec(FILES), ("parsed", IdentitySpec()), automation=EagerSpec()),
        _asset("summary", None, ("parsed", AllSpec())),
        _asset("nightly", _LETTERS, freshness=FreshnessSpec(max_lag_s=LAG_S, objective=0.999)),
    )


SPECS = {version: specs_of(version) for version in VERSIONS}
IDS = {key: AssetId(n) for n, key in enumerate(sorted(str(spec.key) for spec in SPECS[VERSIONS[0]]), 1)}
EAGER = {
    "first": ("pushed",),
    "second": ("first", "watched"),
    "calm": ("pushed",),
    "built": ("watched",),
    "thumb": ("parsed",),
}
"""What follows -> what it reads."""
TOLD_OF = ("first", "second", "parsed")

LOOK = EvaluatorSpec(name="look", kind="observe", function="m:look", every_s=10.0, observes=asset_key("watched"))
KEYED = EvaluatorSpec(name="keyed", kind="sensor", function="m:keyed", every_s=15.0)
SLOW = EvaluatorSpec(name="slow", kind="sensor", function="m:slow", every_s=20.0)
NEWS = EvaluatorSpec(name="news", kind="sensor", function="m:news", every_s=8.0, watches=(asset_key("first"),))
CALLBACK = EvaluatorSpec(
    name="callback", kind="sensor", function="m:callback", every_s=5.0, tasks=("failed", "success"), steps=TOLD_OF
)
EVALUATORS = (LOOK, KEYED, SLOW, NEWS, CALLBACK)
JOB = Job(
    "nightly-job",
    {"selection": "nightly", "partitions": None, "mode": ["all"], "params": {}},
    "scheduled",
    "ada",
    START,
    cron="* * * * *",
    tz="UTC",
)
SNAPSHOTS = {
    version: Snapshot(
        location="house",
        modules=(ModuleSpec(name="m", ok=True),),
        assets=specs,
        steps=tuple(
            StepSpec(id=str(one.key), assets=(one.key,), function="m:f") for one in specs if one.kind != "external"
        ),
        evaluators=EVALUATORS,
    )
    for version, specs in SPECS.items()
}


class LiveCatalogs:
    """The catalog of the version that is active, or that a run is pinned to, with the keys of dynamic schemes as they are, or as
    the run sees them.
    """

    def __init__(self, memory: MemoryStore) -> None:
        self._db = memory.database
        ids = {asset_key(name): id for name, id in IDS.items()}
        self._bases = {
            SnapshotId(n): Catalog([StoredSnapshot(LOCATION, "house", SnapshotId(n), version, snapshot)], ids)
            for n, (version, snapshot) in enumerate(SNAPSHOTS.items(), 1)
        }
        self._views: dict[tuple[int, int, tuple[str, ...]], Catalog] = {}

    def active(self) -> Catalog:
        return self._at(self._active(), self._db.dynamic_revision.rows[1]["revision"])

    def of_run(self, run_id: RunId, /) -> Catalog:
        return self.of_run_at(run_id, self._db.run.rows[run_id]["keys_revision"])

    def of_run_at(self, run_id: RunId, keys_revision: int, /) -> Catalog:
        pins = [row["snapshot_id"] for row in self._db.run_pin if row["run_id"] == run_id]
        return self._at(pins[0] if pins else self._active(), keys_revision)

    def _active(self) -> SnapshotId:
        snapshot: SnapshotId = self._db.location.rows[LOCATION]["active_snapshot_id"]
        return snapshot

    def _at(self, snapshot: SnapshotId, revision: int) -> Catalog:
        lives = [row for row in self._db.dynamic_key if row["revision"] <= revision]
        there = [row for row in lives if row["ended"] is None or row["ended"] > revision]
        keys = tuple(row["key"] for row in sorted(there, key=lambda row: (row["revision"], row["place"])))
        if (snapshot, revision, keys) not in self._views:
            view = self._bases[snapshot].with_keys(KeysAt(revision, {FILES.name: keys}))
            self._views[snapshot, revision, keys] = view
        return self._views[snapshot, revision, keys]


class LiveDefinitions(Definitions):
    """What tasks read, by the catalog of their run."""

    def __init__(self, catalogs: LiveCatalogs) -> None:
        super().__init__()
        self._resolve = CatalogInputs(catalogs.of_run)

    def resolve(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        return self._resolve(task, as_of, cells)


def settle_in(memory: MemoryStore) -> None:
    """The first version is active, and there is a job."""
    with memory.begin() as tx:
        assert tx.put_location("house") == LOCATION
        for version, snapshot in SNAPSHOTS.items():
            tx.put_snapshot(LOCATION, version, body=b"", effective=canonical_json(snapshot), kept=())
        assert bring_up(tx, VERSIONS[0]) == "", "the house is sound"
        assert {row["key"]: row["id"] for row in memory.database.asset} == IDS
        tx.insert_job(replace(JOB, next_at=next_tick(JOB, tx.now())))


def bring_up(tx: Tx, version: str) -> str:
    """This version becomes the active one; the problem, when it may not."""
    return activate(tx, "house", SNAPSHOTS[version], version, b"").problem


# ------------------------------------------------------------------------------------------------- outside


@dataclass
class Outside:
    """What is true where partita is not: what producers have to report and were answered, what external data are at, what
    functions were told of, and what files of history there are."""

    random: Random
    outbox: list[Report] = field(default_factory=list)
    answers: dict[ReportKey, tuple[datetime, Any]] = field(default_factory=dict)
    """Of a report the last instant at which it was answered, and how."""
    watched: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITIONS, 1))
    looked: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    """Evaluation -> what it saw when it began."""
    ends: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Task -> the keys under which a callback was told of its end."""
    news: set[tuple[str, str, str]] = field(default_factory=set)
    files: dict[date, dict[str, set[Any]]] = field(default_factory=dict)
    """Day of history -> the rows, by table, that are in its files."""

    def new_report(self) -> None:
        n = len(self.outbox) + 1
        keep_s = self.random.choice([40, 3_600, 604_800])
        self.outbox.append(
            Report(
                "pushed",
                self.random.choice(PARTITIONS),
                f"r{n}",
                ReportKey("feed", f"k{n}"),
                keep=timedelta(seconds=keep_s),
            )
        )

    def move(self) -> None:
        self.watched[self.random.choice(PARTITIONS)] += 1


def observation_of(catalog: Catalog) -> Callable[[Report, datetime], Observation]:
    """As the intake of the API does."""

    def observed(report: Report, now: datetime) -> Observation:
        said = Said(report.asset, report.partition, report.data_version, report.noted)
        return observations_of(catalog, [said], now)[0]

    return observed
