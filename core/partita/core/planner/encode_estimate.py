"""Estimates in the stored form of a plan. Part of `encode`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import StepKey
from partita.core.planner.estimate_values import CriticalPart, Estimate, SlotTime, StepTime
from partita.core.store.values import LocationId


def estimate_json(one: Estimate) -> dict[str, Any]:
    """The stored form."""
    return {
        "makespan_s": one.makespan_s,
        "critical_s": one.critical_s,
        "critical": [
            {"assets": list(part.assets), "cells": part.cells.to_json(), "tasks": part.tasks, "s": part.duration_s}
            for part in one.critical
        ],
        "by_slots": [[each.slots, each.makespan_s] for each in one.by_slots],
        "steps": [[time.step.location_id, time.step.id, time.mean_s, time.n] for time in one.steps],
        "slots": one.slots,
        "bound_pool": one.bound_pool,
    }


def estimate_of(stored: Mapping[str, Any] | None) -> Estimate | None:
    """The estimate of a stored form; None for one that an older version wrote, for it decides nothing."""
    if stored is None or "by_slots" not in stored:
        return None
    return Estimate(
        makespan_s=stored["makespan_s"],
        critical_s=stored["critical_s"],
        critical=tuple(
            CriticalPart(
                tuple(AssetKey(key) for key in part["assets"]),
                PartitionSet.from_json(part["cells"]),
                part["tasks"],
                part["s"],
            )
            for part in stored["critical"]
        ),
        by_slots=tuple(SlotTime(slots, makespan_s) for slots, makespan_s in stored["by_slots"]),
        steps=tuple(StepTime(StepKey(LocationId(at), step), mean_s, n) for at, step, mean_s, n in stored["steps"]),
        slots=stored["slots"],
        bound_pool=stored["bound_pool"],
    )
