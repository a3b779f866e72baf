"""What counts as a change of a location's code, and when it is complete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from partita.core.runtime.watch import Settling, look

A, B, C = (1, 10), (2, 10), (3, 10)


def test_a_change_is_told_once_and_after_it_settled() -> None:
    settling = Settling({"a.py": A}, quiet_s=0.3)
    assert settling.look({"a.py": A}, 0.0) == ()
    assert settling.look({"a.py": B}, 1.0) == ()
    assert settling.pending
    assert settling.look({"a.py": C}, 1.2) == (), "the editor still writes"
    assert settling.look({"a.py": C}, 1.4) == ()
    assert settling.look({"a.py": C}, 1.5) == ("a.py",)
    assert not settling.pending
    assert settling.look({"a.py": C}, 9.0) == ()


def test_a_change_that_is_taken_back_is_none() -> None:
    settling = Settling({"a.py": A}, quiet_s=0.3)
    assert settling.look({"a.py": B}, 1.0) == ()
    assert settling.look({"a.py": A}, 1.1) == ()
    assert settling.look({"a.py": A}, 9.0) == ()


def test_files_that_come_and_go_are_changes() -> None:
    settling = Settling({"a.py": A, "b.py": A}, quiet_s=0.3)
    settling.look({"a.py": A, "c.py": A}, 1.0)
    assert settling.look({"a.py": A, "c.py": A}, 2.0) == ("b.py", "c.py")


def test_only_modules_of_the_project_are_looked_at(tmp_path: Path) -> None:
    seen = ["shop.py", "package/deep/part.py"]
    unseen = [
        "notes.txt", "__pycache__/shop.py", ".venv/lib/x.py", ".partita/x.py", "env/pyvenv.cfg", "env/lib/y.py",
        "node_modules/z.py", ".#shop.py", "state/kept.py",
    ]  # fmt: skip
    for name in [*seen, *unseen]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    found = look(tmp_path, [tmp_path / "state"])
    assert sorted(os.path.relpath(one, tmp_path) for one in found) == sorted(seen)


def test_a_root_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert look(tmp_path / "gone") == {}


def test_a_look_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.py").write_text("")
    (tmp_path / "shop.py").chmod(0)
    monkeypatch.setattr("builtins.open", lambda *_: pytest.fail("a file was opened"))
    assert look(tmp_path)[str(tmp_path / "shop.py")][1] == 0
