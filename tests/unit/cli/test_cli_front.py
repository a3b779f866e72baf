"""The front of the command line as a process sees it: weight, help, refusals, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "sqlalchemy",
    "fastapi",
    "alembic",
    "duckdb",
    "psycopg",
    "uvicorn",
    "starlette",
    "numpy",
    "pyarrow",
    "grpc",
    "networkx",
}


def partita(*arguments: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "partita.ui.cli", *arguments],
        cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **env},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["backfill", "create", "--help"], ["check", "--help"]]
)
def test_versions_and_help_load_nothing_of_the_control_plane(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom partita.ui.cli import run\n"
        f"code = run({arguments!r})\nprint('\\n' + ' '.join({{name.partition('.')[0] for name in sys.modules}}))\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stdout.splitlines()[-1].split())


def test_without_a_project_every_command_says_where_it_looked(tmp_path: Path) -> None:
    done = partita("assets", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no partita.toml" in done.stderr
    assert "fix:" in done.stderr


def test_a_refusal_under_json_is_the_one_value(tmp_path: Path) -> None:
    done = partita("plan", "*", "--mode", "misssing", "--json", folder=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["fix"] == "did you mean 'missing'?"


def test_logs_wants_exactly_one_subject(tmp_path: Path) -> None:
    done = partita("logs", "--run", "1", "--task", "2", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "logs of what?" in done.stderr


def test_an_unknown_option_ends_with_2(tmp_path: Path) -> None:
    assert partita("runs", "--colour", folder=tmp_path).returncode == 2


def test_a_second_dev_says_that_the_port_is_taken(tmp_path: Path) -> None:
    import socket

    (tmp_path / "partita.toml").write_text("")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = partita("dev", "--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert done.returncode == 2
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "--port" in done.stderr
    assert not (tmp_path / ".partita").exists(), "nothing was started"
