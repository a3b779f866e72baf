"""Schedulers that are killed in turn, and schedulers of two versions, at work on one database (S-012, S-118, S-135)."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from partita.core.runtime.deployed import Deployed
from partita.core.store import open as schema

from .conftest import REPO, Deploy
from .faulty import (
    MANY,
    Gate,
    attempts,
    ended,
    is_gone,
    launch,
    let_pass,
    no_traceback,
    project,
    published_once,
    run_state,
)

FOLDERS = ("core", "assets", "grpc", "ui", "sdk")
VERSIONS = REPO / "core/partita/core/store/migrations/versions"


@pytest.fixture
def gate(scratch: Path) -> Gate:
    return Gate(scratch)


def test_schedulers_killed_in_turn_cost_nothing(deploy: Deploy, gate: Gate) -> None:
    """Tasks belong to the leases of workers, never to a scheduler: no attempt is lost with one."""
    deployment = deploy(project(lease_s=30), env={"GATE": str(gate.path)})
    for name in ("first", "second"):
        deployment.start("scheduler", name=name)
    deployment.start("code-server", "--location", "plain")
    deployment.start("worker")
    deployment.wait_serving()
    run_id = launch(deployment, "paced")
    for name, done in (("first", 3), ("second", 15)):
        let_pass(deployment, gate, run_id, done)
        pid = deployment.kill(name)
        assert is_gone(pid)
        assert run_state(deployment, run_id) == "running", "it was killed in the middle"
        if name == "first":
            deployment.start("scheduler", name="third")
    let_pass(deployment, gate, run_id, MANY)
    ended(deployment, run_id)
    published_once(deployment, run_id, MANY)
    assert {row[1:3] for row in attempts(deployment, run_id)} == {(1, "success")}
    no_traceback(deployment)


@pytest.fixture
def old_build(scratch: Path) -> Path:
    """The last commit before the newest migration: the code that stands on the schema of before."""
    newest = f"{VERSIONS.relative_to(REPO)}/rev_{schema.newest_revision()}.py"
    git = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", newest)
    commit = git.stdout.decode().strip()
    if git.returncode or not commit or _git("cat-file", "-e", f"{commit}~1").returncode:
        pytest.skip("needs the history of the repository")
    archive = _git("archive", f"{commit}~1", *FOLDERS).stdout
    folder = scratch / "old"
    with tarfile.open(fileobj=BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=REPO, capture_output=True, check=False)


def test_an_old_and_a_new_scheduler_work_on_one_schema(deploy_empty: Deploy, gate: Gate, old_build: Path) -> None:
    """A rolling upgrade: the old ones run when the new one comes and brings the schema up to date; both go on."""
    path = os.pathsep.join(str(old_build / folder) for folder in FOLDERS)
    deployment = deploy_empty(project(lease_s=30), env={"GATE": str(gate.path)})
    new_env = dict(deployment.env)
    deployment.env["PYTHONPATH"] = path
    assert _revision_of(deployment) != schema.newest_revision(), "the old build is another one"
    deployment.start("scheduler", name="old")
    deployment.start("code-server", "--location", "plain")
    deployment.start("worker")
    deployment.wait_serving()
    assert deployment.query("SELECT version_num FROM alembic_version") != [(schema.newest_revision(),)]
    deployment.env = new_env
    run_id = launch(deployment, "paced")  # by a command of the new build: it brings the schema up to date
    assert deployment.query("SELECT version_num FROM alembic_version") == [(schema.newest_revision(),)]
    let_pass(
        deployment, gate, run_id, 10
    )  # more than the pool has room for: the old one alone admits on the new schema
    deployment.start("scheduler", name="new")
    deployment.wait("both are up", lambda: _schedulers(deployment) == 2)
    let_pass(deployment, gate, run_id, 20)
    deployment.stop("old")
    assert (_schedulers(deployment), run_state(deployment, run_id)) == (1, "running")
    let_pass(deployment, gate, run_id, MANY)  # by the new one alone
    ended(deployment, run_id)
    published_once(deployment, run_id, MANY)
    no_traceback(deployment)


def _schedulers(deployment: Deployed) -> int:
    [(count,)] = deployment.query("SELECT count(*) FROM component WHERE kind = 'scheduler'")
    return int(count)


def _revision_of(deployment: Deployed) -> str:
    asked = "from partita.core.store.open import newest_revision; print(newest_revision())"
    return subprocess.run(
        [sys.executable, "-c", asked], env=deployment.env, capture_output=True, text=True, check=True
    ).stdout.strip()
