"""Wake-ups between duties: at once inside the process, by NOTIFY between processes.

A wake-up is a hint that carries no data and may be lost; everything that listens also polls about once a second. NOTIFY takes a
database-wide lock at commit, so it is sent outside any transaction, by one thread, coalesced per process (DESIGN section 6).
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable

import psycopg

from partita.core.duties.channels import Channel
from partita.core.store.listen import Listener

log = logging.getLogger(__name__)

_COALESCE_S = 0.012


class WakeHub:
    """One per process. `wake` is called after a commit; subscribers are called on the waking or the listening thread and
    must only set an event."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._origin = uuid.uuid4().hex[:12]
        self._subscribers: dict[str, list[Callable[[], None]]] = {}
        self._lock = threading.Lock()
        self._pending: set[str] = set()
        self._sendable = threading.Event()
        self._stopping = threading.Event()
        self._sender = threading.Thread(target=self._send, name="wake-send", daemon=True)
        self._listener: Listener | None = None

    def subscribe(self, channels: Iterable[str], callback: Callable[[], None]) -> None:
        """Before `start`: channels are listened to from the start."""
        for channel in channels:
            self._subscribers.setdefault(str(channel), []).append(callback)

    def start(self) -> None:
        self._sender.start()
        heard = [channel for channel in self._subscribers if channel in set(Channel)]
        self._listener = Listener(self._url, heard, self._heard, self._missed)
        self._listener.__enter__()

    def stop(self) -> None:
        """Also fine for a hub that never started."""
        self._stopping.set()
        self._sendable.set()
        if self._listener is not None:
            self._listener.__exit__(None, None, None)
            self._sender.join(5)

    def wake(self, channels: Iterable[str]) -> None:
        """Wakes subscribers of this process now and those of others within a few milliseconds."""
        names = {str(channel) for channel in channels}
        if not names:
            return
        self.wake_here(names)
        with self._lock:
            self._pending |= names
        self._sendable.set()

    def wake_here(self, channels: Iterable[str]) -> None:
        """Wakes subscribers of this process only; also for channels that no other process knows."""
        for channel in channels:
            for callback in self._subscribers.get(str(channel), ()):
                callback()

    # ------------------------------------------------------------------ threads

    def _send(self) -> None:
        connection: psycopg.Connection | None = None
        while True:
            self._sendable.wait()
            if self._stopping.is_set():
                break
            self._sendable.clear()
            with self._lock:
                names, self._pending = self._pending, set()
            try:
                if connection is None:
                    connection = psycopg.connect(self._url, autocommit=True, application_name="partita-wake")
                connection.execute(
                    "SELECT pg_notify(channel, %s) FROM unnest(%s::text[]) AS channel", [self._origin, sorted(names)]
                )
            except psycopg.Error as error:
                log.debug("a wake-up was lost: %s", error)  # the poll makes up for it
                if connection is not None:
                    connection.close()
                connection = None
            self._stopping.wait(_COALESCE_S)  # what comes meanwhile goes out together
        if connection is not None:
            connection.close()

    def _heard(self, channel: str, origin: str) -> None:
        if origin != self._origin:
            self.wake_here([channel])

    def _missed(self) -> None:
        """What was sent while nobody listened is made up for by one wake-up of everything."""
        self.wake_here(self._subscribers)
