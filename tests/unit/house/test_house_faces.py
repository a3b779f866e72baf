"""Packages whose names are loaded on demand say the same three times: to the type checker, at run time and in `__all__`."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

CORE = Path(__file__).parents[3] / "core" / "partita" / "core"


def faces() -> list[str]:
    found = [file for file in CORE.rglob("*.py") if "else:\n    __getattr__ = on_demand(" in file.read_text()]
    places = [file.relative_to(CORE).with_suffix("").parts for file in found]
    return sorted(".".join(("partita", "core", *parts)).removesuffix(".__init__") for parts in places)


def names_checked(module: ModuleType) -> dict[str, str]:
    """The names that the type checker sees, with the module of each."""
    assert module.__file__
    tree = ast.parse(Path(module.__file__).read_text())
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        alias.name: node.module
        for node in taken
        if node.module and node.module.startswith("partita.") and node.module != "partita.core.faces"
        for alias in node.names
    }


def test_there_are_faces() -> None:
    assert "partita.core.planner" in faces()


@pytest.mark.parametrize("face", faces())
def test_a_face_gives_what_it_names(face: str) -> None:
    module = import_module(face)
    checked = names_checked(module)
    assert sorted(checked) == sorted(module.__all__)
    for name, home in checked.items():
        assert getattr(module, name) is getattr(import_module(home), name), name
        assert not isinstance(getattr(module, name), ModuleType), f"{name} is hidden by the submodule of that name"
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        module.nothing_of_the_kind  # noqa: B018
