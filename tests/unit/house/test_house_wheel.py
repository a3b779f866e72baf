"""The wheel carries all five floors, the type markers and the built web application, and nothing else."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FLOORS = ("assets", "sdk", "grpc", "core", "ui")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel built from a copy of the sources, with a stand-in for the built UI."""
    copy = tmp_path_factory.mktemp("copy")
    for floor in FLOORS:
        shutil.copytree(
            ROOT / floor / "partita", copy / floor / "partita", ignore=shutil.ignore_patterns("static", "__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    static = copy / "ui/partita/ui/static/assets"
    static.mkdir(parents=True)
    (static / "app.js").write_text("export {}\n")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"], cwd=copy, check=True, timeout=120
    )
    (wheel,) = (copy / "dist").glob("partita-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_carries_every_module(packed: set[str]) -> None:
    sources = {
        str(path.relative_to(ROOT / floor)) for floor in FLOORS for path in (ROOT / floor / "partita").rglob("*.py")
    }
    assert sources - packed == set()
    assert {f"partita/{floor}/py.typed" for floor in FLOORS} <= packed


def test_wheel_carries_the_built_ui(packed: set[str]) -> None:
    assert "partita/ui/static/assets/app.js" in packed


def test_wheel_carries_nothing_outside_the_namespace(packed: set[str]) -> None:
    assert {name for name in packed if not name.startswith(("partita/", "partita-"))} == set()
    assert "partita/__init__.py" not in packed
