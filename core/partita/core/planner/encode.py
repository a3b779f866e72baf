"""Plans as bytes: sets as ranges, never lists of cells; and the hash, which covers content only.

The hash covers the snapshot vector, the request, cells by reason with the size of their space and its dynamic keys, and
the batches with the members that each makes. Estimates, pool pressure, what is blocked, names of what moved and what other
runs own are for people and stay outside it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import StepKey
from partita.core.planner.encode_estimate import estimate_json, estimate_of
from partita.core.planner.sequences import OneEach, Runs
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
    texts = _Texts()
    state = sha256(b'{"assets":[')
    state.update(",".join(map(texts.asset, assets)).encode())
    state.update(b'],"batches":[')
    state.update(",".join(map(texts.batches, steps)).encode())
    state.update(b'],"request":')
    state.update(_json({name: value for name, value in request.to_json().items() if name != "by"}))
    state.update(b',"snapshots":')
    state.update(_json([list(pair) for pair in snapshots]))
    state.update(b"}")
    return state.hexdigest()


class _Texts:
    """The JSON of parts of a plan, the same as `_json` writes. A set that many assets share is written once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def asset(self, asset: PlannedAsset) -> str:
        """`_asset_json` as text."""
        cells = ",".join(f'"{reason.value}":{self._set(asset.by_reason[reason])}' for reason in sorted(asset.by_reason))
        conditional = self._set(asset.conditional)
        key = _text(asset.key) + (f',"keys":{_text(asset.keys)}' if asset.keys else "")
        return f'{{"cells":{{{cells}}},"conditional":{conditional},"key":{key},"size":{asset.size}}}'

    def batches(self, step: PlannedStep) -> str:
        """[id, `_batches_json` and the members] as text."""
        # Which members a batch makes, where they are not all of its group.
        members = f',"assets":[{",".join(map(_text, step.assets))}]' if step.partial else ""
        if isinstance(step.batches, OneEach):
            return f'[{_text(step.step.id)},{{"single":{self._set(step.batches.cells)}{members}}}]'
        return f'[{_text(step.step.id)},{{"each":[{",".join(map(self._set, step.batches))}]{members}}}]'

    def _set(self, cells: PartitionSet) -> str:
        # The plan holds the sets while this lives, so their ids stay theirs.
        known = self._known.get(id(cells))
        if known is None:
            ranges = ",".join(["[%d,%d]" % run for run in cells.ranges])  # noqa: UP031 - twice as fast
            known = self._known[id(cells)] = f"[{ranges}]"
        return known


def _text(value: str) -> str:
    return encode_basestring(value)  # what `json.dumps` comes to for a text, without asking what it is


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
        "unserved": list(plan.unserved),
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
        unserved=tuple(stored.get("unserved", ())),
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
    partial = {"partial": True} if step.partial else {}
    return partial | {
        "location": step.step.location_id,
        "id": step.step.id,
        "assets": list(step.assets),
        "batches": _batches_json(step),
        "waves": [list(run) for run in step.waves.runs],
        "conditional": [[int(value), n] for value, n in step.conditional.runs],
    }


def _step_of(stored: dict[str, Any]) -> PlannedStep:
    return PlannedStep(
        step=StepKey(LocationId(stored["location"]), stored["id"]),
        assets=tuple(AssetKey(key) for key in stored["assets"]),
        batches=_batches_of(stored["batches"]),
        waves=Runs(tuple((wave, n) for wave, n in stored["waves"])),
        conditional=Runs(tuple((bool(value), n) for value, n in stored["conditional"])),
        partial=stored.get("partial", False),
    )


def _batches_json(step: PlannedStep) -> dict[str, Any]:
    """One partition a task, by far the most common, is the set itself."""
    if isinstance(step.batches, OneEach):
        return {"single": step.batches.cells.to_json()}
    return {"each": [batch.to_json() for batch in step.batches]}


def _batches_of(stored: dict[str, Any]) -> Sequence[PartitionSet]:
    if "single" in stored:
        return OneEach(PartitionSet.from_json(stored["single"]))
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
