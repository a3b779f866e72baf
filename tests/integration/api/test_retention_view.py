"""`partita retention`: what is due, what keeps it, what went; how large the tables are (S-231, S-235)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import psycopg

from partita.core.retention import Archive, retain

Partita = Callable[..., tuple[int, str, str]]


def older(world: Any, days: int) -> None:
    with psycopg.connect(world.store.url) as connection:
        by = {"by": timedelta(days=days)}
        connection.execute("UPDATE run SET created_at = created_at - %(by)s, finished_at = finished_at - %(by)s", by)
        connection.execute("UPDATE event SET at = at - %(by)s", by)


def test_what_is_due_and_what_went(world: Any, partita: Partita, tmp_path: Any) -> None:
    world.activate()
    partita("materialize", "raw/flights", "--partition", "2013-01-05", "--yes", "--no-wait")
    older(world, 100)
    _, out, _ = partita("retention")
    assert "kept for 90 days" in out
    assert "Nothing has gone yet." in out
    world.work()
    with psycopg.connect(world.store.url) as connection:
        connection.execute("DELETE FROM event_todo")
        connection.execute("UPDATE run SET state = 'success', finished_at = created_at")
    assert "Due: 1 runs with 1 tasks" in partita("retention")[1]
    archive = Archive(world.store, tmp_path)
    with psycopg.connect(world.store.url) as connection:
        connection.execute("UPDATE event SET at = at - interval '100 days' WHERE at > now() - interval '50 days'")
    for _ in range(50):
        retain(world.store, archive.export, keep_days=90)
    view = json.loads(partita("retention", "--json")[1])
    assert (view["runs"], view["held"]) == (0, "")
    assert [one["state"] for one in view["days"]] == ["done"] * len(view["days"])
    assert sum(one["rows"]["run"] for one in view["days"]) == 1
    assert all(date.fromisoformat(one["day"]) < date.fromisoformat(view["before"]) for one in view["days"])


def test_how_large_the_tables_are(world: Any, partita: Partita) -> None:
    world.activate()
    found = {one["name"]: one for one in json.loads(partita("retention", "--tables", "--json")[1])}
    assert {"run", "task", "attempt", "event", "cell", "cell_page"} <= found.keys()
    assert "attempt_rest" not in found, "a partitioned table is told as one"
    assert all(one["bytes"] >= 0 and not one["bloated"] for one in found.values())
    assert "cell_page" in partita("retention", "--tables")[1]
    metrics = world.services.metrics.text()
    assert 'partita_table_bytes{table="task"}' in metrics
    assert 'partita_table_dead_rows{table="event"}' in metrics
