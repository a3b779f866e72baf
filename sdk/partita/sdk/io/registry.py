"""Which IO manager a name or a stored location means.

Owns the two managers that need no registration, and reading by the scheme of a location, so that a consumer reads what
another code location wrote without declaring its manager again.
"""

from __future__ import annotations

from collections.abc import Iterable

from partita.assets import DefinitionError, suggest
from partita.sdk.io.base import IOManager

LAKE = "lake"
BUILT_IN_SCHEMES = frozenset({"lake", "duckdb"})
_DUCKDB_PREFIX = "duckdb:"


def known_manager(name: str, *, owner: str, others: Iterable[str] = ()) -> IOManager:
    """The manager called "lake" or "duckdb:PATH". Raises DefinitionError for any other name."""
    from partita.sdk.io.duckdb_file import DuckDBFile
    from partita.sdk.io.lake import Lake

    if name == LAKE:
        return Lake()
    if name.startswith(_DUCKDB_PREFIX) and len(name) > len(_DUCKDB_PREFIX):
        return DuckDBFile(name, name[len(_DUCKDB_PREFIX) :])
    raise DefinitionError(
        f"{owner}: no IO manager is called {name!r}",
        rule='io is "lake", "duckdb:PATH", an IOManager object, or None',
        fix=suggest(name, [LAKE, *others]) or "pass the manager object itself",
    )


def reader_of(location: str, *, reader: str) -> IOManager:
    """The manager that can read a cell's location, by its scheme."""
    from partita.sdk.io.duckdb_file import DuckDBFile
    from partita.sdk.io.lake import Lake

    scheme = location.partition(":")[0]
    if scheme == "lake":
        return Lake()
    if scheme == "duckdb":
        return DuckDBFile("duckdb", "")
    raise DefinitionError(
        f"{reader}: nothing here reads {location!r}",
        rule="a manager of one's own must be declared in the location that reads, too",
        fix="pass the IOManager object to an asset of this location",
    )
