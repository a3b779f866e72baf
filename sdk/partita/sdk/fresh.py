"""Modules of a project are compiled from their text at every load, never from a cache of byte code.

A cache is trusted while the time of the source, in whole seconds, and its size are unchanged. Who saves twice within a second
(an editor that formats, a deployment that writes files) may leave `timeout=1` in the cache and `timeout=2` in the file: the
code server would run the one and say the other. Installed libraries keep their caches.
"""

from __future__ import annotations

import sys
from importlib.abc import PathEntryFinder
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from typing import Protocol

_found = FileFinder.path_hook  # names the loaders of the files in one folder
_roots: set[Path] = set()


class _Project(Protocol):
    def is_local(self, file: Path, /) -> bool: ...


class _FromText(SourceFileLoader):
    """Without the time of a source there is no cache to read or to write (importlib's SourceLoader.get_code)."""

    def path_stats(self, path: str) -> dict[str, object]:
        raise OSError(f"{path} is compiled anew at each load")


def compile_from_text(root: Path, project: _Project) -> None:
    """From now on this process imports the project's modules, in `root` (resolved) and below, from their text."""
    if root not in _roots:
        _roots.add(root)
        plain = _found((ExtensionFileLoader, EXTENSION_SUFFIXES), (_FromText, SOURCE_SUFFIXES))

        def hook(path: str) -> PathEntryFinder:
            if not project.is_local(Path(path)):
                raise ImportError(f"{path} is not in the project", path=path)
            return plain(path)

        sys.path_hooks.insert(0, hook)
    for path in list(sys.path_importer_cache):  # who asked before was told of the usual loaders
        if project.is_local(Path(path)):
            del sys.path_importer_cache[path]
