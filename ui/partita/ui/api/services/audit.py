"""The audit: who did what to what, when and why; in words, and what takes it back.

Owns the sentences. What is recorded is written by the duties, in the transaction that does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from partita.core.store.queries.api_read import Row, rows
from partita.core.store.queries.audit_read import AUDIT
from partita.ui.api.models.audit import AuditEntry, AuditPage
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import plural, seconds_text

_NAMED = 5


class AuditService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(
        self, *, who: str | None = None, action: str | None = None, before: int | None = None, limit: int = 50
    ) -> AuditPage:
        """The newest entries, all or those of one person or action."""
        with self._backend.store.history() as reader:
            found = rows(reader, AUDIT, who=who, action=action, before=before, limit=limit)
        entries = [_entry(row) for row in found]
        return AuditPage(entries=entries, before=entries[-1].id if len(entries) == limit else None)


def _entry(row: Row) -> AuditEntry:
    detail = dict(row["detail"])
    undone = row["undone_at"] is not None
    return AuditEntry(
        id=row["id"],
        at=row["at"],
        who=row["who"],
        action=row["action"],
        text=told(row["action"], detail),
        reason=row["reason"],
        detail=detail,
        undo=None if undone else undo_command(row["action"], row["id"], detail),
        undone_at=row["undone_at"],
        undone_by=row["undone_by"],
    )


def undo_command(action: str, audit_id: int, detail: Mapping[str, Any]) -> str | None:
    """The command that takes an entry back; None when none does."""
    if action == "accept":
        return f"partita accept --undo {detail.get('acceptance')}"
    if action in ("mark", "wipe"):
        return f"partita undo {audit_id}"
    if action in ("alert_ack", "alert_snooze"):
        return f"partita alerts reopen {' '.join(str(one) for one in detail['alerts'])}"
    if action == "pause":
        return f"partita resume {'--all' if detail['selection'] == 'everything' else repr(detail['selection'])}"
    return None


def told(action: str, detail: Mapping[str, Any]) -> str:
    """One entry in words.

    >>> told("cancel_run", {"run": 7, "tasks": 12})
    'cancelled run 7: 12 open tasks'
    """
    known = _TOLD.get(action)
    return known(detail) if known is not None else _plain(action, detail)


def _plain(action: str, detail: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} {value}" for name, value in detail.items() if isinstance(value, str | int | float))
    return f"{action.replace('_', ' ')}" + (f": {values}" if values else "")


def _identities(detail: Mapping[str, Any]) -> str:
    """The assets of a change of identity, with what they became where that is another key or location."""
    assets = detail["assets"]
    named = [f"{one['was']} to {one['became']}" if one["became"] else one["was"] for one in assets[:_NAMED]]
    return ", ".join(named) + (f" and {len(assets) - _NAMED} more" if len(assets) > _NAMED else "")


def _cells(detail: Mapping[str, Any]) -> str:
    return plural(int(detail.get("cells", 0)), "cell")


def _of(detail: Mapping[str, Any]) -> str:
    """The selection and partitions that were asked for."""
    asked = detail.get("request", detail)
    span = asked.get("partitions") or "..".join(filter(None, (asked.get("from_key"), asked.get("to_key"))))
    return f" of {asked['selection']} {span}".rstrip() if asked.get("selection") else ""


def _launched(detail: Mapping[str, Any]) -> str:
    again = " to make again" if detail.get("mode") == ["all"] else ""
    return f"launched run {detail['run']}" + (f"{again}: {_cells(detail)}{_of(detail)}" if "cells" in detail else "")


def _cancelled_run(detail: Mapping[str, Any]) -> str:
    open_tasks = f": {plural(int(detail['tasks']), 'open task')}" if "tasks" in detail else ""
    return f"cancelled run {detail['run']}{open_tasks}"


def _cancelled_tasks(detail: Mapping[str, Any]) -> str:
    tasks, runs = detail["tasks"], detail["runs"]
    named = f"task {tasks[0]}" if len(tasks) == 1 else plural(len(tasks), "task")
    return f"cancelled {named} of run {', '.join(str(one) for one in runs)}"


def _set_backfill(detail: Mapping[str, Any]) -> str:
    named = {"max_active": detail["max_active"], "priority": detail["priority"]}
    moved = [f"{name} {_limit(was)} to {_limit(now)}" for name, (was, now) in named.items() if was != now]
    return f"changed backfill {detail['backfill']}: {', '.join(moved)}"


def _limited_run(detail: Mapping[str, Any]) -> str:
    was, now = detail["max_active"]
    return f"changed run {detail['run']}: max_active {_limit(was)} to {_limit(now)}"


def _limit(value: int | None) -> str:
    return "no limit" if value is None else str(value)


_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "launch": _launched,
    "cancel_run": _cancelled_run,
    "cancel_task": _cancelled_tasks,
    "approve_task": lambda detail: (
        f"approved task {detail['task']} of run {detail['run']}: {'; '.join(detail['asked'])}"
    ),
    "reject_task": lambda detail: (
        f"rejected task {detail['task']} of run {detail['run']}: {'; '.join(detail['asked'])}"
    ),
    "mark": lambda detail: f"marked {_cells(detail)}{_of(detail)} as {detail['state']}",
    "wipe": lambda detail: f"wiped {_cells(detail)}{_of(detail)}" + (" with their data" if detail.get("data") else ""),
    "collect": lambda detail: f"collected {plural(int(detail['files']), 'file')}",
    "undo": lambda detail: f"took entry {detail['entry']} back: {_cells(detail)}",
    "pause": lambda detail: f"paused {detail['selection']}: {plural(int(detail['waiting']), 'task')} waiting",
    "resume": lambda detail: f"resumed {detail['selection']}: {plural(int(detail['waiting']), 'task')} may start",
    "pause_backfill": lambda detail: f"paused backfill {detail['backfill']}",
    "resume_backfill": lambda detail: f"let backfill {detail['backfill']} go on",
    "set_backfill": _set_backfill,
    "limit_run": _limited_run,
    "accept": lambda detail: f"accepted {_cells(detail)}{_of(detail)} as they are",
    "accept_undo": lambda detail: f"took acceptance {detail['acceptance']} back: {_cells(detail)}",
    "alert_ack": lambda detail: f"acknowledged {plural(len(detail['alerts']), 'alert')}",
    "alert_snooze": lambda detail: (
        f"snoozed {plural(len(detail['alerts']), 'alert')} for {seconds_text(detail['for_s'])}"
    ),
    "alert_reopen": lambda detail: f"reopened {plural(len(detail['alerts']), 'alert')}",
    "alert_test": lambda detail: f"sent a test message of alert {detail['rule']}",
    "maintenance": lambda detail: f"held messages about {detail['selection']} back for {seconds_text(detail['for_s'])}",
    "maintenance_end": lambda detail: (
        f"ended maintenance {detail['maintenance']}" + (f" of {detail['selection']}" if "selection" in detail else "")
    ),
    "request_approve": lambda detail: f"approved request {detail['request']}: {_cells(detail)}, run {detail['run']}",
    "request_reject": lambda detail: f"rejected request {detail['request']}: {_cells(detail)}",
    "evaluator_evaluate": lambda detail: f"had {detail['kind']} {detail['name']} evaluated",
    "evaluator_cursor": lambda detail: f"set the cursor of {detail['kind']} {detail['name']}",
    "evaluator_pause": lambda detail: f"paused {detail['kind']} {detail['name']}",
    "evaluator_resume": lambda detail: f"resumed {detail['kind']} {detail['name']}",
    "job_add": lambda detail: f"{'changed' if detail['replaced'] else 'kept'} job {detail['job']}{_of(detail)}",
    "job_remove": lambda detail: f"removed job {detail['job']}",
    "job_pause": lambda detail: f"paused job {detail['job']}",
    "job_resume": lambda detail: f"resumed job {detail['job']}: {plural(int(detail['missed']), 'tick')} had passed",
    "asset_rename": lambda detail: f"renamed {_identities(detail)}",
    "asset_move": lambda detail: f"moved {_identities(detail)}",
    "asset_retire": lambda detail: f"retired {_identities(detail)}",
    "asset_delete": lambda detail: f"deleted {_identities(detail)} for good",
    "lane": lambda detail: (
        f"gave lane {detail['lane']} weight {detail['weight']} and {detail['reserved']:.0%} of each pool"
    ),
    "pool": lambda detail: f"gave pool {detail['pool']} {plural(int(detail['slots']), 'slot')}",
}
