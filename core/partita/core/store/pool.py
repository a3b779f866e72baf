"""Connections to one database, kept open and shared by the threads of a process.

A connection belongs to the thread that took it until it gives it back. One that broke, or that comes back inside a transaction,
is closed instead of kept. Owns no transactions, and never asks a connection whether it is alive: whoever begins one learns that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_loads

from partita.core.store.arrays import ArrayBytes, ArrayText
from partita.core.store.encode import from_json
from partita.core.store.urls import KEEPALIVE

_TAKE_S = 30  # the longest wait for a connection that others use
_CONNECT_S = 10

Connection = psycopg.Connection[Any]


class PoolExhausted(Exception):
    """Every connection stayed in use for as long as a taker may wait."""


class Pool:
    """At most `size` connections at once; they are made when they are needed, and the last one given back is the next one taken:
    its statements are prepared."""

    def __init__(self, conninfo: str, *, size: int, options: str) -> None:
        self.size = size
        self._conninfo = make_conninfo(conninfo, **KEEPALIVE)
        self._options = options
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def __repr__(self) -> str:
        return f"Pool(size={self.size}, idle={len(self._idle)})"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for as long as the block takes. Raises the driver's error when none can be made."""
        taken = self.take()
        try:
            yield taken
        finally:
            self.give(taken)

    def take(self) -> Connection:
        """A connection, to be given back. Raises PoolExhausted, or the driver's error."""
        if not self._free.acquire(timeout=_TAKE_S):
            raise PoolExhausted(f"all {self.size} connections are in use")
        try:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            return idle or self._connect()
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: Connection) -> None:
        """Takes a connection back."""
        with self._lock:
            kept = not self._closed and connection.info.transaction_status is TransactionStatus.IDLE
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()
        self._free.release()

    def close(self) -> None:
        """Closes the idle connections; those in use are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connect(self) -> Connection:
        # Autocommit, because BEGIN is the store's: it carries the settings and brings the instant in the same round trip.
        connection = psycopg.connect(
            self._conninfo,
            autocommit=True,
            options=self._options,
            application_name="partita",
            connect_timeout=_CONNECT_S,
        )
        connection.adapters.register_dumper(list, ArrayText)
        connection.adapters.register_dumper("numpy.ndarray", ArrayBytes)
        set_json_loads(from_json, connection)
        return connection
