"""The planner: what should exist against what does, as an immutable Plan with many interpreters."""

from partita.core.planner.diff import plan_difference
from partita.core.planner.encode import decode_plan, encode_plan
from partita.core.planner.estimate import Durations, Work, critical_path, estimate, makespan
from partita.core.planner.launch import to_launch
from partita.core.planner.partition_words import key_text, partitions_text, range_text, span_text
from partita.core.planner.plan import PlanChanged, PlanReader, PoolLoad, plan, replan
from partita.core.planner.render import (
    blocked_count,
    blocked_hint,
    blocked_summary,
    blocked_text,
    render_text,
    sentence,
)
from partita.core.planner.tasks import PlanTask, plan_tasks
from partita.core.planner.values import (
    DEFAULT_MODE,
    MODES,
    Blocked,
    Estimate,
    Plan,
    PlannedAsset,
    PlannedStep,
    PlanRequest,
    Pressure,
    Reason,
)

__all__ = [
    "DEFAULT_MODE",
    "MODES",
    "Blocked",
    "Durations",
    "Estimate",
    "Plan",
    "PlanChanged",
    "PlanReader",
    "PlanRequest",
    "PlanTask",
    "PlannedAsset",
    "PlannedStep",
    "PoolLoad",
    "Pressure",
    "Reason",
    "Work",
    "blocked_count",
    "blocked_hint",
    "blocked_summary",
    "blocked_text",
    "critical_path",
    "decode_plan",
    "encode_plan",
    "estimate",
    "key_text",
    "makespan",
    "partitions_text",
    "plan",
    "plan_difference",
    "plan_tasks",
    "range_text",
    "render_text",
    "replan",
    "sentence",
    "span_text",
    "to_launch",
]
