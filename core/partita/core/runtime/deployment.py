"""What every process of the control plane opens first: the database, its schema, the store, the wake-ups.

Without a database URL the deployment keeps an embedded Postgres in its home folder: every process that needs it is a user of the
same server, and starts it again when it was killed (DESIGN law 2: any component may die at any moment).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from partita.core.config import Config
from partita.core.embedded import EmbeddedPostgres, EmbeddedPostgresError
from partita.core.logs import LogStore
from partita.core.runtime.wake import WakeHub
from partita.core.store.open import migrate, open_store
from partita.core.store.port import StoreError
from partita.core.store.postgres.store import PostgresStore

log = logging.getLogger(__name__)

_WATCH_S = 1.0
_SEEN_S = 10.0


class Deployment:
    """A context manager: open on entry, closed on exit. The hub is started by `start`, once everything has subscribed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.logs = LogStore(config.logs)
        self._embedded = EmbeddedPostgres(config.postgres) if config.database.url is None else None
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._components: list[tuple[str, str]] = []
        self._counts: dict[str, Callable[[], Mapping[str, Any]]] = {}
        self.url = ""
        self.store: PostgresStore
        self.hub: WakeHub

    def __repr__(self) -> str:
        return f"<Deployment {self.config.file}>"

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:  # also Ctrl-C while Postgres starts: nothing may be left running
            self._stopping.set()
            if self._embedded is not None:
                self._embedded.stop()
            raise
        return self

    def _open(self) -> None:
        if self._embedded is not None:
            self.url = self._embedded.start()
            self._spawn(self._watch_postgres, "postgres-watch")
        else:
            self.url = self.config.database.url or ""
        migrate(self.url)
        self.store = open_store(
            self.url, replica_url=self.config.database.replica_url, pool_size=self.config.database.pool_size
        )
        self.hub = WakeHub(self.url)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self.hub.stop()
        for thread in self._threads:
            thread.join(10)
        self._forget_components()
        self.store.close()
        if self._embedded is not None:
            self._embedded.stop()

    def start(self, *components: tuple[str, str]) -> None:
        """Starts the wake-ups and says that these (kind, name) components live here, for the System page."""
        self._components = list(components)
        self.hub.start()
        if components:
            self._spawn(self._say_that_we_live, "components")

    def count(self, kind: str, counts: Callable[[], Mapping[str, Any]]) -> None:
        """What a component of this kind has done since it started, as JSON; written with its sign of life, for the metrics."""
        self._counts[kind] = counts

    # ------------------------------------------------------------------ threads

    def _spawn(self, target: object, name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _watch_postgres(self) -> None:
        assert self._embedded is not None
        while not self._stopping.wait(_WATCH_S):
            if self._embedded.data_gone:
                log.error("the data folder %s is gone: stop and start again", self.config.postgres)
                self._embedded.abandon()  # so that everybody is told that the database is away
                return
            if self._embedded.pid is not None:
                continue
            log.warning("the embedded Postgres is gone; starting it again")
            try:
                self._embedded.start()
            except (EmbeddedPostgresError, OSError) as error:
                log.error("the embedded Postgres does not come back: %s", error)

    def _say_that_we_live(self) -> None:
        while True:
            try:
                with self.store.begin(durable=False) as tx:
                    for kind, name in self._components:
                        tx.put_component(_component_id(kind), kind, name, os.getpid(), self._counts_of(kind))
            except StoreError as error:
                log.debug("components are not noted: %s", error)
            if self._stopping.wait(_SEEN_S):
                return

    def _counts_of(self, kind: str) -> Mapping[str, Any]:
        return self._counts[kind]() if kind in self._counts else {}

    def _forget_components(self) -> None:
        try:
            with self.store.begin(durable=False) as tx:
                for kind, _ in self._components:
                    tx.remove_component(_component_id(kind))
        except StoreError as error:
            log.debug("components are not removed: %s", error)


def _component_id(kind: str) -> str:
    import platform

    return f"{kind}-{platform.node()}-{os.getpid()}"
