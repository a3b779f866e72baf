"""Why a task does not run, for people: the one reason that the deciding code stored, with what it is about looked up now.

Owns naming (which cells, who holds the slots, since when a location is down) and the words. Which constraint binds is decided
by the core and is not decided again here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from partita.core.decide.caps import cap_of
from partita.core.store.encode import pool_set_of
from partita.core.store.queries import api_waits as sql
from partita.core.store.queries.api_read import Row, one, rows
from partita.core.store.queries.api_runs import CELL_RANGES_OF_TASKS
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import Reason, RunWait
from partita.ui.api.services.words import plural, wait_text

Side = Literal["limits", "workers", "upstream", "time", "outside", "person"]
_NAMED = 3

# Stuck in scheduled means limits, stuck in queued means workers (S-151): the state says which of the two is asked, except of what
# is not admitted because nobody would take it, or nobody now.
_SIDES: Mapping[str, Side] = {
    "none": "upstream", "scheduled": "limits", "queued": "workers", "up_for_retry": "time", "deferred": "outside",
    "awaiting_input": "person",
}  # fmt: skip
_CAPS = {
    "backfill_cap": "backfill", "run_cap": "run", "asset_cap": "asset", "location_cap": "location", "running_cap": "all",
}  # fmt: skip


def _side(state: str, code: str | None) -> Side:
    return "workers" if code in ("no_worker", "workers_busy") else _SIDES[state]


def why_it_waits(reader: Reader, row: Row) -> Reason | None:
    """Of a task (`id`, `state`, `reason`, `reason_detail`); None when nothing keeps it, or it runs, or has ended."""
    code, evidence = row["reason"], dict(row["reason_detail"] or {})
    if code is None:
        said = _said_beside(reader, row)
        if said is None:
            return None
        code, evidence = said["reason"], {**(said["reason_detail"] or {}), "in_line": True}
    text = wait_text(code, evidence)
    if code == "approval":
        text += f"; answer by `partita approve {row['id']}` or `partita reject {row['id']} --reason TEXT`"
    if code in ("upstream", "blocked_by_past"):
        open_above = rows(reader, sql.OPEN_UPSTREAM, task_id=row["id"], limit=_NAMED)
        evidence["tasks"] = tasks = _with_cells(reader, open_above)
        text += _listed(tasks, _total(open_above))
    elif code in ("pool_full", "lane", *_CAPS) and (pool := _pool(reader, row["id"], code, evidence)) is not None:
        evidence["holders"], held = _holders(reader, pool)
        text += held
    elif code == "no_server" and evidence.get("location"):
        found = one(reader, sql.LAST_SERVED, name=evidence["location"])
        if found is not None and found["until"] is not None:
            until: datetime = found["until"]
            evidence["since"] = until.isoformat()
            text += f" since {until:%Y-%m-%d %H:%M:%S} UTC"
    elif code in ("no_worker", "workers_busy") and evidence.get("queue"):
        waiting = one(reader, sql.WAITING_OF_QUEUE, queue=evidence["queue"])
        if waiting is not None and waiting["oldest"] is not None:
            evidence |= {"waiting": waiting["n"], "oldest": waiting["oldest"].isoformat()}
    return Reason(code=code, text=text, evidence={"side": _side(row["state"], code), **evidence}, upstream=None)


def holders_text(reader: Reader, pool: str) -> str:
    """`; held by ...` with the tasks that hold the slots of a pool; "" when none does."""
    return _holders(reader, pool)[1]


def _holders(reader: Reader, pool: str) -> tuple[list[dict[str, Any]], str]:
    found = rows(reader, sql.HOLDERS_OF_POOL, pool=pool, limit=_NAMED)
    tasks = _with_cells(reader, found)
    return tasks, _listed(tasks, _total(found), "; held by ")


def waits_of_run(reader: Reader, run_id: int) -> list[RunWait]:
    """Its open tasks that do not run, by the reason that binds them, and the cells that another run is making."""
    found = [
        RunWait(
            state=row["state"],
            side=_side(row["state"], row["reason"]),
            code=row["reason"],
            tasks=row["n"],
            text=_wait_of_several(row),
            task=row["first"],
            run=None,
        )
        for row in rows(reader, sql.WAITS_OF_RUN, run_id=run_id)
    ]
    elsewhere = [
        RunWait(
            state="in_progress",
            side="upstream",
            code="in_progress",
            tasks=row["n"],
            text=f"{plural(row['n'], 'cell')} of it {'is' if row['n'] == 1 else 'are'} being made by run {row['run_id']};"
            " planned again when that ends",
            task=None,
            run=row["run_id"],
        )
        for row in rows(reader, sql.IN_PROGRESS_ELSEWHERE, run_id=run_id)
    ]
    return found + elsewhere


_OF_SEVERAL = {
    "upstream": "for tasks above them",
    "blocked_by_past": "for earlier partitions of their own assets",
    "pool_full": "for slots of a pool",
    "lane": "for their lane, which is at its share",
    "backfill_cap": "for their backfill, which is at its limit",
    "run_cap": "for their run, which is at its limit",
    "asset_cap": "for their assets, which are at max_active",
    "location_cap": "for their location, which is at max_running",
    "running_cap": "because max_running tasks are active in all",
    "paused": "because they are paused",
    "no_worker": "for a worker: none of the queue is alive",
    "workers_busy": "for a worker: all places of their queue are taken",
    "no_server": "for a code server: none serves their location",
    "version_gone": "for their version: no server has it any more",
    "retry_at": "to be tried again",
    "waiting_for": "for something outside",
    "approval": "for a person to approve",
}


def _wait_of_several(row: Row) -> str:
    count = plural(row["n"], "task")
    if row["reason"] is None:
        return f"{count} about to be {'claimed' if row['state'] == 'queued' else 'admitted'}"
    verb = "waits" if row["n"] == 1 else "wait"
    return f"{count} {verb} {_OF_SEVERAL.get(row['reason'], row['reason'].replace('_', ' '))}"


def _said_beside(reader: Reader, row: Row) -> Row | None:
    """What is said of the tasks that stand in the same line; only the first of it are looked at one by one."""
    if row["state"] == "scheduled":
        return one(reader, sql.SAID_IN_LINE, task_id=row["id"])
    return one(reader, sql.SAID_OF_VERSION, task_id=row["id"]) if row["state"] == "queued" else None


def _pool(reader: Reader, task_id: int, code: str, evidence: Mapping[str, Any]) -> str | None:
    if "pool" in evidence:
        return str(evidence["pool"])
    kind = _CAPS.get(code)
    found = one(reader, sql.POOL_SET_OF_TASK, task_id=task_id)
    names = [use.name for use in pool_set_of(found["pool_set"])] if found is not None else []
    return next((name for name in names if (cap := cap_of(name)) is not None and cap.kind == kind), None)


def _with_cells(reader: Reader, found: Sequence[Row]) -> list[dict[str, Any]]:
    """Tasks with what they make, for people and programs."""
    cells: dict[int, list[str]] = {}
    for row in rows(reader, CELL_RANGES_OF_TASKS, ids=[task["id"] for task in found]) if found else []:
        span = row["first"] if row["n"] == 1 else f"{row['first']} … {row['last']}"
        cells.setdefault(row["task_id"], []).append(f"{row['asset']} {span}".rstrip())
    return [
        {
            "task": task["id"],
            "run": task["run_id"],
            "state": task["state"],
            "cells": cells.get(task["id"], [task["step"]]),
            **({"since": task["since"].isoformat()} if "since" in task else {}),
        }
        for task in found
    ]


def _total(found: Sequence[Row]) -> int:
    return int(found[0]["total"]) if found else 0


def _listed(tasks: Sequence[Mapping[str, Any]], total: int, lead: str = ": ") -> str:
    if not tasks:
        return ""
    names = [f"{', '.join(task['cells'][:2])} ({task['state'].replace('_', ' ')}, run {task['run']})" for task in tasks]
    more = f" and {total - len(tasks):,} more" if total > len(tasks) else ""
    return f"{lead}{', '.join(names)}{more}"
