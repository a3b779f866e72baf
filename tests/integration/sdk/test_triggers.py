"""The triggers that ship against real servers: HTTP, Postgres, DuckDB, an object store. Whatever is away, slow or locked is not
there yet; only what says no for good fails (S-021, S-167).
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from moto.server import ThreadedMotoServer
from tests.integration.sdk.site import Site, hangs_up, says

from partita.sdk import looks
from partita.sdk.triggers import FileExists, Http
from partita.sdk.watching import Trigger, TriggerFailed, args_of, path_of, watched


@pytest.fixture
def site() -> Iterator[Site]:
    with closing(Site()) as made:
        yield made


def watching(trigger: Trigger) -> Any:
    """The payload that a host would report."""
    path, args = path_of(type(trigger)), args_of(trigger)
    return asyncio.run(watched(path, args, since_s=time.time(), poll_s=0.01, jitter=0.0))


# ------------------------------------------------------------------ HTTP
def test_a_url_is_asked_until_it_says_what_is_waited_for(site: Site) -> None:
    """Errors of the server, answers that break off and answers that say something else are not yet."""
    done = {"state": {"name": "done"}, "rows": 7}
    site.answers["/job"] = [
        says(503, {"state": {"name": "done"}}),
        says(404),
        hangs_up,
        says(200, b'{"state": {"name": "do', Content_Length="1000"),
        says(200, b"\r\nnonsense", Transfer_Encoding="chunked"),
        says(200, b"<html>wait a moment</html>"),
        says(200, {"state": {"name": "running"}}),
        says(200, done),
    ]
    trigger = Http(f"{site.url}/job", where={"state.name": "done"}, headers={"Authorization": "Bearer s3cret"})
    assert watching(trigger) == done
    assert len(site.asked) == 8
    assert {headers["Authorization"] for _, headers in site.asked} == {"Bearer s3cret"}


def test_any_status_can_be_waited_for_and_text_is_handed_on_as_it_is(site: Site) -> None:
    site.answers["/gone"] = [says(200, "still there"), says(410, b"moved out")]
    assert watching(Http(f"{site.url}/gone", status=410)) == "moved out"
    site.answers["/empty"] = [says(204, b"")]
    assert watching(Http(f"{site.url}/empty", status=204)) is True


def test_redirects_are_followed_and_secrets_stay_with_their_server(site: Site) -> None:
    with closing(Site()) as other:
        other.answers["/there"] = [says(200, "here")]
        site.answers = {
            "/near": [says(307, Location="/there")],
            "/there": [says(200, "here")],
            "/far": [says(302, Location=f"{other.url}/there")],
            "/file": [says(302, Location="file:///etc/passwd")],
            "/ftp": [says(302, Location="ftp://127.0.0.1/x")],
            "/round": [says(302, Location="/round")],
        }
        secret = {"X-Token": "s3cret"}
        assert looks.answer_of(f"{site.url}/near", secret) == (200, b'"here"')
        assert [headers.get("X-Token") for _, headers in site.asked] == ["s3cret", "s3cret"]
        assert looks.answer_of(f"{site.url}/far", secret) == (200, b'"here"')
        assert [headers.get("X-Token") for _, headers in other.asked] == [None]
        assert [looks.answer_of(f"{site.url}/{path}", secret)[0] for path in ("file", "ftp", "round")] == [302] * 3


def test_a_server_that_is_slow_or_away_is_not_there_yet(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that sends a byte now and then: the time limit is that of the whole answer."""
    monkeypatch.setattr(looks, "_HTTP_LIMIT_S", 0.3)

    def drips(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.end_headers()
        while not site.over.wait(0.05):
            try:
                to.wfile.write(b" ")
            except OSError:  # nobody listens any more
                return

    def says_nothing(_: BaseHTTPRequestHandler) -> None:
        site.over.wait()

    site.answers = {"/silent": [says_nothing], "/drips": [drips]}
    assert looks.answer_of(f"{site.url}/silent", {}) == (0, b"")
    assert looks.answer_of(f"{site.url}/drips", {}) == (0, b"")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert looks.answer_of(f"http://127.0.0.1:{nobody.getsockname()[1]}/", {}) == (0, b"")


@pytest.mark.parametrize(
    "url", ["ftp://host/file", "file:///etc/passwd", "http://host/with space", "http://host:port/"]
)
def test_what_is_no_url_fails(url: str) -> None:
    with pytest.raises(TriggerFailed):
        looks.answer_of(url, {})


# ------------------------------------------------------------------ rows
LOADED = "SELECT day, rows FROM loads WHERE day = '2026-03-01' AND done"


def test_a_row_of_a_postgres(pg_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(pg_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE loads (day date, rows bigint, done boolean)")
        connection.execute("INSERT INTO loads VALUES ('2026-03-01', 7, false)")
        assert looks.row_of(pg_url, LOADED) is None
        monkeypatch.setattr(looks, "_SQL_LIMIT_MS", 100)
        with connection.transaction():
            connection.execute("LOCK TABLE loads IN ACCESS EXCLUSIVE MODE")
            connection.execute("UPDATE loads SET done = true")
            assert looks.row_of(pg_url, LOADED) is None, "its load holds it: not yet"
        assert [str(one) for one in looks.row_of(pg_url, LOADED)] == ["2026-03-01", "7"]
    with pytest.raises(psycopg.errors.UndefinedTable):
        looks.row_of(pg_url, "SELECT 1 FROM lodas")


def test_a_postgres_that_is_away_is_not_there_yet_and_one_that_refuses_fails(pg_url: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert looks.row_of(f"postgresql://u@127.0.0.1:{nobody.getsockname()[1]}/x", "SELECT 1") is None
    with psycopg.connect(pg_url, autocommit=True) as connection:
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        connection.execute("CREATE ROLE watcher LOGIN")
        connection.execute(f'ALTER DATABASE "{database}" CONNECTION LIMIT 0'.encode())
        theirs = psycopg.conninfo.make_conninfo(pg_url, user="watcher")
        try:
            parts = psycopg.conninfo.conninfo_to_dict(theirs)
            url = f"postgresql://watcher@/{database}?host={parts['host']}&port={parts.get('port', 5432)}"
            assert looks.row_of(url, "SELECT 1") is None, "too many connections: there will be room"
        finally:
            connection.execute(f'ALTER DATABASE "{database}" CONNECTION LIMIT -1'.encode())
            connection.execute("DROP ROLE watcher")
    with pytest.raises(psycopg.OperationalError, match='role "watcher" does not exist'):
        looks.row_of(url, "SELECT 1")


WRITER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE loads (day date, rows bigint, done boolean)")
connection.execute("INSERT INTO loads VALUES ('2026-03-01', 7, true)")
print("loaded", flush=True)
sys.stdin.read()
"""


def test_a_row_of_a_duckdb_file_that_somebody_loads(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.duckdb")
    assert looks.row_of(file, LOADED) is None, "the file comes with its first load"
    writer = [sys.executable, "-c", WRITER, file]
    with subprocess.Popen(writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loaded\n"
        assert looks.row_of(file, LOADED) is None, "whoever loads it has it open"
    assert [str(one) for one in looks.row_of(file, LOADED)] == ["2026-03-01", "7"]
    Path(file).write_bytes(b"no database at all" * 1000)
    with pytest.raises(Exception, match="not a valid DuckDB database file"):
        looks.row_of(file, LOADED)


# ------------------------------------------------------------------ files and objects
def test_files_by_pattern(tmp_path: Path) -> None:
    trigger = FileExists(f"{tmp_path}/**/*.csv", at_least=2)
    (tmp_path / "one.csv").touch()
    assert asyncio.run(trigger.check()) is None
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "two.csv").touch()
    assert watching(trigger) == [f"{tmp_path}/below/two.csv", f"{tmp_path}/one.csv"]


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of a server that speaks S3."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


def put(store: str, path: str, body: bytes | None = None) -> None:
    with urllib.request.urlopen(urllib.request.Request(f"http://{store}/{path}", data=body, method="PUT")) as answer:
        assert answer.status == 200


def test_objects_of_a_store(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    options = f"?endpoint_override={store}&scheme=http&region=us-east-1"
    assert looks.files(f"s3://landing/2026-03-01/orders.csv{options}") == [], "not even its bucket is there"
    put(store, "landing")
    assert looks.files(f"s3://landing/2026-03-01/*.csv{options}") == []
    for name in ("2026-03-01/orders.csv", "2026-03-01/more/orders.csv", "2026-03-01/orders.txt", "2026-03-02/x.csv"):
        put(store, f"landing/{name}", b"1")
    first = "s3://landing/2026-03-01/orders.csv"
    assert watching(FileExists(f"{first}{options}")) == [first]
    assert watching(FileExists(f"s3://landing/2026-03-01/*.csv{options}")) == [first]
    assert looks.files(f"s3://landing/*/*.csv{options}") == [first, "s3://landing/2026-03-02/x.csv"]
    assert looks.files(f"s3://landing/2026-03-01/**/[a-o]*.csv{options}") == [
        "s3://landing/2026-03-01/more/orders.csv",
        first,
    ]
    assert looks.files(f"s3://landing/2026-03-01{options}") == [], "a folder is no object"


AZURE = "credential_kind=anonymous&enable_tls=false&blob_storage_authority={host}&dfs_storage_authority={host}"


class Refusing(BaseHTTPRequestHandler):
    """Says no for good: as Google's store in JSON, as Azure's in a header."""

    status = 403

    def do_GET(self) -> None:
        body = b"" if self.command == "HEAD" else b'{"error": {"code": %d, "message": "no"}}' % self.status
        self.send_response(self.status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-ms-error-code", "AuthorizationFailure")
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - as the base class calls it

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    "url",
    [
        "gs://anonymous@landing/a/{name}?endpoint_override={host}&scheme=http",
        f"abfs://shop@landing/a/{{name}}?{AZURE}",
    ],
    ids=["gs", "abfs"],
)
@pytest.mark.parametrize("name", ["x.csv", "*.csv"])
def test_a_store_that_says_no_for_good_fails(url: str, name: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "status", status)
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            with pytest.raises(OSError, match=r"DENIED|UNAUTHENTICATED|Forbidden|Unauthorized"):
                looks.files(url.format(name=name, host=f"127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
            serving.join()


@pytest.mark.parametrize(
    ("variable", "given", "sent"),
    [
        ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0", "SharedKey shop:"),
        ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=shop;AccountKey=c2VjcmV0", "SharedKey shop:"),
        ("AZURE_STORAGE_SAS_TOKEN", "sv=2026-01-01&sig=abc", "sig=abc"),
    ],
)
def test_a_store_of_azure_is_asked_with_what_the_environment_has(
    variable: str, given: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Recording(Refusing):
        def do_GET(self) -> None:
            asked.append(f"{self.headers['Authorization']} {self.path}")
            super().do_GET()

        do_HEAD = do_GET  # noqa: N815 - as the base class calls it

    monkeypatch.setenv(variable, given)
    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        here = f"127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(OSError, match="Forbidden"):
                looks.files(f"abfs://shop@landing/a/x.csv?{AZURE.format(host=here).partition('&')[2]}")
        finally:
            server.shutdown()
            serving.join()
    assert asked
    assert all(sent in one for one in asked), asked


def test_a_store_of_google_that_is_away_is_not_waited_for_by_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would try again for a quarter of an hour."""
    monkeypatch.setattr(looks, "_GS_RETRY_S", 1)
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        closed = f"127.0.0.1:{server.server_port}"
    assert looks.files(f"gs://anonymous@landing/a/*.csv?endpoint_override={closed}&scheme=http") == []


def test_what_is_no_store_fails() -> None:
    with pytest.raises(TriggerFailed, match="s3://, gs:// or abfs://"):
        looks.files("htp://landing/a.csv")
