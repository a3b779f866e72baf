"""Plans as the contract shows them, and the command line that asks for the same. Pure: a plan and its catalog in, text out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import datetime

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import Catalog
from partita.core.planner import (
    CREATED_SLOTS,
    DEFAULT_MODE,
    Plan,
    PlannedAsset,
    PlannedStep,
    PlanRequest,
    Reason,
    StepTime,
    alike_waves,
    blocked_count,
    blocked_hint,
    blocked_text,
    critical_part_text,
    estimate_text,
    partitions_text,
    sentence,
    warnings_of,
)
from partita.ui.api import models

_WORDS = {
    Reason.MISSING: "never materialized",
    Reason.FAILED: "the last attempt failed",
    Reason.STALE_CODE: "the code changed",
    Reason.STALE_DEPENDENCIES: "what it depends on changed",
    Reason.STALE_DATA: "inputs changed",
    Reason.FORCED: "asked for again",
}


def plan_view(plan: Plan, catalog: Catalog, *, plan_id: int, expires_at: datetime, intent: str) -> models.PlanView:
    """`intent` is "run", "backfill" or "retry"; the catalog is the one that the plan was made with."""
    steps: dict[AssetKey, list[PlannedStep]] = {}
    for step in plan.steps:
        for key in step.assets:
            steps.setdefault(key, []).append(step)
    times = {} if plan.estimate is None else {one.step: one for one in plan.estimate.steps}
    return models.PlanView(
        id=plan_id,
        hash=plan.hash,
        as_of=plan.as_of,
        expires_at=expires_at,
        sentence=sentence(plan),
        cell_count=plan.cell_count,
        task_count=plan.task_count,
        asset_count=len(plan.assets),
        by_reason={reason.value: count for reason, count in plan.counts().items()},
        assets=[
            _asset(plan, catalog, one, steps[one.key], times.get(steps[one.key][0].step))
            for one in plan.assets
            if one.key in steps
        ],
        waves=_waves(plan),
        estimate=_estimate(plan, catalog),
        pools=[
            models.PoolPressure(
                name=one.name,
                slots=CREATED_SLOTS if one.slots is None else one.slots,
                held=one.held,
                wanted=one.wanted,
            )
            for one in plan.pools
        ],
        blocked=_all_blocked(plan, catalog),
        blocked_count=blocked_count(plan),
        warnings=[
            models.PlanWarning(
                resource=one.resource,
                queue=one.queue,
                assets=list(one.assets),
                tasks=one.tasks,
                text=one.text,
                fix=one.fix,
            )
            for one in warnings_of(plan, catalog)
        ],
        joined=plan.joined,
        params=dict(plan.request.params),
        cli=command_line(plan.request, intent=intent),
        nothing_to_do=plan.empty,
    )


def _asset(
    plan: Plan, catalog: Catalog, one: PlannedAsset, steps: Sequence[PlannedStep], time: StepTime | None
) -> models.PlanAsset:
    return models.PlanAsset(
        key=one.key,
        cells=len(one.cells),
        partitions=_partitions(plan, catalog, one.key, one.cells),
        by_reason={
            reason.value: models.ReasonCount(count=len(cells), text=_reason_text(plan, one, reason))
            for reason, cells in one.by_reason.items()
            if cells
        },
        tasks=sum(len(step.batches) for step in steps),
        wave=min(step.first_wave for step in steps),
        mean_s=None if time is None else time.mean_s,
        samples=0 if time is None else time.n,
    )


def _partitions(plan: Plan, catalog: Catalog, key: AssetKey, cells: PartitionSet) -> str:
    """ "" for an asset that was retired since the plan was made: the plan can still be looked at."""
    return partitions_text(catalog.space(key, plan.as_of), cells) if key in catalog.assets else ""


def command_line(request: PlanRequest, *, intent: str) -> str:
    """The command that asks for the same; quoted for a shell."""
    if request.retry_of is not None:
        return f"partita backfill retry {request.retry_of}"
    words = ["partita", "backfill", "create"] if intent == "backfill" else ["partita", "materialize"]
    words.append(request.selection)
    for option, value in (
        ("--partitions", request.partitions),
        ("--from", request.from_key),
        ("--to", request.to_key),
    ):
        words += [option, value] if value else []
    if set(request.mode) != set(DEFAULT_MODE):
        words += ["--mode", ",".join(request.mode)]
    words += ["--upstream"] if request.upstream else []
    words += ["--downstream"] if request.downstream else []
    for name, value in request.params.items():
        words += ["--param", f"{name}={_param(value)}"]
    return shlex.join(words)


def _param(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _reason_text(plan: Plan, asset: PlannedAsset, reason: Reason) -> str:
    moved = plan.because.get(asset.key)
    if reason is not Reason.STALE_DATA or moved is None:
        return _WORDS[reason]
    planned = any(one.key == moved for one in plan.assets)
    return f"{moved} may change" if planned else f"{moved} changed"


def _waves(plan: Plan) -> list[models.PlanWave]:
    return [
        models.PlanWave(
            index=one.first,
            count=one.count,
            tasks=one.tasks,
            cells=one.cell_count,
            assets=[str(key) for key in one.cells],
        )
        for one in alike_waves(plan)
    ]


def _estimate(plan: Plan, catalog: Catalog) -> models.Estimate | None:
    if plan.estimate is None:
        return None
    one = plan.estimate
    return models.Estimate(
        text=estimate_text(one),
        makespan_s=one.makespan_s,
        slots=one.slots,
        by_slots=[models.SlotTime(slots=each.slots, makespan_s=each.makespan_s) for each in one.by_slots],
        critical_s=one.critical_s,
        critical=[
            models.CriticalPart(
                assets=[str(key) for key in part.assets],
                text=critical_part_text(part, catalog, plan.as_of),
                tasks=part.tasks,
                duration_s=part.duration_s,
            )
            for part in one.critical
        ],
        critical_path=[str(key) for key in one.critical_path],
        bound_pool=one.bound_pool,
        basis=one.basis,
        sample_size=one.sample_size,
    )


def _all_blocked(plan: Plan, catalog: Catalog) -> list[models.Blocked]:
    """What is blocked, and why; what would help is said once, with the first that it helps."""
    found, hint = [], blocked_hint(plan)
    for one in plan.blocked:
        text = blocked_text(one)
        if hint and one.reason == "upstream_missing" and one.upstream != one.key:
            text, hint = f"{text} ({hint})", ""
        found.append(
            models.Blocked(
                key=one.key,
                count=len(one.cells),
                partitions=_partitions(plan, catalog, one.key, one.cells),
                text=text,
                reason=one.reason,
            )
        )
    return found
