"""Every statement of the duties finds its rows by an index, however large the tables have grown (law 4, S-030) (S-120)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import partita.core.store.postgres as statements
from partita.core.store.narrow import may_be_one, narrowed
from partita.core.store.postgres import PostgresStore
from partita.core.store.postgres.tx import PostgresTx
from partita.core.store.sql import Statement

_MARK = re.compile(r"(?<![:\w]):(\w+)")

# Small by nature: a row per process, server, location, lane, pause and job, and per asset or run that automation cannot
# decide.
_SMALL = {"worker", "triggerer", "code_server", "location", "lane", "pause", "job", "automation_fault"}
# Queues, taken from their head with a LIMIT, and the skip scan of pool sets.
_HEADS = {"TAKE_TALLIES", "TAKE_CELL_CHANGES", "TAKE_SIGNALS", "SCHEDULED_NEEDS", "LOCK_CANCELLING", "TAKE_FAN_OUT"}
# The first and the last of an index that is in order: the oldest history, the run that has been open for longest, the last days.
_HEADS |= {"OLDEST_HISTORY", "OPEN_RUN", "ARCHIVE_DAYS", "DELETE_EVENTS", "DOOMED_FILES"}
# All of what is open, which an index holds and nothing else: what a person pauses; runs that wait for a version that is gone;
# open waits for cells; steps that have waited for long; events that wait for a consumer; open runs that see dynamic keys; what
# runs, when somebody collects; alerts that have not ended, notices that were not sent; what an evaluator asked for.
_OPEN = {"LOCK_OPEN_TASKS", "STRANDED_RUNS", "LOCK_MET", "MET_CELLS", "WAITING_STEPS", "WAITING_EVENT", "FORGET_KEYS"}
_OPEN |= {
    "TAKE_DOOMED",
    "LOCK_OVER_ALERTS",
    "WRITE_ALERTS",
    "END_SNOOZES",
    "LOCK_FORMING",
    "END_NOTICES",
    "ACTIVE_OF_EVALUATOR",
    "FORGET_GONE_VERSIONS",
}
# Of activations, which compare all definitions with all that is known of them (ADR 10): a row per asset, and per rename. Of
# retention, which asks now and then what sensors and callbacks have not been told of: a row per function.
_DEFINITIONS = {"READ_ASSETS", "FORMER_KEYS", "UNREAD"}


def _statements() -> dict[str, Statement]:
    modules = [import_module(f"{statements.__name__}.{module.name}") for module in iter_modules(statements.__path__)]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, Statement)}


def _scans(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(node, table) of each node that reads a table without a condition on an index."""
    table = plan.get("Relation Name")
    by_index = "Index Cond" in plan or "Recheck Cond" in plan
    if table is not None and plan["Node Type"] != "ModifyTable" and not by_index:
        yield plan["Node Type"], table
    for below in plan.get("Plans", ()):
        yield from _scans(below)


def _explained(tx: PostgresTx, source: str) -> dict[str, Any]:
    marks = list(dict.fromkeys(_MARK.findall(source)))
    numbered = _MARK.sub(lambda mark: f"${marks.index(mark.group(1)) + 1}", source)
    (row,) = tx._cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered}".encode()).fetchall()
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def test_statements_go_by_indexes(store: PostgresStore) -> None:
    """S-230."""
    whole: dict[str, set[tuple[str, str]]] = {}
    with store.begin() as tx:  # under the settings that duties run with
        for name, statement in _statements().items():
            plan = _explained(tx, str(statement))
            whole[name] = {(node, table) for node, table in _scans(plan) if table not in _SMALL}
    assert len(whole) > 80
    assert {name: found for name, found in whole.items() if found and name not in _HEADS | _OPEN | _DEFINITIONS} == {}
    assert {name for name, found in whole.items() if found} == _HEADS | _OPEN | _DEFINITIONS


def test_forms_of_statements_go_by_indexes(store: PostgresStore) -> None:
    """Also where all rows agree in everything that is written (`narrow.py`)."""
    found: dict[str, list[tuple[str, str]]] = {}
    with store.begin() as tx:
        for name, statement in _statements().items():
            if name in ("WRITE_TASKS", "WRITE_TASK_CELLS", "END_ATTEMPTS"):
                form = narrowed(statement, frozenset(may_be_one(statement)))
                found[name] = list(_scans(_explained(tx, str(form))))
    assert found == {"WRITE_TASKS": [], "WRITE_TASK_CELLS": [], "END_ATTEMPTS": []}


def test_every_statement_has_a_time_limit(store: PostgresStore) -> None:
    with store.begin() as tx:
        settings = tx._cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'TimeZone')"
        ).fetchall()
    assert dict(settings) == {"lock_timeout": "5000", "statement_timeout": "30000", "TimeZone": "UTC"}
