"""Laws of the normal form, over real code: this repository's SDK and part of the standard library."""

from __future__ import annotations

import ast
import json as a_package
from functools import cache
from pathlib import Path

import pytest

import partita.sdk
from partita.sdk.fingerprint.normal import canonical, normalised

FOLDERS = [Path(str(partita.sdk.__file__)).parent, Path(a_package.__file__).parent]
FILES = sorted(file for folder in FOLDERS for file in folder.rglob("*.py"))


@cache
def statements(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text()).body


def bare(statement: ast.stmt) -> str:
    """An independent normal form: the normalised tree as `ast.dump` prints it."""
    return ast.dump(normalised(statement))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_layout_and_comments_never_count(file: Path) -> None:
    for statement in statements(file):
        again = ast.parse("# a comment\n\n" + ast.unparse(statement)).body[0]
        assert canonical(normalised(statement)) == canonical(normalised(again))


def test_two_statements_share_a_form_only_when_they_are_the_same_program() -> None:
    by_form: dict[bytes, str] = {}
    for file in FILES:
        for statement in statements(file):
            assert by_form.setdefault(canonical(normalised(statement)), bare(statement)) == bare(statement)
    assert len(by_form) > 500


SAME = [
    ("def f():\n    '''doc'''\n    return 1", "def f():\n    return 1"),
    ("def f(a: int) -> str:\n    return a", "def f(a):\n    return a"),
    ("class A:\n    'doc'\n    x: int = 1", "class A:\n    x: int = 1"),
    ("def f():\n    pass", "def f(): ..."),
    ("x = 'a' 'b'", "x = 'ab'"),
    ("x = 0x10", "x = 16"),
    ("x = u'a'", "x = 'a'"),
    ("def f():\n    g(\n        1,\n    )", "def f(): g(1)"),
]  # fmt: skip
DIFFERENT = [
    ("x = 1", "x = True"),
    ("x = 1", "x = 1.0"),
    ("x = 'a'", "x = b'a'"),
    ("x = 0.0", "x = -0.0"),
    ("class A:\n    x: int = 1", "class A:\n    x: str = 1"),
    ("f(a, b)", "f(a=b)"),
    ("x = (a, b)", "x = [a, b]"),
    ("def f(a, /): pass", "def f(a): pass"),
    ("if a:\n    pass\nelse:\n    b()", "if a:\n    b()"),
    ("try:\n    a()\nexcept E:\n    pass", "try:\n    a()\nfinally:\n    pass"),
    ("x = None", "x = ..."),
    ("return_ = lambda: None", "return_ = lambda: 0"),
    ("def f():\n    return", "def f():\n    return None"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_program(one: str, other: str) -> None:
    assert form(one) == form(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_program(one: str, other: str) -> None:
    assert form(one) != form(other)


def form(code: str) -> bytes:
    return canonical(normalised(ast.parse(code).body[0]))
