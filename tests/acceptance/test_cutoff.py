"""Early cutoff on real processes: a middle asset whose output does not change costs nothing below it, within and across runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy

CONFIG = """
[[location]]
name = "cutoff"
modules = ["cutoff_assets"]
[dev]
reload = false
"""
ASSETS = """
import json
import os
from pathlib import Path
from partita.sdk import Context, Daily, asset, any_size, defaults, eager

defaults(owner="team:test")
days = Daily("2024-01-01", end="2024-01-05")
source = Path(os.environ["SOURCE"])

@asset(partitions=days)
def raw(context: Context) -> list[dict[str, int]]:
    \"\"\"Amounts in cents: they move.\"\"\"
    return [{"cents": json.loads(source.read_text())[context.partition.key]}]

@asset(partitions=days)
def middle(raw: list[dict[str, int]]) -> list[dict[str, int]]:
    \"\"\"Whole euros: they move less.\"\"\"
    return [{"euros": row["cents"] // 100} for row in raw]

@asset(partitions=days)
def mart(middle: list[dict[str, int]]) -> list[dict[str, int]]:
    return [{"double": row["euros"] * 2} for row in middle]

@asset
def report(mart: list[dict[str, int]]) -> list[dict[str, int]]:
    return [{"total": sum(row["double"] for row in mart)}]

@asset(partitions=days, automation=eager())
def follower(middle: list[dict[str, int]]) -> list[dict[str, int]]:
    return [{"half": row["euros"] // 2} for row in middle]
"""
DAYS = [f"2024-01-0{day}" for day in range(1, 5)]


@pytest.fixture
def source(scratch: Path) -> Path:
    file = scratch / "source.json"
    file.write_text(json.dumps(dict.fromkeys(DAYS, 1000)))
    return file


@pytest.fixture
def deployment(deploy: Deploy, source: Path) -> Deployed:
    made = deploy({"partita.toml": CONFIG, "cutoff_assets.py": ASSETS}, env={"SOURCE": str(source)})
    made.start("dev")
    made.wait_serving()
    return made


def test_what_comes_out_the_same_costs_nothing_below_it(deployment: Deployed, source: Path) -> None:
    """One deployment, three stories: within a run, within a run but for one day, and across runs."""
    materialize(deployment, "*")
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    nothing_moves(deployment, source)
    one_day_moves(deployment, source)
    one_day_moves_across_runs(deployment, source)


def nothing_moves(deployment: Deployed, source: Path) -> None:
    before = attempts(deployment)
    source.write_text(json.dumps(dict.fromkeys(DAYS, 1099)))  # cents move, euros do not
    run = materialize(deployment, "raw", "--mode", "all", "--downstream")
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    assert since(before, deployment) == {"raw": 4, "middle": 4}
    shown = json.loads(deployment.run("runs", "show", str(run), "--json"))
    assert shown["run"]["cells"] == {"published": 4, "unchanged": 13, "skipped": 0, "failed": 0, "total": 17}
    told = {(task["step"], task["outcome_text"]) for task in shown["tasks"]["tasks"] if task["outcome"] == "unchanged"}
    without = "no attempt was needed: its inputs hold what it was made from"
    assert told == {
        ("middle", "made again; its data came out the same"),
        ("mart", without),
        ("follower", without),
        ("report", without),
    }
    assert "4 of 17 cells published, 13 unchanged" in deployment.run("runs", "show", str(run))
    again = json.loads(deployment.run("plan", "raw", "--downstream", "--json"))
    assert again["nothing_to_do"], "confirmations recorded what the cells were made from"


def one_day_moves(deployment: Deployed, source: Path) -> None:
    """The others of raw come out as the last time, so that not even middle is made for them."""
    before = attempts(deployment)
    source.write_text(json.dumps({day: 2000 if day == DAYS[1] else 1099 for day in DAYS}))
    materialize(deployment, "raw", "--mode", "all", "--downstream")
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    assert since(before, deployment) == {"raw": 4, "middle": 1, "mart": 1, "follower": 1, "report": 1}


def one_day_moves_across_runs(deployment: Deployed, source: Path) -> None:
    """The eager consumer is asked for what moved only; those that nobody asked for stay."""
    before = attempts(deployment)
    source.write_text(json.dumps({day: 4000 if day == DAYS[2] else 2050 if day == DAYS[1] else 1001 for day in DAYS}))
    materialize(deployment, "raw", "--mode", "all")
    materialize(deployment, "middle")
    deployment.wait("the consumer follows", lambda: since(before, deployment).get("follower") == 1)
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    assert since(before, deployment) == {"raw": 4, "middle": 4, "follower": 1}
    [(asked,)] = deployment.query("SELECT count(*) FROM automation_request WHERE at > (SELECT max(created_at) FROM run"
                                  " WHERE cause ->> 'kind' = 'cli')")  # fmt: skip
    assert asked == 1


# ------------------------------------------------------------------ helpers


def materialize(deployment: Deployed, *asked: str) -> int:
    """Launches and waits for the end; returns the run's id."""
    deployment.run("materialize", *asked, "--yes")
    [(run,)] = deployment.query("SELECT max(id) FROM run WHERE cause ->> 'kind' = 'cli'")
    return int(run)


def since(before: dict[str, int], deployment: Deployed) -> dict[str, int]:
    """The attempts by step that were made since."""
    return {key: n - before.get(key, 0) for key, n in attempts(deployment).items() if n != before.get(key, 0)}


def attempts(deployment: Deployed) -> dict[str, int]:
    rows = deployment.query("SELECT t.step, count(*) FROM attempt a JOIN task t ON t.id = a.task_id GROUP BY 1")
    return {str(step): int(count) for step, count in rows}


def idle(deployment: Deployed) -> bool:
    [(todo, open_tasks)] = deployment.query(
        "SELECT (SELECT count(*) FROM event_todo), (SELECT count(*) FROM open_cell)"
    )
    return not todo and not open_tasks
