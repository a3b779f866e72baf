"""`Reader`: the queries over one snapshot of the database (`PostgresStore.read`); it takes no lock and writes nothing.

It is what catalogs, status and the planner read through (`DefinitionsReader`, `CellsReader`, `PlanReader`). The `api_*` modules
beside it are the statements of the API.
"""

from __future__ import annotations

from partita.core.store.queries.cells import CellsQueries
from partita.core.store.queries.definitions_of_catalogs import DefinitionsQueries
from partita.core.store.queries.planning import PlanningQueries


class Reader(DefinitionsQueries, CellsQueries, PlanningQueries):
    """All answers of one reader come from one snapshot."""
