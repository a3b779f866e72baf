"""What every test shares: temporary files in memory, hypothesis with printed seeds and no deadlines, asyncio as anyio's backend.

Warnings are errors (pyproject.toml). Fixtures of one layer live in that layer's own conftest.
"""

import os
import shutil
import signal
import tempfile
import threading

# Before anything imports gRPC: tests start many processes, and its fork handlers now and then stop its threads for ever.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A database is some seven hundred files, and a test of one makes and removes them: on a disk that takes longer than the test.
# No test needs more of a disk than that it holds what a killed process wrote. TMPDIR, where it is set, is obeyed.
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# Time on a shared machine says nothing about a law, so no deadline; a failure prints the blob that reproduces it.
settings.register_profile("default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("prove", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """A run that is told to end (a time limit, a cancelled job) tears its fixtures down, as for Ctrl-C: they hold processes."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that production runs on; `@pytest.mark.anyio` makes a coroutine a test."""
    return "asyncio"


@pytest.fixture(scope="session")
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """One event loop for all tests of a process that use gRPC, as in production: they name this fixture.

    gRPC has one completion queue a process. What a call or a server still had to say when its loop was closed comes up in the
    next loop, as an error of whatever test runs there.
    """
    yield  # noqa: PT022 - while this fixture is alive, so is the loop
