"""Locations written to a folder, for tests of loading and of errors in definitions."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from partita.sdk.runtime import LoadedLocation, load_location

HEADER = "from typing import Annotated, Any\nfrom partita.sdk import *\n"
Load = Callable[..., LoadedLocation]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """`load({"a.py": "..."}, "a")`: write the files and load the modules, by default all files by name."""
    before = list(sys.path)

    def make(
        files: Mapping[str, str],
        *modules: str,
        left_out: Mapping[str, str] | None = None,
        heard: list[tuple[str, str]] | None = None,
        folder: str = "location",
    ) -> LoadedLocation:
        root = tmp_path / folder
        for name, body in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(HEADER + textwrap.dedent(body))
        names: Sequence[str] = modules or [name.removesuffix(".py").replace("/", ".") for name in files]
        lines = [] if heard is None else heard
        return load_location(
            "here", root, names, left_out=left_out, on_progress=lambda event, module: lines.append((event, module))
        )

    yield make
    sys.path[:] = before
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def errors_of(location: LoadedLocation) -> dict[str, str]:
    """Error text by broken module."""
    return {one.name: one.error or "" for one in location.snapshot.modules if not one.ok}


def keys_of(location: LoadedLocation) -> list[str]:
    """The keys of a location's assets."""
    return [one.key for one in location.snapshot.assets]
