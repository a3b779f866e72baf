"""Cases of status, plans and declarations. The reader builds a catalog and cells, and asks the planner.

A `run` goes through the duties over the in-memory store.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.conformance.judging import only

from partita.assets import (
    All,
    AssetKey,
    AssetSpec,
    Daily,
    Identity,
    InputSpec,
    Mapping,
    PartitaError,
    PartitionsDef,
    PartitionSet,
    Snapshot,
    Static,
    StaticPartitions,
    StaticTable,
    StepSpec,
    TimeOverlap,
    asset_key,
    cell_hash,
    digest_of_inputs,
    to_spec,
)
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.cells import AssetStatus, Statuses
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import register
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, Claimed
from partita.core.planner import Plan, PlanRequest, plan, to_launch
from partita.core.planner.memory import MemoryCells
from partita.core.store.memory import MemoryStore
from partita.core.store.values import (
    AssetId,
    AttemptId,
    AttemptOutcome,
    CellRef,
    CellState,
    Fence,
    LocationId,
    NewTaskCell,
    Publication,
    RunId,
    SnapshotId,
    WorkerId,
)

OPERATIONS = ("status", "plan", "run", "declare")
_ASSET_FIELDS = {"deps", "code_version", "keys", "external", "group"}
_EVENTS = {"materialized", "observed", "failed"}
_WORDS = {"stale_code": "code_changed", "stale_data": "upstream_changed", "upstream_stale": "upstream_stale"}
_AS_OF = datetime(2030, 1, 1, tzinfo=UTC)
_MODES = {"stale": ("missing", "stale"), "all": ("all",), "missing": ("missing",), "failed": ("failed",)}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask the product and translate its answer."""
    given, when = case["given"], case["when"]
    for asset in given["assets"].values():
        only(asset, _ASSET_FIELDS)
    if when["op"] == "declare":
        try:
            _World(given["assets"])
        except PartitaError:
            return {"error": True}
        return {"error": False}
    world = _World(given["assets"])
    for event in given["history"]:
        world.play(event)
    if when["op"] == "status":
        return world.status()
    if when["op"] == "plan":
        return world.plan(when)
    if when["op"] == "run":
        return world.run(when)
    raise ValueError(f"unknown operation {when['op']!r}")


