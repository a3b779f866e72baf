"""LISTEN on a connection of its own, on a thread, with reconnect.

A notification is a hint that may be lost: whenever the connection was made (again), `on_gap` is called once, because nobody
heard what was sent before. Owns no coalescing and no polling; the thread sleeps in a selector and costs nothing while idle.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable, Iterable

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from partita.core.store.urls import KEEPALIVE, conninfo_of

log = logging.getLogger(__name__)

_RETRY_S = (0.1, 0.3, 1.0)


class Listener:
    """Calls `on_notify(channel, payload)` and `on_gap()` on its own thread; they must be quick, and what they raise is logged.

    A context manager: listens from entry to exit.
    """

    def __init__(
        self, url: str, channels: Iterable[str], on_notify: Callable[[str, str], None], on_gap: Callable[[], None]
    ) -> None:
        self._conninfo = make_conninfo(
            conninfo_of(url), application_name="partita-listen", connect_timeout=10, **KEEPALIVE
        )
        self._channels = sorted(set(channels))
        self._on_notify = on_notify
        self._on_gap = on_gap
        self._wake, self._woken = socket.socketpair()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen_until_stopped, name="store-listen", daemon=True)

    def __repr__(self) -> str:
        return f"Listener({', '.join(self._channels)})"

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the thread and its connection; returns when both are gone. May be called once."""
        self._stopping.set()
        self._wake.close()  # the other end becomes readable
        self._thread.join()
        self._woken.close()

    def _listen_until_stopped(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._conninfo, autocommit=True) as connection:
                    for channel in self._channels:
                        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    failures = 0
                    self._call(self._on_gap)
                    self._hear(connection)
            except (psycopg.Error, OSError) as error:
                log.debug("listening is interrupted: %s", error)
                self._stopping.wait(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
                failures += 1

    def _hear(self, connection: psycopg.Connection) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._stopping.is_set():
                for heard in connection.notifies(timeout=0):
                    self._call(self._on_notify, heard.channel, heard.payload)
                selector.select()

    def _call(self, callback: Callable[..., None], *arguments: str) -> None:
        try:
            callback(*arguments)
        except Exception:
            log.exception("a listener's callback failed")
