"""What an evaluation is handed: its instant, its cursor, and by its kind a tick, partitions or events. Reads; decides nothing.

The other side is `partita.sdk.evaluate`: it builds the contexts of user code from this JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.assets import AssetKey, EvaluatorSpec
from partita.core.catalog import Catalog
from partita.core.catalog.names import names_of
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, CellRef, RunId, TaskId
from partita.core.store.values_evaluators import Evaluator

MOST_PARTITIONS = 10_000
MOST_EVENTS = 1_000
MOST_TASKS = 200
_FAILED = frozenset({"failed", "lost"})


@dataclass(frozen=True, slots=True)
class Handed:
    """`given` is for user code; `position` how far it was told of events then. `idle`: there is nothing to tell, so it is not
    called."""

    given: Mapping[str, Any]
    position: str | None
    idle: bool = False


def handed(
    tx: Tx, catalog: Catalog, one: Evaluator, spec: EvaluatorSpec, *, now: datetime, tick: datetime | None
) -> Handed:
    """Raises PartitaError when an asset that it is about is not known."""
    given: dict[str, Any] = {"now": now.isoformat(), "cursor": one.cursor}
    if tick is not None:
        given["tick"] = tick.isoformat()
    if spec.observes is not None:
        given["partitions"] = newest_keys(catalog, spec.observes, now, spec.newest)
    elif spec.ready is not None:
        found = given["partitions"] = _never_made(tx, catalog, spec.ready, now, spec.newest)
        return Handed(given, one.position, idle=not found)
    elif spec.tasks:
        return _ended(tx, catalog, one, spec, given)
    elif spec.watches or spec.runs:
        return _told(tx, catalog, one, spec, given)
    return Handed(given, one.position)


def _told(tx: Tx, catalog: Catalog, one: Evaluator, spec: EvaluatorSpec, given: dict[str, Any]) -> Handed:
    watched = {catalog.asset(key).id: key for key in spec.watches}
    kinds = [*(("materialized", "observed") if watched else ()), *(("run",) if spec.runs else ())]
    found, position = tx.read_news(one.position, kinds, watched, MOST_EVENTS)
    ended = {news.run_id: news for news in found if news.kind == "run" and news.body.get("state") in spec.runs}
    runs = {run.id: run for run in tx.read_runs(sorted(RunId(run_id) for run_id in ended if run_id is not None))}
    given["events"] = [
        {
            "asset": watched[AssetId(news.asset_id)],
            "partition": news.partition or "",
            "data_version": str(news.body.get("data_version") or ""),
            "at": news.at.isoformat(),
            "run_id": news.run_id,
        }
        for news in found
        if news.asset_id is not None and not news.body.get("confirmed")
    ]
    given["runs"] = [
        {
            "run_id": run.id,
            "state": ended[run.id].body["state"],
            "at": ended[run.id].at.isoformat(),
            "cause": str(run.cause.get("text", "")),
            "by": str(run.cause.get("by", "")),
        }
        for run in runs.values()
        if run.cause.get("evaluator") != one.id  # else a sensor of failures that fails would ask for ever
    ]
    return Handed(given, position, idle=not given["events"] and not given["runs"])


def _ended(tx: Tx, catalog: Catalog, one: Evaluator, spec: EvaluatorSpec, given: dict[str, Any]) -> Handed:
    """Of a callback: the tasks that ended, by the events that their last transactions wrote. Few at once, for one time limit."""
    found, position = tx.read_news(one.position, ["task"], (), MOST_TASKS, steps=spec.steps, states=spec.tasks)
    assets = {key.id: [asset.key for asset in made] for key, made in catalog.steps.items() if key.id in spec.steps}
    partitions: dict[int, dict[str, None]] = {}
    for own in tx.task_cells(sorted({TaskId(news.task_id) for news in found if news.task_id is not None})):
        partitions.setdefault(own.task_id, {})[own.cell.partition] = None
    given["tasks"] = [
        {
            "key": f"task-{news.task_id}-{news.body['state']}",
            "state": news.body["state"],
            "assets": assets.get(news.body["step"], []),
            "partitions": list(partitions.get(news.task_id, ())),
            "run_id": news.run_id,
            "task_id": news.task_id,
            "attempt": news.body.get("attempt", 0),
            "error": news.body.get("error", ""),
            "at": news.at.isoformat(),
        }
        for news in found
        if news.task_id is not None
    ]
    waits = one.cursor is None or datetime.fromisoformat(json.loads(one.cursor)["at"]) > tx.now()
    return Handed(given, position, idle=not given["tasks"] and waits)


def newest_keys(catalog: Catalog, key: AssetKey, now: datetime, newest: int) -> list[str]:
    """The newest partitions that exist, in order; "" is the one of an asset without partitions."""
    catalog.asset(key)
    space = catalog.space(key, now)
    names = names_of(space)
    first = max(0, space.size - min(newest, MOST_PARTITIONS))
    return [names.key(ordinal) for ordinal in range(first, space.size)]


def _never_made(tx: Tx, catalog: Catalog, key: AssetKey, now: datetime, newest: int) -> list[str]:
    """Of these the ones that hold nothing, that nobody is making, and that did not fail: a failure is for its retries and for
    people, not to be asked for again every minute."""
    asset = catalog.asset(key)
    cells = [CellRef(asset.id, one) for one in newest_keys(catalog, key, now, newest)]
    facts = tx.read_cells(cells)
    owned = tx.open_owners(cells)
    return [
        cell.partition
        for cell in cells
        if cell not in owned
        and ((fact := facts.get(cell)) is None or (fact.data_version is None and fact.last_outcome not in _FAILED))
    ]
