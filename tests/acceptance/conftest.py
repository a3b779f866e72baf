"""Deployments of real processes for the acceptance tests: the shipped commands over scratch projects."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from partita.core.embedded import EmbeddedPostgres
from partita.core.runtime.deployed import Deployed
from partita.core.store.open import migrate

from .chromium import browsing
from .commands import Commands, Quick

REPO = Path(__file__).resolve().parents[2]
FLIGHTS = REPO / "examples" / "flights"

Deploy = Callable[..., Deployed]


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path (sockets) that another account may enter (the server's)."""
    folder = Path(tempfile.mkdtemp(prefix="pt-acc-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def deploying(scratch: Path, commands: Commands, cluster: Path | None) -> Iterator[Deploy]:
    """Over a copy of `cluster`; without one the first process makes an empty database."""
    made: list[Deployed] = []

    def of(files: dict[str, str], *, env: dict[str, str] | None = None, folder: str = "project") -> Deployed:
        root = scratch / folder
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        made.append(Quick(root, commands, env=env))
        if cluster is not None:
            shutil.copytree(cluster, made[-1].config.postgres / cluster.name)
        return made[-1]

    try:
        yield of
    finally:
        for deployment in reversed(made):
            deployment.stop()


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    with Commands() as made:
        yield made


@pytest.fixture(scope="session")
def cluster() -> Iterator[Path]:
    """The database of a deployment that was just started for the first time, to be copied: making it takes longer than most
    tests. `test_first_project` and `test_browser` begin with none, as people do."""
    with short_folder() as folder:
        server = EmbeddedPostgres(folder)
        migrate(server.start())
        server.stop()
        yield folder / "pg18"


@pytest.fixture
def scratch() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def deploy(scratch: Path, commands: Commands, cluster: Path) -> Iterator[Deploy]:
    """`deploy(files, env=...)` writes a project and returns its `Deployed`; everything is stopped at the end of the test."""
    with deploying(scratch, commands, cluster) as deploy:
        yield deploy


@pytest.fixture
def deploy_empty(scratch: Path, commands: Commands) -> Iterator[Deploy]:
    """As `deploy`, where the first process that starts makes the database, by the schema that it knows."""
    with deploying(scratch, commands, None) as deploy:
        yield deploy


@pytest.fixture(scope="module")
def shared_scratch() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def deploy_shared(shared_scratch: Path, commands: Commands, cluster: Path) -> Iterator[Deploy]:
    """As `deploy`, for all tests of a file: starting a deployment takes longer than most of them."""
    with deploying(shared_scratch, commands, cluster) as deploy:
        yield deploy


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def flights_source() -> Iterator[Path]:
    """The example's source, converted once a session."""
    folder = Path(tempfile.mkdtemp(prefix="pt-src-"))
    sys.path.insert(0, str(FLIGHTS))
    try:
        source = importlib.import_module("source")
    finally:
        sys.path.remove(str(FLIGHTS))
    yield source.prepare(folder / "source")
    shutil.rmtree(folder)


FLIGHTS_TOML = f"""
[[location]]
name = "flights"
root = "{FLIGHTS}"
modules = ["flights_location.raw", "flights_location.marts"]
[[location]]
name = "health"
root = "{FLIGHTS}"
modules = ["health_location"]
[pools]
warehouse = 2
[worker]
lease_s = 4
grace_s = 1
"""


@pytest.fixture
def flights(deploy: Deploy, flights_source: Path) -> Deployed:
    """The flights example as a deployment with a short lease; nothing is started yet."""
    return deploy({"partita.toml": FLIGHTS_TOML}, env={"FLIGHTS_SOURCE": str(flights_source)})
