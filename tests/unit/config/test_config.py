"""The configuration file: found upwards, strict, overridden by the environment (S-044)."""

from __future__ import annotations

from pathlib import Path

import pytest

from partita.core.alerts import Routing
from partita.core.config import ConfigError, check_addresses, load_config

FILE = """
home = "state"
[[location]]
name = "flights"
root = "code"
modules = ["flights_location"]
[[location]]
name = "elsewhere"
address = "10.0.0.1:5001"
[pools]
warehouse = 2
[worker]
capacity = 3
queues = ["gpu", "default"]
"""


def write(folder: Path, text: str = FILE) -> Path:
    file = folder / "partita.toml"
    file.write_text(text)
    return file


def test_is_found_above_and_paths_are_relative_to_it(tmp_path: Path) -> None:
    write(tmp_path)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    config = load_config(inner, environ={})
    assert config.home == tmp_path / "state"
    assert config.location("flights").root == tmp_path / "code"
    assert (config.pools, config.worker.capacity) == ({"warehouse": 2}, 3)
    assert config.worker.queues == ("default", "gpu")


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    write(tmp_path)
    environ = {"PARTITA_PROJECT": str(tmp_path), "PARTITA_DATABASE_URL": "postgresql://x", "PARTITA_HOME": "/elsewhere"}
    config = load_config(environ=environ)
    assert config.database.url == "postgresql://x"
    assert config.home == Path("/elsewhere")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[worker]\ncapacity = 0", r"worker\.capacity"),
        ("[worker]\nqueues = ['gpu,big']", r"`worker\.queues` cannot be used.*queue 'gpu,big'.*1 to 63 letters"),
        ("[worker]\nqueues = []", r"`worker\.queues` cannot be used.*names no queue"),
        ("[pools]\n'asset:x' = 2", "has the name of a cap.*max_active"),
        ("[lanes.night]\nweight = 0", r"`lanes\.night\.weight` cannot be used"),
        ("[lanes.a]\nreserved = 0.5\n[lanes.b]\nreserved = 0.5", "reserve 1 of each pool together"),
        ("[pools]\nx = -1", r"`pools\.x` cannot be used"),
        ("[limits]\nmax_running = 0", r"limits\.max_running"),
        ("[limits]\nmax_active_per_run = 0", r"limits\.max_active_per_run"),
        ("hom = 'x'", r"`hom`.*'home'"),
        ("[api]\nprot = 1", r"`api\.prot` is no setting.*host, port.*'port'"),
        ("[[location]]\nname='a'\nmodul=['m']", r"\[\[location\]\] 1, `modul` is no setting.*'modules'"),
        ("[[locations]]\nname='a'\nmodules=['m']", r"`locations` is no setting.*'location'"),
        ("file = 'x'", r"`file` is no setting"),
        ("[[location]]\nname = 'a'", "neither `modules`"),
        ("[[location]]\nname='a'\nmodules=['m']\n[[location]]\nname='a'\nmodules=['m']", "configured twice"),
        ("x = = 1", "not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path, environ={})


@pytest.mark.parametrize("port", ["four", "-1", "70000"])
def test_a_port_of_the_environment_is_a_port(tmp_path: Path, port: str) -> None:
    write(tmp_path)
    with pytest.raises(ConfigError, match="PARTITA_API_PORT is '"):
        load_config(tmp_path, environ={"PARTITA_API_PORT": port})


def test_a_missing_file_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PARTITA_PROJECT"):
        load_config(tmp_path, environ={})


def test_an_unknown_location_gets_a_suggestion(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'flights'"):
        load_config(tmp_path, environ={}).location("flight")


def test_history_is_kept_for_ninety_days_for_ever_or_as_long_as_is_said(tmp_path: Path) -> None:
    """S-231."""
    known = load_config(write(tmp_path), environ={})
    assert (known.retention.days, known.archive) == (90.0, tmp_path / "state" / "archive")
    known = load_config(write(tmp_path, FILE + '[retention]\ndays = 0\nfolder = "/srv/history"'), environ={})
    assert (known.retention.days, known.archive) == (0.0, Path("/srv/history"))
    with pytest.raises(ConfigError, match="for a day at least"):
        load_config(write(tmp_path, FILE + "[retention]\ndays = 0.5"), environ={})


@pytest.mark.parametrize("environ", [{}, {"OPS_CHAT": ""}])
def test_only_who_sends_alerts_needs_their_addresses(tmp_path: Path, environ: dict[str, str]) -> None:
    alert = '[[alert]]\nname = "stuck"\non = ["blocked"]\nto = ["$OPS_CHAT"]\n'
    config = load_config(write(tmp_path, FILE + alert), environ=environ)
    with pytest.raises(ConfigError, match="alert `stuck`: the variable OPS_CHAT is not set"):
        check_addresses(config, environ=environ)
    check_addresses(config, environ={"OPS_CHAT": "json://hook"})
    known = Routing(config.alerts, environ=environ).target("alert:stuck#1")
    assert known is not None
    assert (known.scheme, known.url) == ("$OPS_CHAT", "")
