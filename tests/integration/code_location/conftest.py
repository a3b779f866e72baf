"""Starts real code-location servers on free loopback ports, and sees to it that they are gone afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

# The harness beside this file is imported by its full name, which needs the root of the repository on the path.
sys.path.append(str(Path(__file__).parents[3]))

from tests.integration.code_location.harness import CodeServer, StartServer

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start a server for modules of the package `shop`, copied where the test may edit it."""
    servers: list[CodeServer] = []

    def start(
        *modules: str, root: Path | None = None, import_timeout_s: float = 60, drain_s: float = 300
    ) -> CodeServer:
        if root is None:
            root = tmp_path / f"location-{len(servers)}"
            shutil.copytree(FIXTURES, root, ignore=shutil.ignore_patterns("__pycache__"))
        read_end, write_end = os.pipe()
        command = [sys.executable, "-m", "partita.grpc.server", "--location", "shop", "--root", str(root)]
        command += [part for module in modules for part in ("--module", f"shop.{module}")]
        command += ["--import-timeout", str(import_timeout_s), "--drain", str(drain_s), "--announce-fd", str(write_end)]
        environment = {**os.environ, "SHOP_MARKS": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(command, pass_fds=(write_end,), env=environment)
        os.close(write_end)
        with os.fdopen(read_end) as announced:
            line = announced.readline()
        assert line, "the server ended before it announced its address"
        facts = json.loads(line)
        server = CodeServer(process, facts["address"], facts["server_id"], root)
        servers.append(server)
        return server

    yield start
    for server in servers:
        family = []
        with contextlib.suppress(psutil.NoSuchProcess):
            family = server.proc.children(recursive=True)
        server.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(60)
        server.process.kill()
        server.process.wait()
        _, left = psutil.wait_procs(family, timeout=60)
        for one in left:
            one.kill()
        assert not left, f"the server left processes behind: {left}"
