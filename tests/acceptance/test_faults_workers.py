"""Workers that stand still and come back, and that cannot write their logs, as shipped processes (S-153; DESIGN section 6)."""

from __future__ import annotations

import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import psycopg
import pytest

from partita.core.runtime.deployed import Deployed
from partita.sdk.io.lake import read_relation

from .faulty import (
    Gate,
    attempts,
    ended,
    file_of,
    is_gone,
    launch,
    no_traceback,
    nothing_left,
    project,
    published_once,
    tasks,
)

LEASE_S = 4.0
LIVE = "SELECT count(*) FROM worker WHERE state = 'live'"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="pt-wk-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def gate(folder: Path) -> Gate:
    return Gate(folder)


@pytest.fixture(scope="module")
def deployment(folder: Path, gate: Gate) -> Iterator[Deployed]:
    """With one worker, named `first`."""
    for name, text in project(lease_s=LEASE_S).items():
        (folder / name).write_text(text)
    with Deployed(folder, env={"GATE": str(gate.path)}) as made:
        made.start("scheduler")
        made.start("code-server", "--location", "plain")
        made.start("worker", name="first")
        made.wait_serving()
        yield made


def test_a_worker_that_slept_through_its_lease_publishes_nothing(deployment: Deployed, gate: Gate) -> None:
    """The attempt runs on in its code server and writes its file; the pointer is another attempt's by then, and stays."""
    run_id = launch(deployment, "gated", "--partitions", "a")
    deployment.wait("it runs", lambda: tasks(deployment, run_id, "running") == 1)
    [(partition, number, outcome, sleeper)] = attempts(deployment, run_id)
    assert (partition, number, outcome) == ("a", 1, None)
    process = psutil.Process(deployment.processes["first"].pid)
    process.send_signal(signal.SIGSTOP)
    deployment.wait("it stands still", lambda: process.status() == psutil.STATUS_STOPPED)
    deployment.start("worker", name="second")
    ended(deployment, run_id)
    assert deployment.query("SELECT state FROM worker WHERE id = %s", sleeper) == [("gone",)], "its lease has lapsed"
    assert [row[:3] for row in attempts(deployment, run_id)] == [("a", 1, "lost"), ("a", 2, "success")]
    [(late, kept)] = deployment.query(
        "SELECT min(id) FILTER (WHERE number = 1), min(id) FILTER (WHERE number = 2) FROM attempt WHERE run_id = %s",
        run_id,
    )
    pointer = deployment.query(
        "SELECT location, data_version, fence, published_attempt FROM cell WHERE partition = 'a'"
    )
    assert pointer[0][3] == kept

    gate.open()
    file = file_of(pointer[0][0]).with_name(f"{late}.parquet")
    deployment.wait("its file is written", file.exists)
    # While nobody may write leases the sleeper cannot learn that its own is lost: what it tells first is its result. (A lock of
    # its row would not do: a renewal looks for live rows only, finds none, and waits for nothing.)
    with psycopg.connect(deployment.database_url) as connection:
        connection.execute("LOCK TABLE worker IN SHARE MODE")
        process.send_signal(signal.SIGCONT)
        deployment.wait("its report is refused", lambda: f"attempt {late} was refused" in deployment.log.read_text())
    deployment.wait(
        "it registers again, under another name",
        lambda: (
            deployment.query("SELECT count(*) FROM worker WHERE state = 'live' AND pid = %s", process.pid) == [(1,)]
        ),
    )
    assert (
        deployment.query("SELECT location, data_version, fence, published_attempt FROM cell WHERE partition = 'a'")
        == pointer
    )
    assert read_relation([pointer[0][0]]).dicts() == [{"attempt": str(kept)}]
    assert deployment.query("SELECT count(*) FROM event WHERE kind = 'materialized' AND run_id = %s", run_id) == [(1,)]
    nothing_left(deployment)
    no_traceback(deployment)


