"""Secrets: looked up when a step runs, in order, remembered for a while, never shown (S-035, S-214 to S-218)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from partita.assets import DefinitionError, PartitaError, canonical_json
from partita.sdk import Resource, secret, secret_backends
from partita.sdk import secrets as module
from partita.sdk.load import load_location


class Vault:
    """Counts how often it is asked, across forks: by the length of a file."""

    def __init__(self, log: Path, **held: str) -> None:
        self.log = log
        self.held = held

    def get(self, name: str) -> str | None:
        with self.log.open("a") as file:
            file.write(f"{name}\n")
        return self.held.get(name)

    @property
    def asked(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture(autouse=True)
def _forgetting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "_masked", [])
    yield
    secret_backends()


def test_the_environment_needs_no_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """S-216: PARTITA_SECRET_<NAME>."""
    monkeypatch.setenv("PARTITA_SECRET_SHOP_API_TOKEN", "t0ken")
    assert secret("shop/api-token") == "t0ken"
    with pytest.raises(PartitaError, match=r"secret 'nowhere' is not set; it is looked up in PARTITA_SECRET_NOWHERE"):
        secret("nowhere")


def test_backends_come_in_order_and_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-215."""
    first, second = Vault(tmp_path / "1", a="first"), Vault(tmp_path / "2", a="second", b="second")
    secret_backends(first, second)
    for name in ("A", "B", "C"):
        monkeypatch.setenv(f"PARTITA_SECRET_{name}", "environment")
    assert [secret(name) for name in ("a", "b", "c")] == ["first", "second", "environment"]
    with pytest.raises(PartitaError, match="looked up in Vault, Vault, then in PARTITA_SECRET_D"):
        secret("d")


def test_answers_are_remembered_also_that_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-217: a slow backend is asked once in a while, not once a task."""
    clock = [100.0]
    monkeypatch.setattr("partita.sdk.secrets.time.monotonic", lambda: clock[0])
    vault = Vault(tmp_path / "log", a="x" * 8)
    secret_backends(vault, ttl="5m", missing_ttl="30s")
    for _ in range(3):
        assert module.find_secret("a") == "x" * 8
        assert module.find_secret("gone") is None
    assert vault.asked == ["a", "gone"]
    clock[0] += 31
    module.find_secret("a")
    module.find_secret("gone")
    assert vault.asked == ["a", "gone", "gone"]
    clock[0] += 270
    module.find_secret("a")
    assert vault.asked == ["a", "gone", "gone", "a"]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="processes share it on Linux")
def test_forked_attempts_share_what_one_of_them_was_told(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "log", a="x" * 8)
    secret_backends(vault)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0 if secret("a") == "x" * 8 else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert vault.asked == ["a"]


def test_what_a_backend_raises_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    class Down:
        def get(self, name: str) -> str | None:
            raise ConnectionError("no route")

    secret_backends(Down(), Vault(tmp_path / "log", a="second"))
    with pytest.raises(ConnectionError, match="no route"):
        secret("a")


class Shop(Resource):
    url: str
    token: SecretStr
    spare: SecretStr | None = None


def test_a_secret_field_of_a_resource_is_looked_up_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret_backends(Vault(tmp_path / "log", shop_token="from the vault"))
    monkeypatch.setenv("SHOP_URL", "here")
    made = Shop.from_env()
    assert (made.token.get_secret_value(), made.spare) == ("from the vault", None)
    assert "from the vault" not in repr(made)
    assert module.mask("token=from the vault!") == "token=***!"
    plain = Shop.from_env({"SHOP_URL": "x", "SHOP_TOKEN": "as before"})
    assert plain.token.get_secret_value() == "as before"
    found = Shop.from_env({"SHOP_URL": "x", "SHOP_TOKEN": "plain", "PARTITA_SECRET_SHOP_TOKEN": "the secret"})
    assert found.token.get_secret_value() == "the secret"


def test_the_longer_secret_is_masked_first_and_short_ones_are_not() -> None:
    for one in ("abcd", "abcdef", "no", "-----KEY-----\nline of the key\n"):
        module.remember(one)
    assert module.mask("abcdef abcd no, line of the key") == "*** *** no, ***"


AT_IMPORT = """
from partita.sdk import asset, secret
TOKEN = secret("token")
"""
AT_RUN = """
from pydantic import SecretStr
from partita.sdk import Resource, asset, secret, secret_backends

class Vault:
    def get(self, name: str) -> str | None:
        raise AssertionError("nobody may ask at import")

secret_backends(Vault())

class Bank(Resource):
    token: SecretStr

@asset(io=None)
def paid(bank: Bank) -> None:
    secret("other")
"""


def test_an_import_cannot_read_one_and_no_snapshot_holds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-218: at the task's run time only."""
    monkeypatch.setenv("PARTITA_SECRET_TOKEN", "s3cret-value")
    monkeypatch.setenv("PARTITA_SECRET_BANK_TOKEN", "s3cret-value")
    (tmp_path / "early.py").write_text(AT_IMPORT)
    (tmp_path / "late.py").write_text(AT_RUN)
    try:
        found = load_location("bank", tmp_path, ["early", "late"]).snapshot
    finally:
        sys.path.remove(str(tmp_path))
    assert [(one.name, one.ok) for one in found.modules] == [("early", False), ("late", True)]
    assert "secret 'token' is read while module early is imported" in str(found.modules[0].error)
    assert b"s3cret-value" not in canonical_json(found)
    assert found.assets[0].resources == ("Bank",)


def test_a_backend_without_get_is_refused() -> None:
    with pytest.raises(DefinitionError, match="is no secret backend"):
        secret_backends(object())  # type: ignore[arg-type]
