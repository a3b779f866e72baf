"""Collecting data that a person wiped: a file goes once nothing refers to it, and never before.

The order is what makes it safe. A file is taken in a transaction of its own: from then on no undo and no mark points to it, and
a publication never does, since each attempt writes files of its own. Then all references are read; what has one is set free.
Then the file is removed, and that is recorded. Whoever dies in between leaves taken files, and the next collection goes on with
them: it reads the references again, and removing what is not there is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from partita.assets.locations import location_parts
from partita.core.store.port import Store
from partita.core.store.values_actions import DoomedFile

GRACE_S = 86_400.0
"""How long the data of a wipe are kept, at least."""
BATCH_FILES = 500

Referred = Callable[[Sequence[str]], Iterable[Any]]
"""The locations that cells hold or an undo gives back, of these files or of several parts."""
Remove = Callable[[str], bool]
"""Removes a file; False when it cannot be told from here whether it is there. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Collected:
    """`removed` files are gone; `wanted` ones are referred to and stay; `left` could not be removed, with the reason."""

    removed: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


def file_of(location: str) -> str:
    """The file of one part of a location: what stands before `#`.

    >>> file_of("lake:file:///lake/orders/7.parquet#cell=3")
    'lake:file:///lake/orders/7.parquet'
    """
    return location.partition("#")[0]


def files_of(locations: Iterable[str | None]) -> set[str]:
    """The files of locations, of all their parts.

    >>> sorted(files_of(['lake:["lake:file:///a#cell=1","lake:file:///b"]', None]))
    ['lake:file:///a', 'lake:file:///b']
    """
    return {file_of(part) for one in locations if one is not None for part in location_parts(one)}


def doomed(store: Store, referred: Referred, limit: int = BATCH_FILES) -> tuple[list[DoomedFile], set[str]]:
    """What waits to be collected, and which of it is referred to. Changes nothing."""
    found = store.run(lambda tx: tx.doomed_files(limit), durable=False)
    return found, _wanted([one.file for one in found], referred)


def collect(
    store: Store, files: Sequence[str], referred: Referred, remove: Remove, *, grace_s: float = GRACE_S
) -> Collected:
    """Removes those of these files that were wiped so long ago, before every attempt that runs, and that nothing refers to."""
    taken = store.run(lambda tx: tx.take_doomed(files, grace_s))
    if not taken:
        return Collected()
    wanted = _wanted([one.file for one in taken], referred)
    removed: list[str] = []
    left: list[tuple[str, str]] = []
    for file in (one.file for one in taken):
        if file in wanted:
            continue
        try:
            reached = remove(file)
        except OSError as error:
            left.append((file, str(error)))
            continue
        if reached:
            removed.append(file)
        else:
            left.append((file, "its folder is not there: collect where the data are"))
    store.run(lambda tx: tx.settle_doomed(removed, wanted))
    return Collected(tuple(removed), tuple(sorted(wanted)), tuple(left))


def _wanted(files: Collection[str], referred: Referred) -> set[str]:
    return files_of(referred(sorted(files))) & set(files) if files else set()
