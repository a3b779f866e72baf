"""Plans as bytes: sets as ranges, never lists of cells; and the hash, which covers content only.

The hash covers the snapshot vector, the request, cells by reason with the size of their space and its dynamic keys, and
the batches. Estimates, pool pressure, what is blocked, names of what moved and what other runs own are for people and stay
outside it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import StepKey
from partita.core.planner.encode_estimate import estimate_json, estimate_of
from partita.core.planner.values import (
    Blocked,
    Plan,
    PlannedAsset,
    PlannedStep,
    PlanRequest,
    Pressure,
    Reason,
)
from partita.core.store.values import AssetId, LocationId


def plan_hash(
    request: PlanRequest,
    snapshots: Sequence[tuple[str, str]],
    assets: Sequence[PlannedAsset],
    steps: Sequence[PlannedStep],
) -> str:
    """SHA-256 (hex) of the content of a plan."""
    content = {
        "request": {name: value for name, value in request.to_json().items() if name != "by"},
        "snapshots": [list(pair) for pair in snapshots],
        "assets": [_asset_json(asset) for asset in assets],
        "batches": [[step.step.id, _batches_json(step)] for step in steps],
    }
    return sha256(_json(content)).hexdigest()


def encode_plan(plan: Plan) -> bytes:
    """The stored form of a plan."""
    stored = {
        "format": 1,
        "request": plan.request.to_json(),
        "snapshots": [list(pair) for pair in plan.snapshots],
        "assets": [_asset_json(asset) | {"id": asset.asset_id} for asset in plan.assets],
        "steps": [_step_json(step) for step in plan.steps],
        "blocked": [_blocked_json(one) for one in plan.blocked],
        "hash": plan.hash,
        "because": dict(plan.because),
        "pools": [asdict(one) for one in plan.pools],
        "estimate": None if plan.estimate is None else estimate_json(plan.estimate),
        "joined": plan.joined,
    }
    return zlib.compress(_json(stored), 6)


def decode_plan(body: bytes) -> Plan:
    """The plan of a stored form; raises ValueError for one that this version does not know."""
    stored = json.loads(zlib.decompress(body))
    if stored["format"] != 1:
        raise ValueError(f"a stored plan of format {stored['format']} is not readable by this version; plan again")
    return Plan(
        request=PlanRequest.from_json(stored["request"]),
        snapshots=tuple((location, version) for location, version in stored["snapshots"]),
        assets=tuple(_asset_of(one) for one in stored["assets"]),
        steps=tuple(_step_of(one) for one in stored["steps"]),
        blocked=tuple(_blocked_of(one) for one in stored["blocked"]),
        hash=stored["hash"],
        because=stored["because"],
        pools=tuple(Pressure(**one) for one in stored["pools"]),
        estimate=estimate_of(stored["estimate"]),
        joined=stored["joined"],
    )


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _asset_json(asset: PlannedAsset) -> dict[str, Any]:
    keys = {"keys": asset.keys} if asset.keys else {}
    return keys | {
        "key": asset.key,
        "size": asset.size,
        "cells": {reason.value: cells.to_json() for reason, cells in asset.by_reason.items()},
        "conditional": asset.conditional.to_json(),
    }


def _asset_of(stored: dict[str, Any]) -> PlannedAsset:
    return PlannedAsset(
        key=AssetKey(stored["key"]),
        asset_id=AssetId(stored["id"]),
        size=stored["size"],
        by_reason={Reason(reason): PartitionSet.from_json(ranges) for reason, ranges in stored["cells"].items()},
        conditional=PartitionSet.from_json(stored["conditional"]),
        keys=stored.get("keys", ""),
    )


def _step_json(step: PlannedStep) -> dict[str, Any]:
    return {
        "location": step.step.location_id,
        "id": step.step.id,
        "assets": list(step.assets),
        "batches": _batches_json(step),
        "waves": _runs(step.waves),
        "conditional": _runs([int(one) for one in step.conditional]),
    }


def _step_of(stored: dict[str, Any]) -> PlannedStep:
    return PlannedStep(
        step=StepKey(LocationId(stored["location"]), stored["id"]),
        assets=tuple(AssetKey(key) for key in stored["assets"]),
        batches=_batches_of(stored["batches"]),
        waves=tuple(_unrun(stored["waves"])),
        conditional=tuple(bool(one) for one in _unrun(stored["conditional"])),
    )


def _batches_json(step: PlannedStep) -> dict[str, Any]:
    """One partition a task, by far the most common, is the set itself."""
    if all(len(batch) == 1 for batch in step.batches):
        return {"single": PartitionSet.from_ranges(one.ranges[0] for one in step.batches).to_json()}
    return {"each": [batch.to_json() for batch in step.batches]}


def _batches_of(stored: dict[str, Any]) -> tuple[PartitionSet, ...]:
    if "single" in stored:
        return tuple(PartitionSet(((one, one + 1),)) for one in PartitionSet.from_json(stored["single"]))
    return tuple(PartitionSet.from_json(ranges) for ranges in stored["each"])


def _blocked_json(one: Blocked) -> dict[str, Any]:
    return {
        "key": one.key,
        "cells": one.cells.to_json(),
        "reason": one.reason,
        "upstream": one.upstream,
        "absent": list(one.absent),
    }


def _blocked_of(stored: dict[str, Any]) -> Blocked:
    return Blocked(
        AssetKey(stored["key"]),
        PartitionSet.from_json(stored["cells"]),
        stored["reason"],
        AssetKey(stored["upstream"]),
        tuple(stored["absent"]),
    )


def _runs(values: Sequence[int]) -> list[list[int]]:
    """[value, how often in a row] pairs."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs


def _unrun(runs: Sequence[Sequence[int]]) -> list[int]:
    return [value for value, n in runs for _ in range(n)]
