"""The planner: what should exist against what does, as an immutable Plan with many interpreters."""

from typing import TYPE_CHECKING

from partita.core.faces import on_demand
from partita.core.planner.estimate import Durations, estimate
from partita.core.planner.plan import PlanChanged, PlanReader, PoolLoad, plan, replan

if TYPE_CHECKING:
    from partita.core.planner.diff import AssetDiff, CellsOf, Changed, PlanDiff, ReasonChange, compare
    from partita.core.planner.diff_keys import keys_difference
    from partita.core.planner.encode import decode_plan, encode_plan
    from partita.core.planner.estimate_values import CriticalPart, Estimate, SlotTime, StepTime
    from partita.core.planner.launch import to_launch
    from partita.core.planner.partition_words import key_text, partitions_text, range_text, span_text
    from partita.core.planner.pools import CREATED_SLOTS
    from partita.core.planner.render import render_text
    from partita.core.planner.simulate import Work, critical_path, makespan
    from partita.core.planner.tasks import PlanTask, plan_tasks
    from partita.core.planner.values import (
        DEFAULT_MODE,
        MODES,
        Blocked,
        Plan,
        PlannedAsset,
        PlannedStep,
        PlanRequest,
        Pressure,
        Reason,
    )
    from partita.core.planner.warnings import PlanWarning, warnings_of
    from partita.core.planner.waves import Waves, alike_waves
    from partita.core.planner.words import (
        blocked_count,
        blocked_hint,
        blocked_summary,
        blocked_text,
        critical_part_text,
        duration_text,
        estimate_text,
        sentence,
    )
else:
    __getattr__ = on_demand(
        __name__,
        {
            "partita.core.planner.diff": "AssetDiff CellsOf Changed PlanDiff ReasonChange compare",
            "partita.core.planner.diff_keys": "keys_difference",
            "partita.core.planner.encode": "decode_plan encode_plan",
            "partita.core.planner.estimate_values": "CriticalPart Estimate SlotTime StepTime",
            "partita.core.planner.launch": "to_launch",
            "partita.core.planner.partition_words": "key_text partitions_text range_text span_text",
            "partita.core.planner.pools": "CREATED_SLOTS",
            "partita.core.planner.render": "render_text",
            "partita.core.planner.simulate": "Work critical_path makespan",
            "partita.core.planner.tasks": "PlanTask plan_tasks",
            "partita.core.planner.values": (
                "DEFAULT_MODE MODES Blocked Plan PlannedAsset PlannedStep PlanRequest Pressure Reason"
            ),
            "partita.core.planner.warnings": "PlanWarning warnings_of",
            "partita.core.planner.waves": "Waves alike_waves",
            "partita.core.planner.words": (
                "blocked_count blocked_hint blocked_summary blocked_text critical_part_text duration_text "
                "estimate_text sentence"
            ),
        },
    )

__all__ = [
    "CREATED_SLOTS",
    "DEFAULT_MODE",
    "MODES",
    "AssetDiff",
    "Blocked",
    "CellsOf",
    "Changed",
    "CriticalPart",
    "Durations",
    "Estimate",
    "Plan",
    "PlanChanged",
    "PlanDiff",
    "PlanReader",
    "PlanRequest",
    "PlanTask",
    "PlanWarning",
    "PlannedAsset",
    "PlannedStep",
    "PoolLoad",
    "Pressure",
    "Reason",
    "ReasonChange",
    "SlotTime",
    "StepTime",
    "Waves",
    "Work",
    "alike_waves",
    "blocked_count",
    "blocked_hint",
    "blocked_summary",
    "blocked_text",
    "compare",
    "critical_part_text",
    "critical_path",
    "decode_plan",
    "duration_text",
    "encode_plan",
    "estimate",
    "estimate_text",
    "key_text",
    "keys_difference",
    "makespan",
    "partitions_text",
    "plan",
    "plan_tasks",
    "range_text",
    "render_text",
    "replan",
    "sentence",
    "span_text",
    "to_launch",
    "warnings_of",
]
