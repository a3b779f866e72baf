"""A site on loopback that answers as a test says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server on loopback that answers each path in turn with what the test gave it; the last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, dict(self.headers)))
                answers = site.answers[self.path]
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def says(status: int, body: object = "", **headers: str) -> Answer:
    def answer(to: BaseHTTPRequestHandler) -> None:
        told = body if isinstance(body, bytes) else json.dumps(body).encode()
        to.send_response(status)
        for name, value in {"Content-Length": str(len(told)), **headers}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(told)

    return answer


def hangs_up(to: BaseHTTPRequestHandler) -> None:
    to.connection.shutdown(socket.SHUT_RDWR)
