"""From rows of runs, tasks and attempts to the contract's models. Pure: rows and a catalog in, models out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from partita.core.catalog import Catalog
from partita.core.decide.traces import trace_of
from partita.core.planner import span_text
from partita.ui.api.models import (
    AssetProgress,
    AttemptSummary,
    CancelPreview,
    CauseView,
    CellTally,
    CheckResult,
    OpenTask,
    Reason,
    RunSummary,
    TaskCellView,
    TaskRow,
)
from partita.ui.api.services.base import earliest
from partita.ui.api.services.words import cause_text, plural, unchanged_text, wait_text

Row = Mapping[str, Any]

ASSETS_SHOWN = 20
TERMINAL = frozenset({"success", "failed", "upstream_failed", "skipped", "removed", "cancelled"})
_ATTEMPT_STATE = {
    "success": "success",
    "skipped": "skipped",
    "cancelled": "cancelled",
    "retry_later": "up_for_retry",
    "version_gone": "removed",
}
# How the outcome of a planned cell shows; what is pending shows the state of its task.
CELL_STATE = {"published": "fresh"}


def attempt_summary(row: Row, *, retry_at: datetime | None = None) -> AttemptSummary:
    outcome = row["outcome"]
    return AttemptSummary(
        id=row["id"],
        number=row["number"],
        state="running" if outcome is None else _ATTEMPT_STATE.get(outcome, "failed"),
        outcome=outcome,
        worker=row["worker_id"],
        queued_at=row["queued_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        error=row["error"],
        retry_at=retry_at,
    )


def cancel_preview(noun: str, id: int, open_states: Iterable[Row], *, below: int = 0) -> CancelPreview:
    """`open_states`: how many open steps are in which state."""
    counts = {row["state"]: row["n"] for row in open_states}
    running = counts.pop("running", 0)
    at_once = sum(counts.values())
    parts = [f"{plural(at_once, 'task')} that {_has(at_once)} not started {_ends(at_once)} at once"] if at_once else []
    parts += [f"{plural(running, 'running task')} {_is(running)} asked to stop"] if running else []
    if below:
        parts.append(
            f"{plural(below, 'task')} below {'hears' if below == 1 else 'hear'} of it by {_their(below)} trigger rule"
        )
    told = "; ".join(parts)
    sentence = f"{told}. What is published stays." if told else f"The {noun} has ended: there is nothing to cancel."
    group = {"run": "runs", "task": "tasks", "backfill": "backfill"}[noun]
    return CancelPreview(
        sentence=sentence, at_once=at_once, running=running, below=below, cli=f"partita {group} cancel {id}"
    )


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _ends(count: int) -> str:
    return "ends" if count == 1 else "end"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def check_result(row: Row) -> CheckResult:
    return CheckResult(
        name=row["name"],
        partition=row["partition"],
        passed=row["passed"],
        blocking=row["blocking"],
        at=row["at"],
        detail=dict(row["detail"]),
    )


def wait_reason(row: Row) -> Reason | None:
    code = row["reason"]
    if code is None:
        return None
    evidence = row["reason_detail"]
    return Reason(code=code, text=wait_text(code, evidence), evidence=evidence, upstream=None)


def open_task(row: Row, reason: Reason | None) -> OpenTask:
    return OpenTask(id=row["id"], run_id=row["run_id"], state=row["state"], reason=reason)


def task_row(row: Row, spans: Sequence[Row], attempts: Sequence[Row], catalog: Catalog, at: datetime) -> TaskRow:
    waiting = row["state"] == "up_for_retry"
    last = attempts[-1]["id"] if attempts else None
    retries = int((row["retry"] or {}).get("max_retries", 0))
    return TaskRow(
        id=row["id"],
        run_id=row["run_id"],
        step=row["step"],
        assets=[span["asset"] for span in spans],
        partitions_text=partitions_text(spans, catalog, at),
        cell_count=row["cell_count"],
        state=row["state"],
        outcome=row["outcome"],
        outcome_text=unchanged_text(attempted=bool(attempts)) if row["outcome"] == "unchanged" else None,
        reason=wait_reason(row),
        wave=row["wave"],
        attempt_number=row["attempt_number"],
        # Losses of infrastructure repeat an attempt without consuming a retry.
        max_attempts=max(retries + 1, row["attempt_number"]),
        ready_at=row["ready_at"],
        queued_at=row["queued_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        not_before=row["not_before"] if waiting else None,
        worker=row["worker_id"],
        error=row["error"],
        attempts=[
            attempt_summary(one, retry_at=row["not_before"] if waiting and one["id"] == last else None)
            for one in attempts
        ],
    )


def task_cell(row: Row) -> TaskCellView:
    return TaskCellView(
        asset=row["asset"],
        partition=row["partition"],
        state=row["state"],
        text=unchanged_text(attempted=row["attempt_id"] is not None) if row["state"] == "unchanged" else None,
        data_version=row["data_version"],
        error=row["error"],
    )


def partitions_text(spans: Sequence[Row], catalog: Catalog, at: datetime) -> str:
    """What a task makes, for people: its spans as one text."""
    spaces = [catalog.space(key, at) if key in catalog.assets else None for key in (one["asset"] for one in spans)]
    texts = dict.fromkeys(
        span_text(space, one["first"], one["last"], one["n"]) for one, space in zip(spans, spaces, strict=True)
    )
    return ", ".join(texts)


def run_summary(row: Row, states: Iterable[Row], cells: Sequence[Row]) -> RunSummary:
    """`states` are the rows of this run of TASK_STATES_OF_RUNS, `cells` those of CELLS_OF_RUNS."""
    states = list(states)
    tally = cell_tally(cells)
    return RunSummary(
        id=row["id"],
        state=row["state"],
        cause=CauseView(
            kind=str(row["cause"].get("kind", "?")), text=cause_text(row["cause"]), by=row["cause"].get("by")
        ),
        backfill_id=row["backfill_id"],
        created_at=row["created_at"],
        started_at=earliest(*(one["started_at"] for one in states)),
        finished_at=row["finished_at"],
        task_count=sum(one["n"] for one in states),
        tags=dict(row["tags"] or {}),
        trace_id=trace_of(row["id"], row["as_of"], row["cause"]),
        tallies={one["state"]: one["n"] for one in states},
        cells=tally,
        asset_keys=list(dict.fromkeys(one["asset"] for one in cells))[:ASSETS_SHOWN],
    )


def cell_tally(cells: Iterable[Row]) -> CellTally:
    by_state: Counter[str] = Counter()
    for one in cells:
        by_state[one["cell_state"]] += one["n"]
    return CellTally(
        published=by_state["published"],
        unchanged=by_state["unchanged"],
        skipped=by_state["skipped"],
        failed=by_state["failed"] + by_state["upstream_failed"],
        total=by_state.total(),
    )


def progress(cells: Iterable[Row]) -> list[AssetProgress]:
    """Per asset how many planned cells show which state."""
    found: dict[str, Counter[str]] = {}
    for one in cells:
        state = str(one["task_state"] if one["cell_state"] == "pending" else one["cell_state"])
        shown = "scheduled" if state == "none" else CELL_STATE.get(state, state)
        found.setdefault(one["asset"], Counter())[shown] += one["n"]
    return [AssetProgress(asset=asset, counts=dict(counts), total=counts.total()) for asset, counts in found.items()]


def partitions_of_request(request: Mapping[str, Any]) -> str:
    if request.get("partitions"):
        return str(request["partitions"])
    lower, upper = request.get("from"), request.get("to")
    return f"{lower or ''}..{upper or ''}" if lower or upper else "all"


def cells_text(tally: CellTally) -> str:
    """`31 of 40 cells published, 4 unchanged, 2 failed`."""
    rest = (("unchanged", tally.unchanged), ("failed", tally.failed), ("skipped", tally.skipped))
    parts = [f"{tally.published:,} of {plural(tally.total, 'cell')} published"]
    parts += [f"{count:,} {name}" for name, count in rest if count]
    return ", ".join(parts)
