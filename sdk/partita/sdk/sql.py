"""SQL files whose placeholders are filled in when a step runs, strictly (S-212, S-213).

Owns the form `{{ name }}` (attributes by dots), where it may stand, and how values become SQL literals. Refuses everything
that a template language is: no expressions, no filters, no implicit rendering. A name that is not handed in is an error that
tells those which are: a query with braces left in it matches nothing, and succeeds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from partita.assets import DefinitionError, PartitaError, suggest

_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\{\{.*?\}\}|\{\{|\}\}|\{%", re.DOTALL)
_NAME = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")


@dataclass(frozen=True, repr=False)
class SqlFile:
    """A text of SQL in a file beside the module that names it. Made at the top of a module: a file that is missing or
    malformed breaks the load, not the night.

        ORDERS = SqlFile("orders.sql")   # select * from orders where at >= {{ window.start }} and at < {{ window.end }}

        @asset(partitions=days)
        def orders(context: Context, shop: Shop) -> Relation:
            return shop.query(ORDERS.render(window=context.window, regions=["north", "south"]))

    Values are rendered as literals by their type: texts are quoted, instants carry their offset, lists become `('a', 'b')`.
    The text is a part of the asset's code: changing it makes what it made stale.

    >>> from datetime import date
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "orders.sql"
    >>> _ = file.write_text("from orders where day = {{ day }} and region in {{ regions }}")
    >>> SqlFile(str(file)).render(day=date(2026, 3, 1), regions=["north", "south"])
    "from orders where day = DATE '2026-03-01' and region in ('north', 'south')"
    """

    path: str
    text: str = field(init=False)

    def __post_init__(self) -> None:
        beside = sys._getframe(2).f_globals.get("__file__")
        file = Path(beside).parent / self.path if beside else Path(self.path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DefinitionError(
                f"SQL file {self.path!r} cannot be read: {error}",
                rule="its path is relative to the module that names it",
                fix="put it there, and ship it with the code",
            ) from None
        object.__setattr__(self, "text", text)
        _pieces(text, self.path)

    def __repr__(self) -> str:
        return f"<SqlFile {self.path}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders, each once, in order."""
        return tuple(dict.fromkeys(name for name, _ in _pieces(self.text, self.path) if name))

    def render(self, **values: Any) -> str:
        """The text with every placeholder filled in.

        Raises PartitaError for a name that is not among `values`, and for a value that is no literal."""
        return "".join(
            _literal(_value(name, values, self.path), name, self.path) if name else text
            for name, text in _pieces(self.text, self.path)
        )


def _pieces(text: str, path: str) -> list[tuple[str, str]]:
    """Placeholders by name, and the text between. Raises DefinitionError for what looks like a template and is none."""
    found: list[tuple[str, str]] = []
    after = 0
    for token in _TOKEN.finditer(text):
        shown = token.group()
        line = text.count("\n", 0, token.start()) + 1
        if shown.startswith(("'", '"')):
            if "{{" in shown or "}}" in shown:
                raise DefinitionError(
                    f"{path}:{line}: a placeholder stands inside quotes: {shown}",
                    rule="values are rendered with the quotes that they need",
                    fix="write it without: where name = {{ name }}",
                )
            continue
        if shown.startswith(("--", "/*")):
            continue
        named = _NAME.fullmatch(shown)
        if named is None:
            raise DefinitionError(
                f"{path}:{line}: {shown!r} is no placeholder",
                rule="a placeholder is {{ name }} or {{ name.attribute }}, and nothing else is rendered",
                fix="work values out in Python and hand them in",
            )
        found += [("", text[after : token.start()]), (named[1], "")]
        after = token.end()
    return [*found, ("", text[after:])]


def _value(name: str, values: Mapping[str, Any], path: str) -> Any:
    first, *attributes = name.split(".")
    if first not in values:
        raise PartitaError(
            f"{path}: {{{{ {name} }}}} is not handed in",
            rule=f"render() was given {', '.join(sorted(values)) or 'nothing'}",
            fix=suggest(first, values) or f"render({first}=...)",
        )
    found, seen = values[first], first
    for attribute in attributes:
        known = sorted(found) if isinstance(found, Mapping) else [one for one in dir(found) if not one.startswith("_")]
        if attribute not in known:
            raise PartitaError(
                f"{path}: {{{{ {name} }}}}: {seen} has no {attribute!r}",
                rule=f"it has {', '.join(known) or 'nothing'}",
                fix=suggest(attribute, known),
            )
        found = found[attribute] if isinstance(found, Mapping) else getattr(found, attribute)
        seen = f"{seen}.{attribute}"
    return found


def _literal(value: Any, name: str, path: str) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float() | Decimal() if isfinite(value):
            return str(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
            return f"{kind} '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat()}'"
        case list() | tuple() | set() | frozenset() if value:
            items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return f"({', '.join(_literal(one, name, path) for one in items)})"
    raise PartitaError(
        f"{path}: {{{{ {name} }}}} is {type(value).__name__} {'without items' if value in ([], (), set()) else ''}".rstrip(),
        rule="a value is a text, a number, a truth value, None, a date, a time, or a list of such with one or more",
        fix="hand in what the query compares with",
    )