def test_a_killed_child_loses_its_own_attempt_and_a_killed_server_all_of_its(deployment: Deployed, gate: Gate) -> None:
    """kill -9 of one attempt's process, then of the code server: each costs a loss and none of the user's retries (S-153)."""
    server = psutil.Process(deployment.processes["code-server"].pid)
    first = launch(deployment, "gated", "--partitions", "b")
    deployment.wait("it runs in a child", lambda: tasks(deployment, first, "running") == 1 and bool(_children(server)))
    [child] = _children(server)
    child.kill()
    deployment.wait("the child is gone", lambda: not child.is_running())
    ended(deployment, first)
    second = launch(deployment, "gated", "--partitions", "c")
    deployment.wait("it runs in a child", lambda: tasks(deployment, second, "running") == 1 and bool(_children(server)))
    [child] = _children(server)
    assert is_gone(deployment.kill("code-server"))
    deployment.wait("nothing of the server runs on", lambda: not child.is_running())
    deployment.start("code-server", "--location", "plain")
    ended(deployment, second)
    for run_id, partition in ((first, "b"), (second, "c")):
        assert [row[:3] for row in attempts(deployment, run_id)] == [(partition, 1, "lost"), (partition, 2, "success")]
        counted = deployment.query("SELECT user_failures, infra_losses FROM task WHERE run_id = %s", run_id)
        assert counted == [(0, 1)]
        published_once(deployment, run_id, 1)
    no_traceback(deployment)


def _children(server: psutil.Process) -> list[psutil.Process]:
    """The attempts that a code server runs: children of its warm process."""
    return [child for warm in server.children() for child in warm.children()]


def test_logs_that_cannot_be_written_end_no_attempt(deployment: Deployed) -> None:
    """A disk that is full for files of more than some size: the kernel refuses the write, and the attempt goes on."""
    workers = [
        psutil.Process(process.pid)
        for process in deployment.processes.values()
        if "worker" in psutil.Process(process.pid).cmdline()
    ]
    deployment.wait("one is live", lambda: deployment.query(LIVE) != [(0,)])
    for worker in workers:
        worker.rlimit(psutil.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    run_id = launch(deployment, "talkative")
    ended(deployment, run_id)
    for worker in workers:
        worker.rlimit(psutil.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    logs = deployment.query("SELECT log, usage FROM attempt WHERE run_id = %s ORDER BY id", run_id)
    assert len(logs) == 2
    for log, usage in logs:
        file = deployment.config.logs / log
        assert 0 < file.stat().st_size <= 100_000, (
            "the fault took effect: the log has what there was room for, in whole lines"
        )
        assert usage["log_lines_lost"] > 100
        assert file.read_text().splitlines()[1].startswith("[0,"), "the first line of the file is the trace"
    said = deployment.run("logs", "--task", str(first_task(deployment, run_id)))
    assert "lines of this log were lost: it could not be written (File too large)" in said
    assert "File too large" in deployment.log.read_text()
    no_traceback(deployment)


def first_task(deployment: Deployed, run_id: int) -> int:
    [(task_id,)] = deployment.query("SELECT min(id) FROM task WHERE run_id = %s", run_id)
    return int(task_id)


def test_user_code_says_how_an_attempt_ended(deployment: Deployed) -> None:
    """RetryLater, Fail, a timeout and plain failures, from the child's process to the retry that they lead to (S-110, S-158)."""
    run_id = launch(deployment, "later or never or endless or flaky")
    deployment.wait(
        "what can end has ended",
        lambda: tasks(deployment, run_id, "success") == 2 and tasks(deployment, run_id, "up_for_retry") == 1,
    )
    rows = deployment.query(
        "SELECT t.step, p.number, p.outcome, p.error, p.started_at, p.finished_at FROM attempt p"
        " JOIN task t ON t.id = p.task_id WHERE p.run_id = %s ORDER BY 1, 2",
        run_id,
    )
    ends = {step: [row[2] for row in rows if row[0] == step] for step in ("later", "never", "endless", "flaky")}
    assert ends == {
        "later": ["retry_later", "success"],  # after its own half second, not after the policy's day
        "never": ["failed_for_good"],  # three retries are left
        "endless": ["timed_out"],
        "flaky": ["failed", "failed", "failed", "success"],
    }
    assert {row[3] for row in rows if row[0] in ("later", "never")} == {
        "the export is not there yet",
        "the contract ended",
        None,
    }
    flaky = [row for row in rows if row[0] == "flaky"]
    waits = [(later[4] - earlier[5]).total_seconds() for earlier, later in pairwise(flaky)]
    assert all(waited >= least for waited, least in zip(waits, (0.3, 0.6, 1.0), strict=True)), waits
    [(step, reason, failures)] = deployment.query(
        "SELECT step, reason, user_failures FROM task WHERE run_id = %s AND state = 'up_for_retry'", run_id
    )
    assert (step, reason, failures) == ("endless", "retry_at", 1), "a timeout is a failure, by the normal rules"
    deployment.run("runs", "cancel", str(run_id), "--yes")
    no_traceback(deployment)