class _World:
    def __init__(self, assets: dict[str, Any]) -> None:
        self.assets = assets
        self.schemes = {name: _scheme(given.get("keys")) for name, given in assets.items()}
        specs = [self._spec(name, given) for name, given in assets.items()]
        steps: dict[str, list[AssetKey]] = {}
        for spec in specs:
            steps.setdefault(spec.step, []).append(spec.key)
        snapshot = Snapshot(
            location="cases",
            assets=tuple(specs),
            steps=tuple(StepSpec(id=name, assets=tuple(keys), function="m:f") for name, keys in steps.items()),
        )
        self.ids = {asset_key(name): AssetId(index) for index, name in enumerate(assets, start=1)}
        self.catalog = Catalog([StoredSnapshot(LocationId(1), "cases", SnapshotId(1), "v", snapshot)], self.ids)
        self.cells = MemoryCells()
        self.versions: dict[str, str] = {}

    def play(self, event: dict[str, Any]) -> None:
        """One event of the history."""
        if event["ev"] not in _EVENTS:
            raise ValueError(f"unknown event {event['ev']!r}")
        name, key = _split(event["part"])
        ref = CellRef(self.ids[asset_key(name)], key)
        if event["ev"] == "failed":
            self.cells.note(ref, "failed")
            return
        asset = self.catalog.asset(name)
        ordinal = self._space(name).ordinal_of(key)
        if event["ev"] == "observed" or not asset.inputs:
            digest = 0
        elif "inputs" in event:
            digest = self._recorded(name, ordinal, event["inputs"])
        else:
            digest = int(Statuses(self.catalog, self.cells, _AS_OF).expected_digest(asset)[ordinal])
        code = event.get("code_version")
        self.cells.publish(
            ref,
            event["data_version"],
            fingerprint=code or "",
            dependency_hash=asset.spec.dependency_hash,
            digest=digest,
        )

    def status(self) -> dict[str, Any]:
        """State and reasons of every part."""
        states: dict[str, str] = {}
        reasons: dict[str, list[str]] = {}
        statuses = Statuses(self.catalog, self.cells, _AS_OF)
        for name in self.assets:
            status = statuses.status(asset_key(name))
            for ordinal in range(status.space.size):
                part = self._part(name, ordinal)
                states[part] = _state(status, ordinal)
                if states[part] == "stale":
                    reasons[part] = _reasons(status, ordinal)
        return {"status": _Subset(states), "reasons": _Subset(reasons)}

    def plan(self, when: dict[str, Any]) -> dict[str, Any]:
        """Waves, what is conditional, what is blocked."""
        found = plan(self.catalog, self.cells, self._request(when))
        waves = [
            sorted(part for key, cells in wave.items() for part in self._parts(key, cells))
            for wave in found.cells_by_wave()
        ]
        conditional = sorted(part for asset in found.assets for part in self._parts(asset.key, asset.conditional))
        return {"waves": waves, "conditional": conditional, "blocked": self._blocked(found)}

    def run(self, when: dict[str, Any]) -> dict[str, Any]:
        """Launch the plan and work until nothing is ready; `outcomes` are data versions, `fail` or `skip`."""
        store = MemoryStore()
        self._store_history(store)
        found = plan(self.catalog, self.cells, self._request(when))
        if found.empty:
            return {"ran": [], "unchanged": [], "failed": [], "blocked": []}
        launched = launch(store, to_launch(found, self.catalog, cause={"kind": "person", "by": "case"}))
        worker = WorkerId("w")
        register(store, worker, host="h", pid=1, capacity=100)
        ran: set[CellRef] = set()
        while True:
            admit(store)
            resolve = CatalogInputs(lambda run_id: self.catalog)
            claims = claim(store, worker, [(LocationId(1), SnapshotId(1))], 100, resolve, lambda *_: None)
            if not claims.claimed and not claims.more:
                break
            finish(store, [self._result(one, when["outcomes"], ran) for one in claims.claimed])
        with store.begin() as tx:
            cells = tx.task_cells(launched.task_ids)
        by_state: dict[str, list[str]] = {"ran": [], "unchanged": [], "failed": [], "blocked": []}
        words = {CellState.FAILED: "failed", CellState.UPSTREAM_FAILED: "blocked", CellState.UNCHANGED: "unchanged"}
        for own in cells:
            word = words.get(own.state, "ran")
            name = self.catalog.by_id[own.cell.asset_id].key
            part = self._part(name, self._space(name).ordinal_of(own.cell.partition))
            by_state["ran" if word == "unchanged" and own.cell in ran else word].append(part)
        return {word: sorted(parts) for word, parts in by_state.items()}

    def _store_history(self, store: MemoryStore) -> None:
        texts = {number: text for text, number in self.cells.texts.items()}
        with store.begin() as tx:
            (task_id,) = tx.reserve_task_ids(1)
            tx.insert_task_cells(NewTaskCell(task_id, cell, "missing") for cell in self.cells.rows)
            tx.publish_cells(
                [
                    Publication(
                        cell=cell,
                        fence=Fence(0),
                        confirms=False,
                        data_version=row.data_version,
                        fingerprint=texts.get(row.fingerprint_id or 0, ""),
                        dependency_hash=texts.get(row.dependency_hash_id or 0, ""),
                        consumed_digest=row.consumed_digest or 0,
                        location=None,
                        metadata={},
                        attempt_id=AttemptId(0),
                        run_id=RunId(0),
                    )
                    for cell, row in self.cells.rows.items()
                    if row.data_version is not None
                ]
            )

    def _result(self, one: Claimed, outcomes: dict[str, str], ran: set[CellRef]) -> AttemptResult:
        cells = []
        for own in one.cells:
            name = self.catalog.by_id[own.cell.asset_id].key
            outcome = outcomes.get(self._part(name, self._space(name).ordinal_of(own.cell.partition)), "new")
            if outcome == "fail":
                cells.append(CellResult(own.cell, CellOutcome.FAILED, error="as the case says"))
            elif outcome == "skip":
                cells.append(CellResult(own.cell, CellOutcome.SKIPPED))
            else:
                cells.append(CellResult(own.cell, CellOutcome.WRITTEN, data_version=outcome))
            ran.add(own.cell)
        failed = any(cell.kind is CellOutcome.FAILED for cell in cells)
        return AttemptResult(
            task_id=one.task.id,
            attempt_id=one.attempt_id,
            fence=one.fence,
            outcome=AttemptOutcome.FAILED if failed else AttemptOutcome.SUCCESS,
            cells=tuple(cells),
            digests=one.digests,
            versions=one.versions,
            groups=(tuple(own.cell.asset_id for own in one.cells),)
            if len({o.cell.asset_id for o in one.cells}) > 1
            else (),
        )

    def _request(self, when: dict[str, Any]) -> PlanRequest:
        return PlanRequest(
            selection=", ".join(f'"{name}"' for name in when["select"]),
            as_of=_AS_OF,
            partitions=", ".join(f'"{key}"' for key in when["keys"]) if when.get("keys") else None,
            mode=_MODES[when["mode"]],
            upstream=when.get("upstream", False),
            downstream=when.get("downstream", False),
        )

    def _blocked(self, found: Plan) -> dict[str, list[str]]:
        blocked: dict[str, set[str]] = {}
        statuses = Statuses(self.catalog, self.cells, _AS_OF)
        for one in found.blocked:
            asset = self.catalog.asset(one.key)
            made = next(
                (planned.cells for planned in found.assets if planned.key == one.upstream), PartitionSet.empty()
            )
            for link in asset.inputs:
                if link.upstream != one.upstream:
                    continue
                edge = self.catalog.edge(asset.key, link, _AS_OF)
                there = statuses.present(link)
                for ordinal in one.cells:
                    gone = [
                        up
                        for start, stop in edge.ranges_of(ordinal)
                        for up in range(start, stop)
                        if not there[up] and up not in made
                    ]
                    blocked.setdefault(self._part(one.key, ordinal), set()).update(
                        self._part(one.upstream, up) for up in gone
                    )
        return {part: sorted(above) for part, above in blocked.items()}

    def _spec(self, name: str, given: dict[str, Any]) -> AssetSpec:
        inputs = tuple(
            InputSpec(name=dep["asset"], upstream=asset_key(dep["asset"]), mapping=to_spec(self._mapping(name, dep)))
            for dep in given["deps"]
        )
        return AssetSpec(
            key=asset_key(name),
            kind="external" if given.get("external") else "asset",
            observed=bool(given.get("external")),
            step=given.get("group", name),
            partitions=to_spec(self.schemes[name]),
            inputs=inputs,
            fingerprint=given["code_version"] or "",
            dependency_hash=",".join(one.upstream for one in inputs),
        )

    def _mapping(self, name: str, dep: dict[str, Any]) -> Mapping:
        given, above = self.schemes[name], self.schemes.get(dep["asset"])
        if dep["mapping"] == "auto":
            return Identity() if given is not None and above is not None else All()
        if "offset" in dep["mapping"]:
            offset = dep["mapping"]["offset"]
            if isinstance(above, StaticPartitions) and isinstance(given, StaticPartitions):
                return _moved(given.keys, above.keys, offset)
            return TimeOverlap(offset, offset)
        down: dict[str, list[str]] = {}
        for up, downs in dep["mapping"]["pairs"].items():
            for one in downs:
                down.setdefault(one, []).append(up)
        return StaticTable(tuple((key, tuple(ups)) for key, ups in down.items()))

    def _recorded(self, name: str, ordinal: int, inputs: dict[str, str]) -> int:
        asset = self.catalog.asset(name)
        items = []
        for link in asset.inputs:
            space = self.catalog.space(link.upstream, _AS_OF)
            total = 0
            for start, stop in self.catalog.edge(asset.key, link, _AS_OF).ranges_of(ordinal):
                for up in range(start, stop):
                    version = inputs.get(self._part(link.upstream, up))
                    total += cell_hash(space.key_at(up), version) if version is not None else 0
            items.append((link.upstream_id, link.name, total))
        return digest_of_inputs(items)

    def _space(self, name: str) -> Any:
        return self.catalog.space(asset_key(name), _AS_OF)

    def _part(self, name: str, ordinal: int) -> str:
        key = self._space(name).key_at(ordinal)
        return f"{name}@{key}" if key else name

    def _parts(self, name: str, cells: PartitionSet) -> list[str]:
        return [self._part(name, ordinal) for ordinal in cells]


