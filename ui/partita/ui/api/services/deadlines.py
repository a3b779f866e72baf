"""Deadlines that were missed: the list, and what a late cell says. A miss is a fact for people; nothing acts on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from partita.core.decide.spent import said, spent_on
from partita.core.store.queries import api_deadlines as sql
from partita.core.store.queries.api_read import now, one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values import AssetId, CellRef
from partita.ui.api.models import DeadlineList, DeadlineView, Need, Reason
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import cell_link, cell_text, seconds_text, wait_text

Row = Mapping[str, Any]
LATE = "late"
_TASKS = 8


class DeadlineService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(self, *, only_late: bool = True, offset: int = 0, limit: int = 50) -> DeadlineList:
        """Misses, the newest first; with `only_late` those of partitions that are still not there."""
        with self._backend.store.read() as reader:
            at = now(reader)
            found = rows(reader, sql.MISSED, open=only_late, offset=offset, limit=limit)
            total = one(reader, sql.COUNT_MISSED, open=only_late)
        cells = [CellRef(row["asset_id"], row["partition"]) for row in found]
        with self._backend.store.begin(durable=False) as tx:
            stories = tx.stories(cells, _TASKS) if cells else {}
        spent = [
            spent_on(stories.get(cell, ()), row["set_at"], row["made_at"] or at)
            for cell, row in zip(cells, found, strict=True)
        ]
        views = [_view(row, took, at) for row, took in zip(found, spent, strict=True)]
        return DeadlineList(deadlines=views, total=0 if total is None else total["n"])


def late_needs(reader: Reader, limit: int) -> list[Need]:
    """What is late now, for the list of what needs a person."""
    found = rows(reader, sql.MISSED, open=True, offset=0, limit=limit)
    at = now(reader)
    return [
        Need(
            severity="bad",
            text=f"{cell_text(row['asset'], row['partition'])} {_said(row, at)}",
            link=cell_link(row["asset"], row["partition"]),
        )
        for row in found
    ]


def deadline_of(reader: Reader, asset_id: AssetId, partition: str) -> Row | None:
    """Of the newest request of a cell."""
    return one(reader, sql.OF_CELL, asset_id=asset_id, partition=partition)


def late_reason(row: Row | None, at: datetime) -> Reason | None:
    """None when the cell is not late: it has no deadline, that has not come, or the cell is there."""
    if row is None or row["missed_at"] is None or row["made_at"] is not None or row["withdrawn"]:
        return None
    evidence = {"due_at": row["due_at"].isoformat(), "run": row["run_id"], "task": row["task_id"]}
    return Reason(code=LATE, text=_said(row, at).removeprefix("is late: "), evidence=evidence, upstream=None)


def _view(row: Row, spent: Mapping[str, float], at: datetime) -> DeadlineView:
    names = ("asset", "partition", "due_at", "missed_at", "made_at", "run_id", "task_id", "task_state")
    return DeadlineView(
        text=_said(row, at), spent=dict(spent), consumed=said(spent), **{name: row[name] for name in names}
    )


def _said(row: Row, at: datetime) -> str:
    """`is late: it was due at ..., 2 h ago; its task is queued: waits for a worker`, without a subject."""
    due = f"{row['due_at']:%Y-%m-%d %H:%M:%S} UTC"
    if row["made_at"] is not None:
        after = seconds_text(max((row["made_at"] - row["due_at"]).total_seconds(), 0.0))
        return f"came {after} after it was due ({due})"
    task = f"its task is {row['task_state'].replace('_', ' ')}"
    if row["reason"] is not None:
        task += f": {wait_text(row['reason'], row['reason_detail'])}"
    since = seconds_text(max((at - row["due_at"]).total_seconds(), 0.0))
    return f"is late: it was due at {due}, {since} ago; {task}"
