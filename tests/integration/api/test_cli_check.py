"""`partita check` as CI runs it: real loaders, real time limits (S-062, S-063, S-244)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from partita.ui.cli import run

GOOD = """
from partita.sdk import asset, defaults

defaults(owner="team:shop")

@asset(io=None)
def orders() -> None: ...
"""
BROKEN = "raise RuntimeError('the warehouse is closed')\n"
HANGS = "import threading\nthreading.Event().wait()\n"
SLOW = "import time\ntime.sleep(0.4)\n"
AGAIN = GOOD.replace('defaults(owner="team:shop")', "")
CYCLE_A = """
from partita.sdk import asset, remote

@asset(io=None, deps=[remote("b")])
def a() -> None: ...
"""
CYCLE_B = CYCLE_A.replace("def a", "def b").replace('remote("b")', 'remote("a")')


def project(folder: Path, locations: dict[str, dict[str, str]], *, limit_s: float = 60) -> None:
    """A partita.toml with these modules; their names are unique, because they are imported from one folder."""
    lines = [f"[code_server]\nimport_timeout_s = {limit_s}\n"]
    for location, modules in locations.items():
        lines.append(f'[[location]]\nname = "{location}"\nmodules = {json.dumps(list(modules))}\n')
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(source)
    (folder / "partita.toml").write_text("\n".join(lines))


def check(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any]]:
    monkeypatch.delenv("PARTITA_PROJECT", raising=False)
    code = run(["--project", str(folder), "check", "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_project_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, {"shop": {"shop_good": GOOD}})
    code, told = check(tmp_path, monkeypatch, capsys)
    assert (code, told["ok"], told["findings"]) == (0, True, [])
    assert told["locations"][0]["assets"] == 1
    assert "shop_good" not in sys.modules, "the command itself imports no user code (law 1)"


def test_what_raises_or_hangs_is_named_and_the_rest_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {"shop_broken": BROKEN, "shop_hangs": HANGS, "shop_good": GOOD, "shop_slow": SLOW}
    project(tmp_path, {"shop": modules}, limit_s=3)
    code, told = check(tmp_path, monkeypatch, capsys, "--max-import-s", "0.3")
    found = {(one["code"], one["subject"]): one["what"] for one in told["findings"]}
    assert code == 1
    assert "the warehouse is closed" in found["module_broken", "shop_broken"]
    assert "longer than 3 s" in found["module_broken", "shop_hangs"]
    assert found["slow_import", "shop_slow"].startswith("its import takes")
    assert told["locations"][0]["assets"] == 1


def test_a_key_in_two_locations_a_cycle_across_them_and_a_missing_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, {"one": {"one_good": GOOD}, "two": {"two_again": AGAIN}})
    code, told = check(tmp_path, monkeypatch, capsys)
    found = {one["code"]: one for one in told["findings"]}
    assert code == 1
    assert "orders" in found["not_sound"]["what"]
    assert found["no_owner"]["severity"] == "warning"
    project(tmp_path, {"one": {"one_cycle": CYCLE_A}, "two": {"two_cycle": CYCLE_B}})
    code, told = check(tmp_path, monkeypatch, capsys)
    [cycle] = [one["what"] for one in told["findings"] if one["code"] == "not_sound"]
    assert code == 1
    assert "a" in cycle
    assert "->" in cycle


STAMPED = """
from datetime import UTC, datetime
from partita.sdk import asset, defaults

defaults(owner="team:shop")

@asset(io=None)
def stamped() -> None:
    datetime.now(UTC)

@asset(io=None)
def meant() -> None:
    datetime.now(UTC)  # partita: wall clock
"""


def test_a_step_that_asks_the_clock_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S-087: no error, unless warnings are."""
    project(tmp_path, {"shop": {"shop_stamped": STAMPED}})
    code, told = check(tmp_path, monkeypatch, capsys)
    assert code == 0
    [found] = told["findings"]
    assert (found["severity"], found["subject"]) == ("warning", "shop_stamped")
    assert found["what"].startswith("stamped calls datetime.now() in line 9")
    assert check(tmp_path, monkeypatch, capsys, "--strict")[0] == 1
