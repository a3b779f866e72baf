"""DuckDB is never inherited over a fork: children of a process that used it open their own (DESIGN section 7)."""

from __future__ import annotations

import gc
import subprocess
import sys

from partita.sdk import Relation, engine

CODE = """
import os
from partita.sdk import Relation
before = Relation.from_rows([{"x": 1}])
assert before.scalar() == 1
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        fine = Relation.from_rows([{"x": 2}]).sql("select x + 1 from self").scalar() == 3
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
assert before.scalar() == 1
"""


def test_children_open_their_own_connection() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=120)


def test_views_of_dropped_relations_go_and_those_in_use_stay() -> None:
    kept = Relation.from_rows([{"x": 1}]).sql("select x + 1 as x from self").sql("select x * 10 from self")
    for _ in range(50):
        Relation.from_rows([{"x": 1}]).sql("from self")
    gc.collect()
    assert kept.scalar() == 20  # its parents are alive although nobody else holds them
    found = (
        engine.connection().execute("select count(*) from duckdb_views() where not internal and temporary").fetchone()
    )
    assert found is not None
    assert found[0] < 40
