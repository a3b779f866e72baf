"""Statements: SQL with named marks (`:name`), as the driver takes it.

A statement is made once, when its module is imported, and runs on the driver's own cursor: a layer between costs five times the
processor time of a small statement and a third of a command's imports (ADR 13). Owns the marks and nothing of what runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# A mark follows no colon, which is a cast, and no word, which is part of a time in a literal.
_MARK = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `str()` gives the SQL as it was written, `driver` the same with the driver's marks.

    It always runs with parameters, none of them if need be: a lone percent sign is doubled here for that.
    """

    source: str
    whole: Statement | None = field(default=None, repr=False, compare=False)
    """Of which statement this is a form (`narrow.py`)."""
    driver: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        marked = _MARK.sub(r"%(\1)s", self.source.replace("%", "%%"))
        object.__setattr__(self, "driver", marked.encode())

    def __str__(self) -> str:
        return self.source


def text(sql: str) -> Statement:
    """The statement of an SQL text.

    >>> text("SELECT :n::int").driver
    b'SELECT %(n)s::int'
    """
    return Statement(sql)
