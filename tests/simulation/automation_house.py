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

from tests.simulation.house import PARTITIONS
from tests.unit.duties.duty_world import LOCATION, SNAPSHOT, START, Definitions

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
    asset_key,
    to_spec,
)
from partita.assets.specs import EagerSpec
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.catalog.dynamic import KeysAt
from partita.core.changes.observed import Said, observations_of
from partita.core.decide.evaluators import loaded
from partita.core.decide.intake import Report
from partita.core.decide.jobs import next_tick
from partita.core.decide.observe import Observation
from partita.core.duties.values_attempts import ResolvedInputs
from partita.core.freshness import wanted_policies
from partita.core.store.memory import MemoryStore
from partita.core.store.values import AssetId, RunId, Task, TaskCell
from partita.core.store.values_jobs import Job
from partita.core.store.values_reports import ReportKey

FILES = Dynamic("files", cap=4)
_LETTERS = to_spec(Static(*PARTITIONS))
LAG_S = 45.0


def _asset(key: str, partitions: Any, *reads: tuple[str, Any], **more: Any) -> AssetSpec:
    inputs = tuple(InputSpec(name=up, upstream=asset_key(up), mapping=mapping) for up, mapping in reads)
    named = {"owner": "team:ops", "fingerprint": key, **more}
    return AssetSpec(key=asset_key(key), step=key, partitions=partitions, inputs=inputs, **named)


def _outside(key: str) -> AssetSpec:
    return AssetSpec(key=asset_key(key), kind="external", observed=True, partitions=_LETTERS, owner="team:ops")


SPECS = (
    _outside("pushed"),
    _outside("watched"),
    _asset("first", _LETTERS, ("pushed", IdentitySpec()), automation=EagerSpec()),
    _asset("second", _LETTERS, ("first", IdentitySpec()), ("watched", IdentitySpec()), automation=EagerSpec()),
    _asset("inbox", None),
    _asset("parsed", to_spec(FILES), ("inbox", AllSpec())),
    _asset("thumb", to_spec(FILES), ("parsed", IdentitySpec()), automation=EagerSpec()),
    _asset("summary", None, ("parsed", AllSpec())),
    _asset("nightly", _LETTERS, freshness=FreshnessSpec(max_lag_s=LAG_S, objective=0.999)),
)
IDS = {str(spec.key): AssetId(n) for n, spec in enumerate(SPECS, 1)}
EAGER = ("first", "second", "thumb")
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
_SNAPSHOT = Snapshot(
    location="house",
    modules=(ModuleSpec(name="m", ok=True),),
    assets=SPECS,
    steps=tuple(
        StepSpec(id=str(one.key), assets=(one.key,), function="m:f") for one in SPECS if one.kind != "external"
    ),
    evaluators=EVALUATORS,
)


class LiveCatalogs:
    """The catalog of the one version, with the keys of dynamic schemes as they are, or as a run sees them."""

    def __init__(self, memory: MemoryStore) -> None:
        self._db = memory.database
        stored = StoredSnapshot(LOCATION, "house", SNAPSHOT, "v1", _SNAPSHOT)
        self._base = Catalog([stored], {asset_key(name): id for name, id in IDS.items()})
        self._views: dict[tuple[int, tuple[str, ...]], Catalog] = {}

    def active(self) -> Catalog:
        return self._at(self._db.dynamic_revision.rows[1]["revision"])

    def of_run(self, run_id: RunId, /) -> Catalog:
        return self._at(self._db.run.rows[run_id]["keys_revision"])

    def of_run_at(self, run_id: RunId, keys_revision: int, /) -> Catalog:
        return self._at(keys_revision)

    def _at(self, revision: int) -> Catalog:
        lives = [row for row in self._db.dynamic_key if row["revision"] <= revision]
        there = [row for row in lives if row["ended"] is None or row["ended"] > revision]
        keys = tuple(row["key"] for row in sorted(there, key=lambda row: (row["revision"], row["place"])))
        if (revision, keys) not in self._views:
            self._views[revision, keys] = self._base.with_keys(KeysAt(revision, {FILES.name: keys}))
        return self._views[revision, keys]


class LiveDefinitions(Definitions):
    """What tasks read, by the catalog of their run."""

    def __init__(self, catalogs: LiveCatalogs) -> None:
        super().__init__()
        self._resolve = CatalogInputs(catalogs.of_run)

    def resolve(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        return self._resolve(task, as_of, cells)


def settle_in(memory: MemoryStore) -> None:
    """The rows of the location, its assets, evaluators, job and policy."""
    with memory.begin() as tx:
        assert tx.put_location("house") == LOCATION
        tx.put_snapshot(LOCATION, "v1", body=b"", effective=b"", kept=())
        for name, asset_id in IDS.items():
            assert tx.define_assets(LOCATION, SNAPSHOT, [name]) == {name: asset_id}
        tx.activate_snapshot(LOCATION, SNAPSHOT)
        _, here = tx.read_news(None, (), (), 0)
        rows = loaded(EVALUATORS, [], snapshot_id=SNAPSHOT, broken=(), now=tx.now(), position=here)
        tx.put_evaluators(LOCATION, rows)
        tx.set_freshness(*wanted_policies(SPECS, {asset_key(name): id for name, id in IDS.items()}))
        tx.insert_job(replace(JOB, next_at=next_tick(JOB, tx.now())))


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