def _moved(down: tuple[str, ...], up: tuple[str, ...], offset: int) -> StaticTable:
    """An offset over listed keys, written as a table."""
    return StaticTable(tuple((key, (up[at + offset],)) for at, key in enumerate(down) if 0 <= at + offset < len(up)))


class _Subset(dict[str, Any]):
    """A case lists only the parts it speaks of."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(self.get(key) == value for key, value in other.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def _state(status: AssetStatus, ordinal: int) -> str:
    if status.missing[ordinal]:
        return "missing"
    return "fresh" if status.fresh[ordinal] else "stale"


def _reasons(status: AssetStatus, ordinal: int) -> list[str]:
    return [word for name, word in _WORDS.items() if getattr(status, name)[ordinal]]


def _scheme(keys: list[str] | None) -> PartitionsDef | None:
    if not keys:
        return None
    if _dates(keys):
        after = date.fromisoformat(keys[-1]) + timedelta(days=1)
        return Daily(keys[0], end=after.isoformat())
    return Static(*keys)


def _dates(keys: list[str] | None) -> bool:
    try:
        days = [date.fromisoformat(key) for key in keys or ()]
    except ValueError:
        return False
    return bool(days) and all(b - a == timedelta(days=1) for a, b in pairwise(days))


def _split(part: str) -> tuple[str, str]:
    name, _, key = part.partition("@")
    return name, key
