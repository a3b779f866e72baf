"""Every statement of the duties finds its rows by an index, however large the tables have grown (law 4, S-030)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from sqlalchemy import TextClause

import partita.core.store.postgres as statements
from partita.core.store.postgres import PostgresStore
from partita.core.store.postgres.store import PostgresTx

_MARK = re.compile(r"(?<![:\w]):(\w+)")

# Small by nature: a row per process, per server, per location, per asset or run that automation cannot decide.
_SMALL = {"worker", "code_server", "location", "automation_fault"}
# Queues, taken from their head with a LIMIT, and the skip scan of pool sets.
_HEADS = {"TAKE_TALLIES", "TAKE_CELL_CHANGES", "SCHEDULED_POOL_SETS"}
# Of activations, which compare all definitions with all that is known of them (ADR 10): a row per asset, and per rename.
_DEFINITIONS = {"READ_ASSETS", "FORMER_KEYS"}


def _statements() -> dict[str, TextClause]:
    modules = [import_module(f"{statements.__name__}.{module.name}") for module in iter_modules(statements.__path__)]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, TextClause)}


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
    whole: dict[str, set[tuple[str, str]]] = {}
    with store.begin() as tx:  # under the settings that duties run with
        for name, statement in _statements().items():
            plan = _explained(tx, str(statement))
            whole[name] = {(node, table) for node, table in _scans(plan) if table not in _SMALL}
    assert len(whole) > 80
    assert {name: found for name, found in whole.items() if found and name not in _HEADS | _DEFINITIONS} == {}
    assert {name for name, found in whole.items() if found} == _HEADS | _DEFINITIONS


def test_every_statement_has_a_time_limit(store: PostgresStore) -> None:
    with store.begin() as tx:
        settings = tx._cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'TimeZone')"
        ).fetchall()
    assert dict(settings) == {"lock_timeout": "5000", "statement_timeout": "30000", "TimeZone": "UTC"}
