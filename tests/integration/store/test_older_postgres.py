"""Any Postgres from 15 on serves (PARTITA_DATABASE_URL): Debian's server gets the same schema and gives the same results.

The oldest supported release runs a few sequences of the differential test; everything else runs on the embedded one.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest
from tests.integration.store.test_store_differential import _Pair, _start_pulse_alike

from partita.core.embedded.account import choose_account
from partita.core.store.open import migrate, open_store

BIN = Path("/usr/lib/postgresql/15/bin")

pytestmark = pytest.mark.skipif(
    not (BIN / "postgres").exists(), reason="needs Debian's server: apt-get install postgresql-15"
)


@pytest.fixture(scope="module")
def older_url() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="pt-pg15-"))
    folder.chmod(0o755)
    cluster = folder / "data"
    cluster.mkdir(mode=0o700)
    account = choose_account(BIN / "postgres", cluster)
    account.own(folder, cluster)
    options = account.popen_options()
    initdb = [
        *account.prefix,
        str(BIN / "initdb"),
        "-D",
        str(cluster),
        "-U",
        "partita",
        "--auth=trust",
        "-N",
        "-E",
        "UTF8",
    ]
    subprocess.run(initdb, check=True, capture_output=True, **options)  # type: ignore[call-overload]
    server = subprocess.Popen(  # type: ignore[call-overload]
        [
            *account.prefix, str(BIN / "postgres"), "-D", str(cluster), "-k", str(folder),
            "-c", "listen_addresses=", "-c", "fsync=off",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options,
    )  # fmt: skip
    url = f"postgresql://partita@/postgres?host={folder}"
    try:
        _wait(url, server)
        migrate(url)
        yield url
    finally:
        server.terminate()
        server.wait(60)
        shutil.rmtree(folder)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None, "the server ended"


def test_the_oldest_supported_postgres_does_the_same(older_url: str) -> None:
    with psycopg.connect(older_url) as connection:
        assert connection.info.server_version // 10000 == 15
    store = open_store(older_url)
    try:
        pair = _Pair(store, Random(15))
        _start_pulse_alike(pair)
        for _ in range(120):
            pair.transaction()
        pair.assert_equal_tables(older_url)
    finally:
        store.close()


def test_migrating_again_changes_nothing(older_url: str) -> None:
    migrate(older_url)
