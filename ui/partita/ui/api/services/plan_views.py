"""Plans as the contract shows them, and the command line that asks for the same. Pure: a plan and its catalog in, text out."""

from __future__ import annotations

import json
import shlex
from datetime import datetime

from partita.core.catalog import Catalog
from partita.core.planner import (
    DEFAULT_MODE,
    Blocked,
    Plan,
    PlannedAsset,
    PlanRequest,
    Reason,
    blocked_hint,
    blocked_text,
    partitions_text,
    sentence,
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
_CREATED_SLOTS = 1  # of a pool that a plan names and nobody has made: launching makes it


def plan_view(plan: Plan, catalog: Catalog, *, plan_id: int, expires_at: datetime, intent: str) -> models.PlanView:
    """`intent` is "run" or "backfill"; the catalog is the one that the plan was made with."""
    steps = {key: step for step in plan.steps for key in step.assets}
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
            models.PlanAsset(
                key=one.key,
                cells=len(one.cells),
                by_reason={
                    reason.value: models.ReasonCount(count=len(cells), text=_reason_text(plan, one, reason))
                    for reason, cells in one.by_reason.items()
                    if cells
                },
                tasks=len(steps[one.key].batches),
                wave=min(steps[one.key].waves),
            )
            for one in plan.assets
            if one.key in steps
        ],
        waves=_waves(plan),
        estimate=_estimate(plan),
        pools=[
            models.PoolPressure(
                name=one.name,
                slots=_CREATED_SLOTS if one.slots is None else one.slots,
                held=one.held,
                wanted=one.wanted,
            )
            for one in plan.pools
        ],
        blocked=_all_blocked(plan, catalog),
        joined=plan.joined,
        cli=command_line(plan.request, intent=intent),
        nothing_to_do=plan.empty,
    )


def command_line(request: PlanRequest, *, intent: str) -> str:
    """The command that asks for the same; quoted for a shell."""
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
    tasks = [0] * plan.wave_count()
    for step in plan.steps:
        for wave in step.waves:
            tasks[wave] += 1
    return [
        models.PlanWave(
            index=index,
            tasks=tasks[index],
            cells=sum(len(cells) for cells in wave.values()),
            assets=[str(key) for key in wave],
        )
        for index, wave in enumerate(plan.cells_by_wave())
    ]


def _estimate(plan: Plan) -> models.Estimate | None:
    if plan.estimate is None:
        return None
    return models.Estimate(
        makespan_s=plan.estimate.makespan_s,
        critical_path=[str(key) for key in plan.estimate.critical_path],
        basis=plan.estimate.basis,
        sample_size=plan.estimate.sample_size,
    )


def _all_blocked(plan: Plan, catalog: Catalog) -> list[models.Blocked]:
    """What is blocked, and why; what would help is said once, with the first that it helps."""
    found, hint = [], blocked_hint(plan)
    for one in plan.blocked:
        text = _blocked(plan, catalog, one)
        if hint and one.reason == "upstream_missing" and one.upstream != one.key:
            text, hint = f"{text} ({hint})", ""
        found.append(models.Blocked(key=one.key, count=len(one.cells), text=text, reason=one.reason))
    return found


def _blocked(plan: Plan, catalog: Catalog, one: Blocked) -> str:
    # An asset may have been retired since the plan was made; the plan can still be looked at.
    keys = partitions_text(catalog.space(one.key, plan.as_of), one.cells) if one.key in catalog.assets else ""
    return f"{keys}: {blocked_text(one)}" if keys else blocked_text(one)
