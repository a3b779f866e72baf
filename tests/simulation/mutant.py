"""Where the mutants register: a name, and the function that breaks production code under a monkey patch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Patch = pytest.MonkeyPatch
MUTANTS: dict[str, Callable[[Patch], None]] = {}
SHOWN_BY: dict[str, str] = {}
"""The theme of the stories that show what is rare in others."""


def mutant(name: str, *, theme: str | None = None) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def named(patch: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[name] = patch
        if theme is not None:
            SHOWN_BY[name] = theme
        return patch

    return named
