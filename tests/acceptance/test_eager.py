"""Eager consumers under three scheduler processes: once per cause, and never one too few (S-219, S-222, S-224)."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy

TIMES = 200
CONFIG = """
[[location]]
name = "eager"
modules = ["eager_assets"]
"""
ASSETS = f"""
import os
import time
from pathlib import Path
from partita.sdk import Context, Output, Static, asset, defaults, eager

defaults(owner="team:test")
keys = Static("after", "while", *(f"p{{i:03}}" for i in range({TIMES})))
gate = Path(os.environ["GATE"])

@asset(partitions=keys, io=None)
def left(context: Context) -> Output:
    return Output()

@asset(partitions=keys, io=None)
def right(context: Context) -> Output:
    return Output()

@asset(partitions=keys, deps=["left", "right"], automation=eager(), io=None)
def consumer(context: Context) -> Output:
    (gate / f"entered-{{context.partition.key}}-{{context.attempt}}").touch()
    while (gate / f"hold-{{context.partition.key}}").exists():
        time.sleep(0.02)
    return Output()
"""


@pytest.fixture(scope="module")
def gate(shared_scratch: Path) -> Path:
    folder = shared_scratch / "gate"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def deployment(deploy_shared: Deploy, gate: Path) -> Deployed:
    """For all tests: the first two partitions are theirs who follow one of them, the many come last."""
    made = deploy_shared({"partita.toml": CONFIG, "eager_assets.py": ASSETS}, env={"GATE": str(gate)})
    for number in range(3):
        made.start("scheduler", name=f"scheduler {number}")
    made.start("code-server", "--location", "eager")
    made.start("worker")
    made.start("api")
    made.wait_serving()
    return made


def test_an_update_right_after_the_consumers_own_run_fires_again(deployment: Deployed) -> None:
    materialize(deployment, "left or right", "after")
    deployment.wait("the consumer follows", lambda: runs_of_consumer(deployment, "after") == 1)
    materialize(deployment, "left", "after", mode=["all"])
    deployment.wait("the consumer follows again", lambda: runs_of_consumer(deployment, "after") == 2)
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    assert runs_of_consumer(deployment, "after") == 2


def test_an_update_while_the_consumer_runs_fires_again(deployment: Deployed, gate: Path) -> None:
    (gate / "hold-while").touch()
    materialize(deployment, "left or right", "while")
    deployment.wait("the consumer runs", lambda: any(gate.glob("entered-while-*")))
    materialize(deployment, "right", "while", mode=["all"])
    deployment.wait("the update is published", lambda: publications(deployment, "right", "while") == 2)
    (gate / "hold-while").unlink()
    deployment.wait("the consumer follows again", lambda: runs_of_consumer(deployment, "while") == 2)
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    assert runs_of_consumer(deployment, "while") == 2


@pytest.mark.parametrize("times", [80, pytest.param(TIMES, marks=pytest.mark.prove)])
def test_two_producers_in_one_second_give_one_attempt_each_of_many_times(deployment: Deployed, times: int) -> None:
    for number in range(times):
        materialize(deployment, "left or right", f"p{number:03}")
    deployment.wait("all consumers are published", lambda: published(deployment) == times)
    deployment.wait("nothing is left to decide", lambda: idle(deployment))
    attempts = deployment.query(
        "SELECT c.partition, count(*) FROM attempt a JOIN task t ON t.id = a.task_id JOIN task_cell c ON c.task_id = t.id"
        " JOIN asset s ON s.id = c.asset_id WHERE s.key = 'consumer' AND c.partition LIKE 'p%%' GROUP BY 1"
    )
    assert len(attempts) == times
    assert [row for row in attempts if row[1] != 1] == []
    apart = deployment.query(
        "SELECT count(*) FROM (SELECT e.partition FROM event e JOIN asset s ON s.id = e.asset_id WHERE e.kind = 'materialized'"
        " AND s.key IN ('left', 'right') AND e.partition LIKE 'p%%' GROUP BY 1"
        " HAVING max(e.at) - min(e.at) < interval '1 second') AS pair"
    )
    assert apart[0][0] > 0, "producers did publish in the same second, as far as the machine let them"


# ------------------------------------------------------------------ helpers


def call(deployment: Deployed, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        f"{deployment.api}/api/v1{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{path} answers {error.code}: {error.read().decode()}") from error


def materialize(deployment: Deployed, selection: str, partition: str, *, mode: list[str] | None = None) -> None:
    asked = {
        "selection": selection,
        "partitions": partition,
        "as": "run",
        "mode": mode or ["missing", "failed", "stale"],
    }
    plan = call(deployment, "/plans", asked)
    call(deployment, f"/plans/{plan['id']}/launch", {"confirm_cells": plan["cell_count"]})


def published(deployment: Deployed) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset s ON s.id = c.asset_id WHERE s.key = 'consumer' AND c.data_version IS NOT NULL"
        " AND c.partition LIKE 'p%%'"
    )
    return int(count)


def publications(deployment: Deployed, key: str, partition: str) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM event e JOIN asset s ON s.id = e.asset_id WHERE e.kind = 'materialized' AND s.key = %s"
        " AND e.partition = %s",
        key,
        partition,
    )
    return int(count)


def runs_of_consumer(deployment: Deployed, partition: str) -> int:
    return publications(deployment, "consumer", partition)


def idle(deployment: Deployed) -> bool:
    """No event waits for a consumer and no task is open: whatever automation was to ask for, it has asked for."""
    [(todo, open_tasks)] = deployment.query(
        "SELECT (SELECT count(*) FROM event_todo), (SELECT count(*) FROM open_cell)"
    )
    return bool(todo == 0 and open_tasks == 0)
