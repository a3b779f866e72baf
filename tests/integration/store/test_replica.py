"""History is read from a replica, and what must be fresh is not (S-232). The replica here is a second database, so that each read
shows where it came from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from partita.core.config import load_config
from partita.core.embedded import EmbeddedPostgres
from partita.core.logs import LogStore
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore
from partita.ui.api.problems import NotFound
from partita.ui.api.services import Services, services_of

RUN = """
    INSERT INTO run (state, cause, request, plan_hash, as_of, task_count, finished_at)
    SELECT s, '{"kind": "api", "text": "made for this"}', '{}', 'h', now(), 0, CASE WHEN s = 'running' THEN NULL ELSE now() END
    FROM unnest(%s::text[]) AS u(s)
"""


@pytest.fixture
def replica_url(pg_server: EmbeddedPostgres, pg_url: str) -> Iterator[str]:
    """A copy of the primary, taken when it has one run that ended, and one that is open."""
    name = str(conninfo_to_dict(pg_url)["dbname"])
    copy = f"r_{uuid4().hex[:12]}"
    with psycopg.connect(pg_url, autocommit=True) as connection:
        connection.execute(RUN, [["success", "running"]])
    with psycopg.connect(pg_server.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}" STRATEGY file_copy'.encode())
    yield pg_url.replace(f"/{name}?", f"/{copy}?")
    with psycopg.connect(pg_server.url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{copy}" WITH (FORCE)'.encode())


@pytest.fixture
def store(pg_url: str, replica_url: str) -> Iterator[PostgresStore]:
    store = open_store(pg_url, replica_url=replica_url)
    yield store
    store.close()


@pytest.fixture
def services(store: PostgresStore, tmp_path: Path) -> Services:
    logs = LogStore(tmp_path)
    return services_of(store, logs, wake=lambda names: None, on_wake=lambda callback: None, who="ann", kind="api")


def mark(url: str, run_id: int, text: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        cause = f'{{"kind": "api", "text": "{text}"}}'
        connection.execute("UPDATE run SET cause = %s::jsonb WHERE id = %s", [cause, run_id])


def test_lists_and_what_has_ended_come_from_the_replica(services: Services, pg_url: str, replica_url: str) -> None:
    for url, text in ((pg_url, "primary"), (replica_url, "replica")):
        mark(url, 1, text)
        mark(url, 2, text)
    assert [one.cause.text for one in services.runs.page().runs] == ["replica", "replica"]
    assert services.runs.detail(1).cause.text == "replica"


def test_what_is_open_and_what_the_replica_does_not_know_yet_come_from_the_primary(
    services: Services, pg_url: str, replica_url: str
) -> None:
    for url, text in ((pg_url, "primary"), (replica_url, "replica")):
        mark(url, 2, text)
    assert services.runs.detail(2).cause.text == "primary"
    with psycopg.connect(pg_url, autocommit=True) as connection:
        connection.execute(RUN, [["success"]])
    assert services.runs.detail(3).state == "success"
    assert services.runs.tasks(3).total == 0
    with pytest.raises(NotFound):
        services.runs.detail(4)


def test_actions_never_go_there(services: Services, store: PostgresStore, replica_url: str) -> None:
    """The audit of an action is written where everything is; the replica shows it once it has come there."""
    with store.begin() as tx:
        tx.audit("ann", "pool", {"pool": "warehouse", "slots": 3}, reason="more room")
    assert services.audit.page().entries == []
    with psycopg.connect(replica_url, autocommit=True) as connection:
        copied = "INSERT INTO audit (who, action, detail, reason) VALUES ('ann', 'pool', %s::jsonb, 'copied')"
        connection.execute(copied, ['{"pool": "p", "slots": 1}'])
    assert services.audit.page().entries[0].reason == "copied"


def test_the_primary_serves_while_the_replica_is_away(
    pg_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(pg_url, autocommit=True) as connection:
        connection.execute(RUN, [["success"]])
    store = open_store(pg_url, replica_url="postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")
    try:
        found = services_of(
            store, LogStore(tmp_path), wake=lambda names: None, on_wake=lambda callback: None, who="ann", kind="api"
        )
        with caplog.at_level(logging.WARNING):
            assert len(found.runs.page().runs) == 1
        assert "history is read from the primary: the replica does not answer" in caplog.text
    finally:
        store.close()


def test_without_a_replica_there_is_one_database(pg_url: str) -> None:
    store = open_store(pg_url)
    try:
        assert not store.has_replica
        with store.history() as reader:
            assert reader.now() is not None
    finally:
        store.close()


def test_the_setting_and_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PARTITA_DATABASE_URL", "PARTITA_DATABASE_REPLICA_URL", "PARTITA_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "partita.toml").write_text('[database]\nurl = "postgresql://p/x"\nreplica_url = "postgresql://r/x"\n')
    assert load_config(tmp_path).database.replica_url == "postgresql://r/x"
    monkeypatch.setenv("PARTITA_DATABASE_REPLICA_URL", "postgresql://other/x")
    found = load_config(tmp_path).database
    assert (found.url, found.replica_url) == ("postgresql://p/x", "postgresql://other/x")
