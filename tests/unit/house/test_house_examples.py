"""Every public name has a docstring with an example, and every example runs.

Public are the names of `partita.assets` and `partita.sdk`, and what the readers of the conformance cases take of `partita.core`.
Examples see the public names of their package, `datetime`, `date`, `timedelta` and `UTC`, and import the rest themselves.
"""

from __future__ import annotations

import ast
import datetime
import doctest
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Annotated, Any

import pytest

import partita.assets
import partita.sdk
from partita.sdk.collector import Collector, collecting

ROOT = Path(__file__).parents[3]
FLOORS = ("assets", "sdk", "core")
INSTANTS = {"datetime": datetime.datetime, "date": datetime.date, "timedelta": datetime.timedelta, "UTC": datetime.UTC}
SCOPES: Mapping[str, Mapping[str, Any]] = {
    "assets": {name: getattr(partita.assets, name) for name in partita.assets.__all__} | INSTANTS,
    "sdk": {name: getattr(partita.sdk, name) for name in partita.sdk.__all__} | INSTANTS | {"Annotated": Annotated},
    "core": {},
}
EXEMPT = {
    "partita.core.decide.admit.admit": "its arguments are rows of the store; the tests of `decide` are its examples",
    "partita.core.planner.launch.to_launch": "it only translates a plan, whose example is `plan`",
    "partita.core.automation.follow.run_automation": "a duty: it takes a store",
    "partita.core.automation.clocks.run_clocks": "a duty: it takes a store",
    "partita.core.changes.observed.observations_of": "it takes a catalog, which only a store gives",
}
"""Public, and without an example of their own, with the reason. Duties need none: they take a store."""


def _modules() -> Iterator[tuple[str, str, Path]]:
    for floor in FLOORS:
        for file in sorted((ROOT / floor / "partita" / floor).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT / floor).with_suffix("").parts).removesuffix(".__init__")
            if ">>>" in file.read_text():
                yield floor, name, file


@cache
def _docstrings(file: Path) -> dict[str, str]:
    """Of everything at the top of a module: of classes and functions their own, of a value the text below it."""
    body = ast.parse(file.read_text()).body
    found: dict[str, str] = {}
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found[target.id] = str(below.value.value)
    return found


def _values(file: Path) -> dict[str, str]:
    """The docstrings that doctest does not see: those below a value."""
    defined = {
        node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    return {name: text for name, text in _docstrings(file).items() if name not in defined}


@pytest.mark.parametrize(
    ("floor", "name", "file"), list(_modules()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_the_examples_of_a_module_run(floor: str, name: str, file: Path) -> None:
    module = import_module(name)
    scope = {**vars(module), **SCOPES[floor], "__name__": "__main__"}
    found = doctest.DocTestFinder(exclude_empty=True).find(module, name, globs=scope)
    found += [
        doctest.DocTestParser().get_doctest(text, dict(scope), f"{name}.{value}", str(file), 0)
        for value, text in _values(file).items()
    ]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for one in found:
        with collecting(Collector()):  # what an example defines stays in it
            runner.run(one, out=said.append)
    assert runner.failures == 0, "".join(said)


def _where(package: ModuleType, name: str) -> str:
    """The docstring of a public name, wherever it is defined."""
    thing = getattr(package, name)
    if isinstance(thing, ModuleType):
        return thing.__doc__ or ""
    module = getattr(thing, "__module__", "") if isinstance(thing, type | FunctionType) else ""
    if module:
        return _docstrings(Path(str(import_module(module).__file__))).get(name, "")
    files = [file for floor in ("assets", "sdk") for file in (ROOT / floor / "partita" / floor).rglob("*.py")]
    return next((text[name] for file in files if name in (text := _values(file))), "")


PUBLIC = [(package, name) for package in (partita.assets, partita.sdk) for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=[f"{package.__name__}.{name}" for package, name in PUBLIC])
def test_a_public_name_says_what_it_is_and_shows_it(package: ModuleType, name: str) -> None:
    text = _where(package, name)
    said, _, example = text.partition(">>>")
    assert said.strip(), f"{name} has no docstring"
    assert example, f"{name} has no example in its docstring"


def _read_of_core() -> Iterator[tuple[str, str]]:
    """The functions of the control plane that readers of conformance cases call: (module, name)."""
    for reader in sorted((ROOT / "tests" / "conformance").glob("*.py")):
        for node in ast.walk(ast.parse(reader.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("partita.core"):
                for one in node.names:
                    thing = getattr(import_module(str(node.module)), one.name, None)
                    if isinstance(thing, FunctionType):
                        yield thing.__module__, thing.__name__


@pytest.mark.parametrize(("module", "name"), sorted(set(_read_of_core())))
def test_what_readers_of_cases_call_says_what_it_does(module: str, name: str) -> None:
    text = _docstrings(Path(str(import_module(module).__file__))).get(name, "")
    assert text, f"{module}.{name} has no docstring"
    if not module.startswith("partita.core.duties") and f"{module}.{name}" not in EXEMPT:
        assert ">>>" in text, f"{module}.{name} has no example"


def test_no_exemption_outlives_its_name() -> None:
    for one in EXEMPT:
        module, _, name = one.rpartition(".")
        assert ">>>" not in _docstrings(Path(str(import_module(module).__file__)))[name]
