"""What a command stands on: the configuration, the database and the services, opened when the command runs.

The command line is control plane: it talks to Postgres and the planner itself and needs no API process (law 2).
"""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.core.config import Config
    from partita.ui.api.services import Services


@dataclass(frozen=True, slots=True)
class Session:
    """`changed` is set whenever something happened in the deployment (and must be cleared by who waits for it)."""

    config: Config
    services: Services
    changed: threading.Event


_project: list[Path] = []


def set_project(project: Path | None) -> None:
    """The `--project` of this command line: where the search for partita.toml begins."""
    _project[:] = [] if project is None else [project]


def configuration() -> Config:
    from partita.core.config import load_config

    return load_config(_project[0] if _project else None)


@contextmanager
def session() -> Iterator[Session]:
    """Opens the deployment; the embedded Postgres is started when nothing runs yet."""
    from partita.core import starting

    with starting.imports():
        from partita.core.alerts import Routing
        from partita.core.duties.channels import Channel
        from partita.core.runtime.deployment import Deployment
        from partita.ui.api.services import services_of

        config = configuration()
    changed = threading.Event()
    with Deployment(config) as deployment:
        deployment.hub.subscribe([Channel.EVENT], changed.set)
        deployment.start()
        services = services_of(
            deployment.store,
            deployment.logs,
            wake=deployment.store.notify,  # at once: a command may end before a coalesced wake-up leaves
            on_wake=lambda callback: None,
            who=who(),
            kind="cli",
            routing=Routing.of(config),
        )
        yield Session(config, services, changed)


def who() -> str:
    """The name under which this command acts; containers may have no user of that id."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
