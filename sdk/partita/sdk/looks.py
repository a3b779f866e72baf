"""How the triggers that ship look once: at files, objects of a store, a URL, a row of a database. Plain functions, for threads.

Owns which answers mean "not yet": a service that is down, slow, locked or starting will be there later, and a wait of hours must
not end for that. Only what says no for good (a wrong password, a wrong query) is an error. Refuses to know
about waiting.
"""

from __future__ import annotations

import functools
import glob
import http.client
import importlib
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import IO, Any
from urllib.parse import parse_qsl, urlsplit

from partita.sdk.watching import TriggerFailed

_HTTP_LIMIT_S = 30.0
_HTTP_BYTES = 4 * 1024 * 1024
_READ_BYTES = 64 * 1024
_SQL_CONNECT_S = 10
_SQL_LIMIT_MS = 30_000
_WILDCARDS = frozenset("*[")

_NOT_FOR_GOOD = ("starting up", "shutting down", "recovery mode", "too many", "connection slots", "not accepting")
_NO_FOR_GOOD = (
    "ACCESS_DENIED",
    "NO_SUCH_BUCKET",
    "INVALID_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH",
    "NOT_IMPLEMENTED",
    "PERMISSION_DENIED",  # gs
    "UNAUTHENTICATED",  # gs
    "401 Unauthorized",  # abfs
    "403 Forbidden",  # abfs
)
_PASSWORD = re.compile(r"^(\w+://[^/@:]*):[^/@]*@")
_KIND = "credential_kind"
_GS_RETRIES = "retry_limit_seconds"
_GS_RETRY_S = 30
"""Google's client tries again for a quarter of an hour before it says that the store is away."""


# ------------------------------------------------------------------------------------------------- files and objects
def files(pattern: str) -> list[str]:
    """What matches a glob pattern, sorted: paths of this machine, or URLs of an object store (`s3://`, `gs://`, `abfs://`)."""
    if "://" in pattern:
        return _objects(pattern)
    return sorted(glob.glob(pattern, recursive=True))


def _objects(url: str) -> list[str]:
    address, _, options = url.partition("?")
    if url.startswith("gs://") and _GS_RETRIES not in options:
        options += f"{'&' if options else ''}{_GS_RETRIES}={_GS_RETRY_S}"
    base, wildcards = _before_wildcards(address)
    file_system, root = _file_system(f"{base}?{options}" if options else base)
    try:
        found = _listed(file_system, root, wildcards)
    except OSError as error:
        if any(said in str(error) for said in _NO_FOR_GOOD):
            raise
        return []  # the store is away: not yet
    shown = _PASSWORD.sub(r"\1@", base).rstrip("/")
    return sorted(f"{shown}{path[len(root) :]}" for path in found)


def _before_wildcards(address: str) -> tuple[str, list[str]]:
    """The folder above the first name with a wildcard, and the names from there on.

    >>> _before_wildcards("s3://in/2026/orders-*.csv")
    ('s3://in/2026', ['orders-*.csv'])
    """
    names = address.split("/")
    first = next((n for n, name in enumerate(names) if _WILDCARDS & set(name)), len(names))
    return "/".join(names[:first]), names[first:]


def _file_system(url: str) -> tuple[Any, str]:
    try:
        fs = importlib.import_module("pyarrow.fs")
    except ImportError:
        raise TriggerFailed(
            f"FileExists({url!r}) looks into an object store, and pyarrow is not installed",
            rule="the code location needs it",
            fix='install "partita[lake]"',
        ) from None
    try:
        made: tuple[Any, str] = _azure_by_key(fs, url) or fs.FileSystem.from_uri(url)
    except (ValueError, NotImplementedError) as error:
        raise TriggerFailed(
            f"FileExists({url!r}): {error}", rule="a URL begins with s3://, gs:// or abfs://; else write a path"
        ) from None
    return made[0], made[1].rstrip("/")  # of a container alone Azure's ends so


