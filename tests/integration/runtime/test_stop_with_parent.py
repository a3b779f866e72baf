"""Processes that were told to end with whoever started them do: a test run that is killed leaves nothing running."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

CONFIG = """
[[location]]
name = "plain"
modules = ["plain_assets"]
"""
DRIVER = """
import sys
from pathlib import Path
from partita.core.runtime.deployed import Deployed

deployed = Deployed(Path(sys.argv[1]))
print(deployed.start("code-server", "--location", "plain").pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pt-stop-") as folder:
        (Path(folder) / "partita.toml").write_text(CONFIG)
        (Path(folder) / "plain_assets.py").write_text("")
        yield Path(folder)


def test_a_code_server_ends_with_the_test_run_that_started_it(project: Path) -> None:
    """It becomes another program under the same id, and used to forget whom it was to end with."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    assert driver.stdin is not None
    server = psutil.Process(int(driver.stdout.readline()))
    handle = os.pidfd_open(server.pid)
    try:
        announcements = project / ".partita" / "servers"
        while not any(file.stat().st_size for file in announcements.glob("*.json")):
            assert not select.select([handle], [], [], 0.05)[0], "the server ended by itself"
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        ended, _, _ = select.select([handle], [], [], 60)
        assert ended, "the server outlived the one that started it"
    finally:
        os.close(handle)
        driver.stdin.close()
        driver.stdout.close()
        for process in (driver, server):
            try:
                process.kill()
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
