"""The fingerprint of a function: a hash over its code and the project-local code which it reaches.

Owns the walk. Pieces of code (a function, a class, a module constant) are numbered in the order in which the walk finds
them, and each is hashed with the numbers that its names stand for; so the hash says which code is called under which name,
and neither file names nor module names nor machines are part of it. What cannot be seen in the source is not reached:
getattr by computed names, plug-ins, data files; `code_version=` is for those.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from pathlib import Path, PurePath
from types import FunctionType, ModuleType
from typing import Any

from partita.sdk.fingerprint.modules import Imported, ModuleSource, Sources, imported_names
from partita.sdk.fingerprint.normal import canonical, normalised, prefixed
from partita.sdk.sql import SqlFile

Chain = tuple[str, ...]
_FORMAT = b"partita code 2"
_IGNORE = "ignore_for_version"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, Decimal, date, time, timedelta)


def fingerprint_of(
    function: Callable[..., Any], *, sources: Sources, classes: Iterable[type] = (), code_version: str | None = None
) -> str:
    """The fingerprint of `code_of`."""
    return code_of(function, sources=sources, classes=classes, code_version=code_version).fingerprint


@dataclass(frozen=True, slots=True)
class Code:
    """The code that a function reaches. `parts` tells people what changed and decides nothing: by `module.name` a digest
    (16 hex digits) of the function's, class's or constant's own code, whatever it is called and whatever it calls."""

    fingerprint: str
    own: str
    """The name of the function's own part; empty without source to look at."""
    parts: Mapping[str, str]


def code_of(
    function: Callable[..., Any], *, sources: Sources, classes: Iterable[type] = (), code_version: str | None = None
) -> Code:
    """The fingerprint (32 hex digits) and its parts. `classes` are reached by the signature: resources and params model.

    `code_version` replaces the code altogether: then there are no parts.
    """
    if code_version is not None:
        return Code(_hex(prefixed([b"partita code version 1", code_version.encode()])), "", {})
    walk = _Walk(sources)
    plain = inspect.unwrap(function)
    walk.root(plain)
    for one in classes:
        walk.klass(one)
    return Code(_hex(prefixed([_FORMAT, *walk.pieces()])), _label(plain), dict(sorted(walk.parts.items())))


def fingerprint_with(fingerprint: str, option: str) -> str:
    """The fingerprint of the same code under an option that decides what becomes of its rows.

    >>> fingerprint_with("ab", "day") == fingerprint_with("ab", "hour")
    False
    """
    return _hex(prefixed([b"partita code and option 1", fingerprint.encode(), option.encode()]))


