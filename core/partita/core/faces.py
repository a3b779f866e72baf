"""Faces of packages whose parts are imported when somebody first asks for a name of theirs.

What a command waits for most is its imports: a plan of a hundred assets imports longer than it plans, and a class of values
takes the better part of a millisecond to make. So a face that many share loads no more of its package than is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(face: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module `face`, where `names` says by module which names it has, parted by blanks.

    No name may be that of a submodule of the face: importing the submodule would take its place (a test holds that).

    >>> on_demand("partita.core.faces", {"fractions": "Fraction"})("Fraction")
    <class 'fractions.Fraction'>
    """
    homes = {name: module for module, some in names.items() for name in some.split()}

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[face], name, value)
        return value

    return found
