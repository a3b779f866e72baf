"""From rows of backfills to the contract's models. Pure: rows in, models out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.core.store.values import Backfill, PausedBy, RunState
from partita.ui.api.models import BackfillMatrix, BackfillView, CancelPreview, MatrixRow
from partita.ui.api.services.run_views import CELL_STATE, partitions_of_request, progress
from partita.ui.api.services.words import plural

Row = Mapping[str, Any]

_UNMADE = frozenset({"failed", "upstream_failed", "cancelled", "removed"})
_ENOUGH_TASKS = 3  # to tell a rate by


def backfill_of(row: Row) -> Backfill:
    """The row as the deciders see it."""
    paused = None if row["paused_by"] is None else PausedBy(row["paused_by"], row["paused_at"])
    return Backfill(
        row["id"], row["name"], RunState(row["state"]), row["max_active"], row["priority"], row["newest_first"],
        row["pausable"], paused,
    )  # fmt: skip


def backfill_view(row: Row, cells: Sequence[Row], rate: Row | None) -> BackfillView:
    """`cells` are the rows of CELLS_OF_BACKFILL, `rate` is that of RATE_OF_RUNS."""
    request: Mapping[str, Any] = row["request"]
    pending = sum(one["n"] for one in cells if one["cell_state"] == "pending")
    goes_on = row["state"] == "running" and row["paused_by"] is None
    cells_per_s = _cells_per_s(rate) if goes_on else None
    return BackfillView(
        id=row["id"],
        name=row["name"],
        run_id=row["run_ids"][-1] if row["run_ids"] else None,
        run_ids=row["run_ids"],
        state=row["state"],
        selection=str(request.get("selection", "")),
        partitions_text=partitions_of_request(request),
        created_by=row["created_by"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        max_active=row["max_active"],
        priority=row["priority"],
        order="newest" if row["newest_first"] else "oldest",
        pausable=row["pausable"],
        paused_by=row["paused_by"] if row["state"] == "running" and not row["cancelling"] else None,
        paused_at=row["paused_at"] if row["state"] == "running" and not row["cancelling"] else None,
        cancelling=row["cancelling"],
        cells=sum(one["n"] for one in cells),
        pending=pending,
        unmade=sum(one["n"] for one in cells if one["cell_state"] in _UNMADE),
        cells_per_s=cells_per_s,
        progress=progress(cells),
        eta_s=pending / cells_per_s if cells_per_s and pending else None,
    )


def pause_preview(row: Row, open_states: Sequence[Row]) -> CancelPreview:
    """`open_states`: how many open steps are in which state."""
    counts = {one["state"]: int(one["n"]) for one in open_states}
    running, queued = counts.pop("running", 0), counts.pop("queued", 0)
    waiting = queued + sum(counts.values())
    parts = [f"{plural(running, 'running task')} {'goes' if running == 1 else 'go'} on to the end"] if running else []
    parts += (
        [f"{plural(queued, 'queued task')} {'gives its' if queued == 1 else 'give their'} slots back"] if queued else []
    )
    parts += (
        [f"{plural(waiting, 'task')} {'waits' if waiting == 1 else 'wait'} until somebody resumes it"]
        if waiting
        else []
    )
    sentence = f"{'; '.join(parts)}." if parts else "The backfill has ended: there is nothing to pause."
    cli = f"partita backfill pause {row['id']}"
    return CancelPreview(sentence=sentence, at_once=waiting, running=running, below=0, cli=cli)


def _cells_per_s(rate: Row | None) -> float | None:
    if rate is None or rate["tasks"] < _ENOUGH_TASKS or not rate["seconds"]:
        return None
    return float(rate["cells"]) / float(rate["seconds"])


def matrix(partitions: Sequence[str], cells: Sequence[Row], *, total: int, offset: int) -> BackfillMatrix:
    """A page of partitions by assets; `cells` are the rows of CELLS_OF_PARTITIONS, by asset."""
    place = {partition: at for at, partition in enumerate(partitions)}
    rows: dict[str, MatrixRow] = {}
    for cell in cells:
        blank = MatrixRow(asset=cell["asset"], states=[None] * len(place), tasks=[None] * len(place))
        row = rows.setdefault(cell["asset"], blank)
        at, shown = place[cell["partition"]], str(cell["shown"])
        row.states[at] = "scheduled" if shown == "none" else CELL_STATE.get(shown, shown)
        row.tasks[at] = cell["task_id"]
    return BackfillMatrix(total=total, offset=offset, partitions=list(partitions), rows=list(rows.values()))
