"""Finds steps that ask the clock (S-087): right on the day, and wrong on every retry and backfill, with no error.

Owns the list of calls and the words. Looks at the text of the step's own function and nothing that it calls; a call is meant
when its line says so.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

MEANT = "# partita: wall clock"
"""On the line of a call: the time at which the step runs is what is meant."""

_CALLS = frozenset(
    {
        "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow", "datetime.date.today",
        "time.time", "time.time_ns",
    }
)  # fmt: skip
_OF_LIBRARIES = {"pendulum": {"now", "today", "yesterday", "tomorrow"}, "pandas": {"now", "today", "utcnow"}}


def clock_warnings(functions: Mapping[str, Callable[..., Any]]) -> dict[str, list[str]]:
    """Per module what its steps (by name) ask the clock."""
    found: dict[str, list[str]] = {}
    for name, function in functions.items():
        plain = inspect.unwrap(function)
        for line, call in clock_calls(plain):
            found.setdefault(plain.__module__, []).append(
                f"{name} calls {call}() in line {line}: on a retry or a backfill that is another time than its partition's."
                f" Take it from context.partition or context.window, or write {MEANT} on that line when the time of the run"
                " is meant"
            )
    return found


def clock_calls(function: Callable[..., Any]) -> Iterator[tuple[int, str]]:
    """The line and the name of each call; nothing for a function whose text cannot be found."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    names = _imported(tree)
    known = getattr(function, "__globals__", {})
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        root, _, rest = _dotted(node.func).partition(".")
        origin = names.get(root) or _origin(known.get(root)) if root else ""
        call = ".".join(part for part in (origin, rest) if part)
        written = lines[node.lineno - 1 : (node.end_lineno or node.lineno)]
        if origin and _asks(call) and not any(MEANT in line for line in written):
            yield first + node.lineno - 1, _dotted(node.func)


def _asks(call: str) -> bool:
    package, last = call.partition(".")[0], call.rpartition(".")[2]
    return call in _CALLS or last in _OF_LIBRARIES.get(package, ())


def _dotted(node: ast.expr) -> str:
    """`a.b.c`; "" for what is no chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _imported(tree: ast.AST) -> dict[str, str]:
    """Names that the function imports itself."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                found[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _origin(value: object) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else ""