def _azure_by_key(fs: Any, url: str) -> tuple[Any, str] | None:
    """An account of Azure whose key, or shared access signature, the environment has, where the URL names no other kind of
    credentials: a URL cannot say either. All other kinds pyarrow finds by itself."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    said = dict(part.partition("=")[::2] for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"))
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY") or said.get("AccountKey")
    signature = os.environ.get("AZURE_STORAGE_SAS_TOKEN") or said.get("SharedAccessSignature")
    if parts.scheme not in ("abfs", "abfss") or not parts.username or not (key or signature) or _KIND in options:
        return None
    secure = options.pop("enable_tls", "true") == "true"
    schemes = {} if secure else {"blob_storage_scheme": "http", "dfs_storage_scheme": "http"}
    given = {"account_key": key} if key else {"sas_token": signature}
    try:
        made = fs.AzureFileSystem(parts.username, **given, **schemes, **options)
    except TypeError as error:
        raise ValueError(str(error)) from None
    return made, f"{parts.hostname}{parts.path}"


def _listed(file_system: Any, root: str, wildcards: Sequence[str]) -> list[str]:
    fs = importlib.import_module("pyarrow.fs")
    if not wildcards:
        return [one.path for one in file_system.get_file_info([root]) if one.type == fs.FileType.File]
    selector = fs.FileSelector(root, allow_not_found=True, recursive=len(wildcards) > 1 or "**" in wildcards)
    below = len(root) + 1
    return [
        one.path
        for one in file_system.get_file_info(selector)
        if one.type == fs.FileType.File and _matches(one.path[below:].split("/"), wildcards)
    ]


def _matches(names: Sequence[str], wildcards: Sequence[str]) -> bool:
    """Name by name; `**` stands for any number of folders.

    >>> _matches(["2026", "03", "a.csv"], ["**", "*.csv"]), _matches(["2026", "a.csv"], ["*.csv"])
    (True, False)
    """
    if not wildcards:
        return not names
    if wildcards[0] == "**" and _matches(names, wildcards[1:]):
        return True
    if not names or not (wildcards[0] == "**" or fnmatchcase(names[0], wildcards[0])):
        return False
    return _matches(names[1:], wildcards if wildcards[0] == "**" else wildcards[1:])


# ------------------------------------------------------------------------------------------------- URLs
def answer_of(url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and body of a GET, redirects followed; (0, b"") when there is no whole answer within 30 s."""
    if not url.startswith(("http://", "https://")):
        raise TriggerFailed(f"Http({url!r})", rule="a URL begins with http:// or https://")
    until_s = time.monotonic() + _HTTP_LIMIT_S
    try:
        with _opener().open(urllib.request.Request(url, headers=dict(headers)), timeout=_HTTP_LIMIT_S) as answer:
            return answer.status, _body(answer, until_s)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _body(error, until_s)
    except http.client.InvalidURL as error:
        raise TriggerFailed(f"Http({url!r}): {error}", rule="it is no URL") from None
    except (OSError, http.client.HTTPException):  # down, too slow, or gone in the middle: not yet
        return 0, b""


def _body(answer: Any, until_s: float) -> bytes:
    """Piece by piece: a time limit of the socket counts anew for each."""
    found = bytearray()
    while len(found) < _HTTP_BYTES and (piece := answer.read1(_READ_BYTES)):
        found += piece
        if time.monotonic() > until_s:
            raise TimeoutError
    return bytes(found)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to HTTP only, and hands the wait's headers to nobody but the server that they are meant for."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not newurl.startswith(("http://", "https://")):
            return None
        followed = super().redirect_request(req, fp, code, msg, headers, newurl)
        if followed is not None and _origin(newurl) != _origin(req.full_url):
            followed.headers.clear()
        return followed


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Redirects())


# ------------------------------------------------------------------------------------------------- rows
def row_of(dsn: str, query: str) -> Any:
    """The first row of a query on a Postgres (a URL) or a DuckDB file (a path); None: none, or not to be asked now."""
    return _postgres_row(dsn, query) if "://" in dsn else _duckdb_row(dsn, query)


def _postgres_row(dsn: str, query: str) -> Any:
    try:
        psycopg = importlib.import_module("psycopg")  # the user's own: the SDK needs no driver
    except ImportError:
        raise TriggerFailed(
            "SqlRow asks a Postgres, and psycopg is not installed", rule="the code location needs it", fix="install it"
        ) from None
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=_SQL_CONNECT_S)
    except psycopg.OperationalError as error:
        # The server itself said no, and not only for now. What the library says of a server that is away has no FATAL.
        if "FATAL" in str(error) and not any(said in str(error) for said in _NOT_FOR_GOOD):
            raise
        return None
    with connection:
        try:
            connection.execute(f"SET statement_timeout = {_SQL_LIMIT_MS}".encode())
            return connection.execute(query.encode()).fetchone()
        except psycopg.OperationalError:  # it shuts down, or a load holds the table locked
            return None


def _duckdb_row(path: str, query: str) -> Any:
    import duckdb

    if not os.path.exists(path):
        return None  # the file comes with its first load
    try:
        connection = duckdb.connect(path, read_only=True)
    except duckdb.IOException as error:
        if "lock" not in str(error):
            raise
        return None  # whoever loads it has it open
    with connection:
        return connection.execute(query).fetchone()
