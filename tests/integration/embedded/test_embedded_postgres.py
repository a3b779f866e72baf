"""The embedded Postgres starts, survives kill -9, is shared and leaves nothing behind (S-045: no external dependency)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from partita.core.embedded import EmbeddedPostgres, EmbeddedPostgresError
from partita.core.embedded import postgres as implementation


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="pt-emb-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_starts_answers_and_stops_cleanly(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    with psycopg.connect(server.start()) as connection:
        row = connection.execute("SELECT current_setting('server_version_num')::int >= 180000").fetchone()
        assert row == (True,)
    pid = server.pid
    assert pid is not None
    server.stop()
    assert server.pid is None
    assert not Path(f"/proc/{pid}").exists()
    assert "database system is shut down" in (folder / "postgres.log").read_text()


def test_a_killed_server_comes_back_with_what_was_committed(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    with psycopg.connect(server.start(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 50000) AS n")
        killed = server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
    with psycopg.connect(server.start()) as connection:
        assert server.pid != killed
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (50000,)
    server.stop()


def test_a_killed_server_is_reaped_also_when_another_user_started_it_again(folder: Path) -> None:
    first, second = EmbeddedPostgres(folder), EmbeddedPostgres(folder)
    first.start()
    try:
        second.start()
        killed = first.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        second.start()
        assert first.pid == second.pid != killed
        assert not psutil.pid_exists(killed)
    finally:
        second.stop()
        first.stop()


def test_the_last_user_stops_the_server(folder: Path) -> None:
    first, second = EmbeddedPostgres(folder), EmbeddedPostgres(folder)
    assert first.start() == second.start()
    assert first.pid == second.pid
    first.stop()
    psycopg.connect(second.url).close()
    server = psutil.Process(second.pid)
    second.stop()
    assert second.pid is None
    assert not server.is_running(), "no zombie is left either"


def test_a_killed_user_leaves_no_server_behind(folder: Path) -> None:
    script = (
        "import sys, pathlib, partita.core.embedded as e; s = e.EmbeddedPostgres(pathlib.Path(sys.argv[1])); s.start();"
        "print(s.pid, flush=True); sys.stdin.read()"
    )
    user = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert user.stdout is not None
    pid = int(user.stdout.readline())
    user.kill()
    user.communicate()
    heir = EmbeddedPostgres(folder)
    heir.start()
    assert heir.pid == pid, "the server is adopted, not started twice"
    heir.stop()
    assert heir.pid is None


def test_a_long_path_gets_a_short_socket_folder(folder: Path) -> None:
    deep = folder.joinpath(*["a-rather-long-folder-name"] * 6)
    server = EmbeddedPostgres(deep)
    psycopg.connect(server.start()).close()
    server.stop()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to become another user; all other tests here ran as an ordinary one"
)
def test_works_as_an_ordinary_user(folder: Path) -> None:
    script = (
        "import os, sys, pathlib, psycopg, partita.core.embedded as e; s = e.EmbeddedPostgres(pathlib.Path(sys.argv[1]));"
        "psycopg.connect(s.start()).close(); s.stop(); print(os.geteuid(), s.pid)"
    )
    # A user namespace: the process is uid 1000 and may still read a checkout that lies in root's home.
    command = ["unshare", "-U", "--map-user=1000", "--map-group=1000", "--", sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1000 None", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: an ordinary user runs the server as itself")
def test_root_without_a_usable_account_runs_in_a_namespace(folder: Path) -> None:
    folder.chmod(0o700)  # neither `postgres` nor `nobody` may pass
    server = EmbeddedPostgres(folder)
    psycopg.connect(server.start()).close()
    server.stop()
    assert server.pid is None


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    server = EmbeddedPostgres(folder, settings={"shared_buffers": "nonsense"})
    with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
        server.start()


def test_missing_binaries_name_the_package_and_the_variable(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(implementation, "_WHEEL", "no_such_wheel")
    with pytest.raises(EmbeddedPostgresError, match=r"partita\[server\].*PARTITA_DATABASE_URL"):
        EmbeddedPostgres(folder)


def test_data_that_are_gone_are_not_replaced_by_an_empty_database(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    assert not server.data_gone
    shutil.rmtree(folder)
    assert server.data_gone
    with pytest.raises(EmbeddedPostgresError, match="is gone: stop and start again"):
        server.start()
    assert not folder.exists()
    server.abandon()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url, connect_timeout=5)
    server.stop()
    folder.mkdir()  # the fixture removes it