def _hex(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


def _label(one: Any) -> str:
    return f"{getattr(one, '__module__', '')}.{getattr(one, '__qualname__', type(one).__qualname__)}"


class _Walk:
    """Pieces by identity, numbered in order of discovery."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._numbers: dict[object, int] = {}
        self._texts: dict[int, bytes] = {}
        self._root: Callable[..., Any] | None = None
        self.parts: dict[str, str] = {}
        """What `Code.parts` says."""

    def pieces(self) -> list[bytes]:
        return [self._texts[number] for number in sorted(self._texts)]

    def root(self, function: Callable[..., Any]) -> None:
        """The function that makes the asset. Its own name does not count: an asset may be renamed, and stays what it is."""
        self._root = function
        self.function(function)

    def function(self, function: Callable[..., Any]) -> bytes:
        """A function object: its source, and the values that it closes over."""
        if not isinstance(function, FunctionType):
            return self.klass(type(function))
        return self._piece(("function", id(function)), lambda: self._function_text(function))

    def klass(self, one: type) -> bytes:
        """A class object."""
        module = self._sources.get(one.__module__)
        node = module.class_named(one.__qualname__) if module is not None else None
        if module is None or node is None:
            return b"library " + f"{one.__module__}.{one.__qualname__}".encode()
        if one.__qualname__ in module.bindings:
            return self._name(module, one.__qualname__)
        label = _label(one)
        return self._piece(("class", one.__module__, one.__qualname__), lambda: self._noted(label, module, [node]))

    def _piece(self, identity: object, text: Callable[[], bytes]) -> bytes:
        if identity not in self._numbers:
            number = self._numbers[identity] = len(self._numbers)
            self._texts[number] = b""  # a cycle of calls finds the number
            self._texts[number] = text()
        return b"piece %d" % self._numbers[identity]

    def _function_text(self, function: FunctionType) -> bytes:
        code = function.__code__
        module = self._module_of(function)
        node = module.function_at(code.co_firstlineno, code.co_name) if module is not None else None
        closed = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        values: list[bytes] = []
        if node is None or module is None or not _is_ignored(node, module):
            values += [prefixed([name.encode(), self._cell(closed[name])]) for name in sorted(closed)]
            values += [self._value(one) for one in function.__defaults__ or ()]
        if module is None or node is None:  # no source: typed at a prompt, or made by exec
            consts = [repr(one).encode() for one in code.co_consts if isinstance(one, _PLAIN)]
            body = prefixed([b"bytecode", code.co_code, *(name.encode() for name in code.co_names), *consts, *values])
            self.parts[_label(function)] = _hex(body)[:16]
            return body
        nameless = function is self._root
        text = self._noted(_label(function), module, [node], hidden=frozenset(closed), nameless=nameless)
        return prefixed([text, *values])

    def _module_of(self, function: FunctionType) -> ModuleSource | None:
        known = self._sources.get(function.__module__)
        if known is not None:
            return known
        # An asset's own module counts even when it is installed as a library, or has no file (a notebook cell).
        lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
        try:
            return ModuleSource(function.__module__, ast.parse("".join(lines))) if lines else None
        except SyntaxError:
            return None

    def _name(self, module: ModuleSource, name: str) -> bytes:
        """A top-level name of a project module."""
        return self._piece(("name", module.name, name), lambda: self._name_text(module, name))

    def _name_text(self, module: ModuleSource, name: str) -> bytes:
        label = f"{module.name}.{name}"
        text = self._noted(label, module, module.bindings[name])
        held = vars(sys.modules[module.name]).get(name) if module.name in sys.modules else None
        if not isinstance(held, SqlFile):
            return text
        text = prefixed([text, held.text.encode()])  # what is in the file is code as well
        self.parts[label] = _hex(text)[:16]
        return text

    def _whole(self, module: ModuleSource) -> bytes:
        return self._piece(("module", module.name), lambda: self._noted(module.name, module, module.tree.body))

    def _noted(
        self,
        label: str,
        module: ModuleSource,
        statements: Sequence[ast.stmt],
        *,
        hidden: frozenset[str] = frozenset(),
        nameless: bool = False,
    ) -> bytes:
        """The text of these statements, which people know as `label`; `nameless`: whatever they define it as."""
        self.parts[label] = _hex(prefixed(_seen(module, one).own for one in statements))[:16]
        return self._statements_text(module, statements, hidden=hidden, nameless=nameless)

    def _statements_text(
        self,
        module: ModuleSource,
        statements: Iterable[ast.stmt],
        *,
        hidden: frozenset[str] = frozenset(),
        nameless: bool = False,
    ) -> bytes:
        parts: list[bytes] = []
        for statement in statements:
            seen = _seen(module, statement)
            parts.append(seen.own if nameless else seen.text)
            for name, chains in seen.names.items():
                if name not in hidden:
                    targets = self._targets(module, name, chains, seen.imports.get(name))
                    parts.extend(prefixed([name.encode(), target]) for target in targets)
        return prefixed(parts)

    def _targets(self, module: ModuleSource, name: str, chains: list[Chain], local: Imported | None) -> Iterator[bytes]:
        """What a name of a module stands for."""
        if local is not None:
            yield from self._imported(local, chains)
            return
        if name in module.bindings:
            yield self._name(module, name)
        if name in module.imports:
            yield from self._imported(module.imports[name], chains)
        if name not in module.bindings and name not in module.imports:
            for starred in module.star_imports:
                source = self._sources.get(starred)
                if source is not None and (name in source.bindings or name in source.imports):
                    yield from self._targets(source, name, chains, None)

    def _imported(self, what: Imported, chains: list[Chain]) -> Iterator[bytes]:
        if what.attribute is None:
            for chain in chains or [()]:
                yield from self._in_module(what.module, chain)
            return
        source = self._sources.get(what.module)
        if source is not None and self._knows(source, what.attribute):
            yield from self._targets(source, what.attribute, chains, None)
            return
        submodule = f"{what.module}.{what.attribute}"
        if self._sources.get(submodule) is not None:
            for chain in chains or [()]:
                yield from self._in_module(submodule, chain)
            return
        yield prefixed([b"library", what.module.encode(), what.attribute.encode()])

    def _in_module(self, name: str, chain: Chain) -> Iterator[bytes]:
        """What `name.a.b` stands for, `name` being a module."""
        source = self._sources.get(name)
        if chain and source is not None and self._knows(source, chain[0]):
            yield from self._targets(source, chain[0], [chain[1:]], None)
        elif chain and self._sources.get(f"{name}.{chain[0]}") is not None:
            yield from self._in_module(f"{name}.{chain[0]}", chain[1:])
        elif source is not None:
            yield self._whole(source)  # passed around as a value: anything in it may be used
        else:
            yield prefixed([b"library", name.encode(), *(part.encode() for part in chain)])

    @staticmethod
    def _knows(source: ModuleSource, name: str) -> bool:
        return name in source.bindings or name in source.imports or bool(source.star_imports)

    def _cell(self, cell: Any) -> bytes:
        try:
            return self._value(cell.cell_contents)
        except ValueError:  # not bound yet
            return b"unbound"

    def _value(self, value: Any) -> bytes:
        """A captured value: plain values and containers by content, code by its piece, other objects by their class."""
        if isinstance(value, Enum):
            return prefixed([b"enum", self.klass(type(value)), value.name.encode()])
        if isinstance(value, _PLAIN):
            return prefixed([type(value).__name__.encode(), repr(value).encode()])
        if isinstance(value, PurePath):
            # An absolute path differs between machines.
            return prefixed([b"path", b"" if value.is_absolute() else value.as_posix().encode()])
        if isinstance(value, list | tuple):
            return prefixed([b"list", *(self._value(one) for one in value)])
        if isinstance(value, dict):
            pairs = sorted(prefixed([self._value(key), self._value(one)]) for key, one in value.items())
            return prefixed([b"dict", *pairs])
        if isinstance(value, set | frozenset):
            return prefixed([b"set", *sorted(self._value(one) for one in value)])
        if isinstance(value, type):
            return self.klass(value)
        if isinstance(value, ModuleType):
            return next(iter(self._in_module(value.__name__, ())))
        if is_dataclass(value):
            own = [prefixed([one.name.encode(), self._value(getattr(value, one.name))]) for one in fields(value)]
            return prefixed([b"dataclass", self.klass(type(value)), *own])
        if (callable(value) and hasattr(value, "__wrapped__")) or isinstance(value, FunctionType):
            return self.function(inspect.unwrap(value))
        return prefixed([b"object", self.klass(type(value))])


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one statement holds: its normal form, the names it takes from its module, with the attributes used of each."""

    text: bytes
    names: dict[str, list[Chain]]
    imports: dict[str, Imported]
    """Names that it imports itself."""
    own: bytes
    """Its normal form without the name that it defines: equal after a renaming."""


def _seen(module: ModuleSource, statement: ast.stmt) -> _Seen:
    """Each statement is looked at once, however many assets reach it."""
    known: _Seen | None = module.seen.get(statement)
    if known is None:
        plain = normalised(_undeclared(_Ignore(module).of(statement), module))
        imports = dict(pair for node in ast.walk(plain) for pair in imported_names(node, module))
        text = canonical(plain)
        chains = _chains(plain)
        names = {name: sorted(chains.get(name, ())) for name in sorted(_free_names(plain) | set(imports))}
        known = module.seen[statement] = _Seen(text, names, imports, _nameless(plain, text))
    return known


def _nameless(plain: ast.stmt, text: bytes) -> bytes:
    if not isinstance(plain, _DEFINITIONS):
        return text
    anonymous = copy(plain)
    anonymous.name = "_"
    return canonical(anonymous)


class _Ignore(ast.NodeTransformer):
    """Leaves of what is marked `@ignore_for_version` the name alone, at any depth."""

    def __init__(self, module: ModuleSource) -> None:
        self._module = module

    def of(self, statement: ast.stmt) -> ast.stmt:
        if not any(_is_ignored(node, self._module) for node in ast.walk(statement)):
            return statement
        found = self.visit(deepcopy(statement))
        assert isinstance(found, ast.stmt)
        return found

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not _is_ignored(node, self._module):
            return super().generic_visit(node)
        assert isinstance(node, _DEFINITIONS)
        node.body, node.decorator_list = [ast.Pass()], []
        if isinstance(node, ast.ClassDef):
            node.bases, node.keywords = [], []
        else:
            node.args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return node


def _is_ignored(node: ast.AST, module: ModuleSource) -> bool:
    return isinstance(node, _DEFINITIONS) and any(_is_ignoring(one, module) for one in node.decorator_list)


def _is_ignoring(decorator: ast.expr, module: ModuleSource) -> bool:
    if not _is_declaration(decorator, module):
        return False
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == _IGNORE
    return isinstance(decorator, ast.Name) and module.imports[decorator.id].attribute == _IGNORE


def _undeclared(statement: ast.stmt, module: ModuleSource) -> ast.stmt:
    """The statement without partita's own decorators: options are part of the snapshot, not of the code."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return statement
    kept = [one for one in statement.decorator_list if not _is_declaration(one, module)]
    plain = copy(statement)
    plain.decorator_list = kept
    return plain


def _is_declaration(decorator: ast.expr, module: ModuleSource) -> bool:
    while isinstance(decorator, ast.Call | ast.Attribute):
        decorator = decorator.func if isinstance(decorator, ast.Call) else decorator.value
    if not isinstance(decorator, ast.Name):
        return False
    origin = module.imports.get(decorator.id)
    return origin is not None and (origin.module == "partita" or origin.module.startswith("partita."))


def _free_names(statement: ast.stmt) -> set[str]:
    """Names that the statement takes from its module (or from the builtins)."""
    for node in ast.walk(statement):
        if getattr(node, "body", None) == []:  # the normal form of a function that only has a docstring
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
    top = symtable.symtable(ast.unparse(statement), "code", "exec")
    found = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    pending = list(top.get_children())
    while pending:
        scope = pending.pop()
        found |= {one.get_name() for one in scope.get_symbols() if one.is_global() and one.is_referenced()}
        pending += scope.get_children()
    return found


def _chains(statement: ast.stmt) -> dict[str, set[Chain]]:
    """The attribute chains that hang on each name: {("a", "b")} for name.a.b, {()} for the bare name."""
    found: dict[str, set[Chain]] = defaultdict(set)
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        chain: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            pending.extend(ast.iter_child_nodes(node))
        elif isinstance(inner.ctx, ast.Load):
            found[inner.id].add(tuple(reversed(chain)))
    return found


def sources_of(function: Callable[..., Any]) -> Sources:
    """The project around a function outside of any location: the folder that holds its top-level package."""
    plain = inspect.unwrap(function)
    file = Path(inspect.getsourcefile(plain) or ".")
    depth = plain.__module__.count(".") + (1 if file.name == "__init__.py" else 0)
    folder = file.parent
    for _ in range(depth):
        folder = folder.parent
    return Sources(folder)
