"""`partita api` as a process: serves, appears on the System page, and ends in order with streams open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx


def test_the_api_serves_under_a_prefix_and_ends_with_its_streams(world: Any, tmp_path: Path) -> None:
    world.activate()
    (tmp_path / "partita.toml").write_text("")
    process = subprocess.Popen(
        [sys.executable, "-m", "partita.ui.cli", "api", "--port", "0", "--prefix", "/data/partita"],
        cwd=tmp_path,
        env={**os.environ, "PARTITA_DATABASE_URL": world.url, "PARTITA_PROJECT": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "the API listens on" in line:
                break
        address = re.search(r"(http://127\.0\.0\.1:\d+)/data/partita", line)
        assert address is not None, line
        with httpx.Client(base_url=address[1], timeout=60) as client:
            assert client.get("/data/partita/healthz").json()["ok"] is True  # a proxy that keeps the prefix
            assert client.get("/api/v1/assets").json()["total"] == 5  # and one that strips it
            kinds = [one["kind"] for one in client.get("/api/v1/system").json()["components"] if one["state"] == "ok"]
            assert "api" in kinds
            with client.stream("GET", "/data/partita/api/v1/events/stream") as stream:
                lines = stream.iter_lines()
                assert next(lines) == "retry: 2000"
                process.send_signal(signal.SIGTERM)
                drained = threading.Thread(target=lambda: list(lines))
                drained.start()
                assert process.wait(60) == 0
                drained.join(60)
                assert not drained.is_alive(), "the stream ended with the process"
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
    with world.store.read() as reader:
        from partita.core.store.queries import api_system
        from partita.core.store.queries.api_read import rows

        assert rows(reader, api_system.COMPONENTS) == [], "it signed off"
