"""The source of project-local modules: what each top-level name is bound by, and what each import means.

Owns parsing and looking up by name. A module is project-local when its file lies under the project's root, outside of
site-packages; everything else is a library, whose version is not part of a fingerprint.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

_LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True)
class Imported:
    """A name bound by an import: `from module import attribute`, or `import module` (attribute None)."""

    module: str
    attribute: str | None = None


@dataclass(frozen=True)
class ModuleSource:
    """One parsed module."""

    name: str
    tree: ast.Module
    is_package: bool = False
    seen: dict[ast.stmt, Any] = field(default_factory=dict, repr=False, compare=False)
    """What the walk found in a statement."""

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """Top-level statements by the names that they bind or change, in order; imports are apart."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        for statement in self.tree.body:
            for name in dict.fromkeys(_bound(statement)):
                found[name].append(statement)
        return dict(found)

    @cached_property
    def imports(self) -> dict[str, Imported]:
        """Names bound by the imports anywhere at the top level, also inside `if` and `try`."""
        return dict(
            pair
            for statement in self.tree.body
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for node in ast.walk(statement)
            for pair in imported_names(node, self)
        )

    @cached_property
    def star_imports(self) -> list[str]:
        """Modules of `from x import *`."""
        return [
            absolute(node, self)
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        ]

    def function_at(self, line: int, name: str) -> ast.stmt | None:
        """The def of that name which begins at `line`, whether its decorators are counted or not."""
        return self._functions.get((line, name))

    def class_named(self, qualname: str) -> ast.ClassDef | None:
        """The class of that qualified name, also inside functions and classes."""
        return self._classes.get(qualname)

    @cached_property
    def _functions(self) -> dict[tuple[int, str], ast.stmt]:
        found: dict[tuple[int, str], ast.stmt] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found[node.lineno, node.name] = found[first, node.name] = node
        return found

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        found: dict[str, ast.ClassDef] = {}
        pending: list[tuple[ast.AST, str]] = [(self.tree, "")]
        while pending:
            node, prefix = pending.pop()
            for child in ast.iter_child_nodes(node):
                inside = prefix
                if isinstance(child, ast.ClassDef):
                    found.setdefault(prefix + child.name, child)
                    inside = f"{prefix}{child.name}."
                elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                    inside = f"{prefix}{child.name}.<locals>."
                pending.append((child, inside))
        return found


class Sources:
    """The modules of one project, parsed at first use."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._parsed: dict[str, ModuleSource | None] = {}

    def get(self, name: str) -> ModuleSource | None:
        """The module's source; None when it is not of this project or has none."""
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def is_local(self, file: Path) -> bool:
        """Whether a file belongs to the project."""
        file = file.resolve()
        if not file.is_relative_to(self._root):
            return False
        return not _LIBRARY_FOLDERS.intersection(file.relative_to(self._root).parts)

    def _parse(self, name: str) -> ModuleSource | None:
        file = _file_of(name)
        if file is None or file.suffix != ".py" or not self.is_local(file) or _is_platform(name):
            return None
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None
        return ModuleSource(name, tree, is_package=file.name == "__init__.py")


def imported_names(node: ast.AST, module: ModuleSource) -> Iterator[tuple[str, Imported]]:
    """What one import statement binds; nothing for other nodes."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Imported(alias.name)
            else:
                top = alias.name.partition(".")[0]
                yield top, Imported(top)
    elif isinstance(node, ast.ImportFrom):
        origin = absolute(node, module)
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, Imported(origin, alias.name)


def absolute(node: ast.ImportFrom, module: ModuleSource) -> str:
    """The absolute name of the module which a `from` import names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    keep = len(parts) - node.level + (1 if module.is_package else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    if isinstance(statement, ast.Expr):  # CONFIG.update(...) changes CONFIG
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and (name := _root_name(call.func)):
            yield name
        return
    for node in _walk_scope(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from filter(None, [_root_name(node)])


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The node and its children, without the insides of functions and classes."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk_scope(child)


def _root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _file_of(name: str) -> Path | None:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None and module is None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if file else None


def _is_platform(name: str) -> bool:
    return name == "partita" or name.startswith("partita.")
