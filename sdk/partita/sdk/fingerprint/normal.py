"""The normal form of code: what may change without making anything stale is left out of it.

Owns the canonical bytes of an AST: no positions, comments, docstrings, annotations of functions or `pass`; fields are
length-prefixed, so that no two programs share a form. The form does not depend on the Python version: empty and
absent fields are skipped, so a grammar that gains fields changes nothing for code which does not use them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_SKIPPED_FIELDS = frozenset({"ctx", "type_comment", "kind", "lineno", "col_offset", "end_lineno", "end_col_offset"})


class _Normalise(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and (isinstance(node.value.value, str) or node.value.value is ...):
            return None  # docstrings, texts used as comments, and `...` as a body
        return self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        arguments = node.args
        for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if one is not None:
                one.annotation = None
        return self.generic_visit(node)


def normalised(node: ast.stmt) -> ast.stmt:
    """A copy of the statement in normal form. Raises nothing."""
    copy = ast.parse(ast.unparse(node)).body[0]
    found = _Normalise().visit(copy)
    return found if isinstance(found, ast.stmt) else ast.Pass()


def canonical(node: ast.AST) -> bytes:
    """Bytes that two ASTs share only when they are the same program."""
    parts = [type(node).__name__.encode()]
    for name, value in ast.iter_fields(node):
        if name in _SKIPPED_FIELDS or (value is None and not isinstance(node, ast.Constant)) or value == []:
            continue
        parts.append(name.encode())
        parts.append(_value(value))
    return prefixed(parts)


def prefixed(parts: Iterable[bytes]) -> bytes:
    """The parts, each with its length in front."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _value(value: object) -> bytes:
    if isinstance(value, ast.AST):
        return b"n" + canonical(value)
    if isinstance(value, list):
        return b"l" + prefixed(_value(one) for one in value)
    return b"c" + prefixed([type(value).__name__.encode(), repr(value).encode()])
