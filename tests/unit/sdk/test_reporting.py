"""The client of producers, against a real HTTP server that refuses and fails (S-174)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from partita.assets import PartitaError
from partita.sdk import AssetEvent, Reporter, ReportError

AT = "2026-03-10T05:00:00+00:00"


class Api(ThreadingHTTPServer):
    """Answers with what stands first in `answers`, else takes everything; keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, str]] = []
        self.sent: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.sent.append((self.path, dict(self.headers), body))
        names = ("asset", "partition", "data_version")
        taken = [{**{name: one[name] for name in names}, "outcome": "observed", "at": AT} for one in body["events"]]
        status, text = self.server.answers.pop(0) if self.server.answers else (200, json.dumps({"events": taken}))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_event_goes_as_it_is_and_its_answer_comes_back(api: Api) -> None:
    reporter = Reporter(f"{api.url}/", scope="till", headers={"Authorization": "Bearer t"})
    at = datetime(2026, 3, 10, 4, tzinfo=UTC)
    taken = reporter.report("orders", "2026-03-09", data_version="v1", key="1", data_time=at, metadata={"rows": 7})
    assert (taken.outcome, taken.at) == ("observed", datetime.fromisoformat(AT))
    ((path, headers, body),) = api.sent
    assert (path, headers["Authorization"], body["scope"]) == ("/api/events", "Bearer t", "till")
    said = {"asset": "orders", "partition": "2026-03-09", "data_version": "v1", "key": "1"}
    assert body["events"] == [{**said, "data_time": "2026-03-10T04:00:00+00:00", "metadata": {"rows": 7}}]


def test_many_events_go_in_batches_and_while_nobody_answers_they_go_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("partita.sdk.reporting.time.sleep", pauses.append)
    api.answers = [(503, "the proxy is up, the API is not")]
    taken = Reporter(api.url).report_all(AssetEvent("orders", f"{n}", data_version="v") for n in range(2_500))
    assert [one.partition for one in taken] == [f"{n}" for n in range(2_500)]
    assert [len(body["events"]) for _, _, body in api.sent] == [1_000, 1_000, 1_000, 500], "the first batch went twice"
    assert len(pauses) == 1


def test_a_refusal_is_told_at_once_as_the_api_says_it(api: Api) -> None:
    api.answers = [(404, json.dumps({"error": {"what": "asset 'order' does not exist", "rule": "r", "fix": "f"}}))]
    with pytest.raises(ReportError, match="asset 'order' does not exist; r; f") as refused:
        Reporter(api.url).report("order", data_version="v")
    assert (refused.value.status, len(api.sent)) == (404, 1)


def test_who_does_not_answer_for_long_is_named() -> None:
    with pytest.raises(ReportError, match=r"http://127\.0\.0\.1:1 does not answer"):
        Reporter("http://127.0.0.1:1", patience_s=0).report("orders", data_version="v")


def test_what_cannot_be_right_is_refused_before_it_is_sent() -> None:
    with pytest.raises(PartitaError, match="metadata takes"):
        AssetEvent("orders", data_version="v", metadata={"x": "y" * 70_000})
