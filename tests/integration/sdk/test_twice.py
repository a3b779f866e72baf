"""`partita test --twice`: what does not come out the same when it is made again is found and named (S-161, S-243)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SHOP = '''
import time
from itertools import count
from pathlib import Path
from partita.sdk import Context, Daily, Output, Relation, asset, defaults

defaults(owner="team:shop")
days = Daily("2026-03-01", end="2026-03-05")
seen: list[dict[str, object]] = []
number = count()
HERE = Path(__file__).parent


@asset(partitions=days)
def orders(context: Context) -> Relation:
    """Comes out the same."""
    return Relation.from_rows([{"day": context.partition.key, "amount": n} for n in range(3)])


@asset(partitions=days)
def appended(orders: Relation) -> Relation:
    """Keeps what it made before."""
    seen.extend(orders.dicts())
    return Relation.from_rows(seen)


@asset(partitions=days)
def stamped(orders: Relation) -> Relation:
    """Carries when it was made."""
    return orders.sql(f"select *, {time.time_ns()} as made_at from self")


@asset
def shaped() -> Relation:
    """Has another column each time."""
    return Relation.from_rows([{f"column_{next(number)}": 1}])


@asset(io=None)
def inserted() -> Output[None]:
    """Appends to a store of its own."""
    with (HERE / "table.txt").open("a") as file:
        file.write("row\\n")
    return Output(None, metadata={"rows": len((HERE / "table.txt").read_text().split())})


@asset
def breaks() -> Relation:
    raise ValueError("no such table")
'''
CONFIG = '[[location]]\nname = "shop"\nmodules = ["shop"]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "partita.toml").write_text(CONFIG)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def twice(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    hidden = {"PARTITA_DATABASE_URL", "PARTITA_HOME", "PARTITA_PROJECT", "PARTITA_LAKE"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [sys.executable, "-m", "partita.ui.cli", "test", *arguments],
        cwd=project, env={**env, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def what(told: Any) -> dict[str, str]:
    return {one["asset"]: one["what"] for one in told["cells"]}


def test_what_differs_is_named_by_its_pattern(project: Path) -> None:
    done = twice(project, "orders,appended,stamped,shaped", "--twice", "--partition", "2026-03-02", "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    found = what(told)
    assert found["orders"] == ""
    assert found["appended"].startswith("all rows of the first and 3 more: it appends instead of replacing")
    assert found["stamped"].startswith("only column made_at differs (")
    assert found["shaped"] == "its columns were column_0 BIGINT, then column_1 BIGINT"
    assert not told["same"]
    assert next(one["rows"] for one in told["cells"] if one["asset"] == "appended") == [3, 6]


def test_what_comes_out_the_same_passes(project: Path) -> None:
    done = twice(project, "orders", "--twice", "--partitions", "2026-03-01..2026-03-02")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "orders: the same twice (2026-03-01, 2026-03-02)\nAll came out the same.\n"
    assert not list(project.glob("*lake*"))


def test_a_store_of_its_own_is_written_only_when_that_is_said(project: Path) -> None:
    refused = twice(project, "inserted", "--twice")
    assert refused.returncode == 2
    assert "stores its own data (io=None)" in refused.stderr
    assert not (project / "table.txt").exists()
    done = twice(project, "inserted", "--twice", "--own-stores")
    assert done.returncode == 1
    assert "inserted: rows 1, then 2 (1 rows, then 2 rows)" in done.stdout
    assert "only its metadata were compared" in done.stdout


def test_what_fails_and_what_selects_nothing(project: Path) -> None:
    failed = twice(project, "breaks", "--twice")
    assert failed.returncode == 1
    assert "no such table" in failed.stderr
    nothing = twice(project, "tag:none", "--twice")
    assert nothing.returncode == 2
    assert "no asset has tag" in nothing.stderr
    assert "add --twice" in twice(project, "orders").stderr
