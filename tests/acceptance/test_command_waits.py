"""A command that waits for its run outlives the database's restart: the run goes on, and so must whoever waits for it (S-012)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from partita.core.embedded import EmbeddedPostgres

from .conftest import Deploy

TOML = """
[[location]]
name = "shop"
root = "."
modules = ["assets"]
"""

ASSETS = """
from partita.sdk import Relation, asset
from partita.sdk.triggers import FileExists


@asset(wait_for=FileExists("{file}").within("1h", poll="0.2s"))
def orders() -> Relation:
    return Relation.from_rows([{{"n": 1}}])
"""

STATES = "SELECT state FROM task"


def test_materialize_waits_over_a_restart_of_postgres(deploy: Deploy, scratch: Path) -> None:
    file = scratch / "orders.csv"
    shop = deploy({"partita.toml": TOML, "assets.py": ASSETS.format(file=file)})
    shop.start("dev")
    shop.wait_serving()
    waiting = shop.start("materialize", "orders", "--yes")
    shop.wait("the task waits for its file", lambda: shop.query(STATES) == [("deferred",)])
    before = EmbeddedPostgres(shop.config.postgres).pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    shop.wait("Postgres is back", lambda: shop.query("SELECT 1") == [(1,)])
    assert EmbeddedPostgres(shop.config.postgres).pid != before
    file.touch()
    assert waiting.wait(240) == 0, shop.tail()
    shop.processes.pop("materialize")
    assert "● success" in shop.tail()
