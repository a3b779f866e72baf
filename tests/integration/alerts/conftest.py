"""The other sides of messages, as real servers on this host: a mail server and a webhook."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.integration.api.conftest import World


@dataclass
class Mail:
    """What came by mail. `refuse` answers the next so many messages with a temporary error."""

    messages: list[EmailMessage] = field(default_factory=list)
    refuse: int = 0
    port: int = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refuse:
            self.refuse -= 1
            return "451 come back later"
        assert isinstance(envelope.original_content, bytes)
        found = message_from_bytes(envelope.original_content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.messages.append(found)
        return "250 OK"


@dataclass
class Hook:
    """What was posted. `gate` keeps requests open until it is set."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    port: int = 0
    came: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/hook") -> str:
        return f"json://127.0.0.1:{self.port}{path}"


class _AnyPort(Controller):
    """On a port of the kernel's choice; the library would knock at the one that it was told, which is 0."""

    @property
    def chosen(self) -> int:
        assert isinstance(self.server, asyncio.Server)
        return int(self.server.sockets[0].getsockname()[1])

    def _trigger_server(self) -> None:
        with socket.create_connection(("127.0.0.1", self.chosen), timeout=30) as connection:
            connection.recv(100)


@pytest.fixture
def mail() -> Iterator[Mail]:
    found = Mail()
    controller = _AnyPort(found, hostname="127.0.0.1", port=0, ready_timeout=60)
    controller.start()
    try:
        found.port = controller.chosen
        yield found
    finally:
        controller.stop()


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()
    found.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.came.set()
            found.gate.wait(120)
            found.bodies.append(body | {"path": self.path})
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(60)


@pytest.fixture
def world(pg_url: str, tmp_path: Path) -> Iterator[World]:
    world = World(pg_url, tmp_path / "logs")
    yield world
    world.store.close()
