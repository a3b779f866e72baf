"""`partita init` writes a project and nothing over what is there (S-045)."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from partita.core.config import load_config
from partita.ui.cli import run
from partita.ui.cli.starter import files_of, module_name

NAMES = {
    "shop": "shop",
    "My Shop": "my_shop",
    "2026": "assets_2026",
    "日本": "assets",
    "json": "json_assets",
    "class": "class_assets",
}


@pytest.mark.parametrize(("folder", "module"), NAMES.items())
def test_a_folder_of_any_name_gives_a_module_that_can_be_imported(folder: str, module: str) -> None:
    assert module_name(folder, taken=lambda name: name in sys.stdlib_module_names) == module


@pytest.mark.parametrize("folder", NAMES)
def test_what_init_writes_is_python_and_a_configuration(folder: str, tmp_path: Path) -> None:
    for name, text in files_of(folder, date(2026, 3, 8), taken=lambda _: False).items():
        (tmp_path / name).write_text(text)
        if name.endswith(".py"):
            compile(text, name, "exec")
    assert load_config(tmp_path, environ={}).locations[0].modules


def test_a_new_project_passes_its_own_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "my-shop"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == ["partita.toml", "my_shop.py", "test_my_shop.py", ".gitignore"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=told["folder"], capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_what_is_there_stays_and_nothing_is_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    assert run(["init", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "already has .gitignore" in told
    assert "fix:" in told
    assert [one.name for one in tmp_path.iterdir()] == [".gitignore"]
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("")
    assert run(["init", str(tmp_path / "notes")]) == 2
    assert "is a file" in capsys.readouterr().err
