"""The warehouse that the example reads from: the converted files of the data package, as a resource."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import source

from partita.sdk import Relation, Resource


class Warehouse(Resource, env_prefix="FLIGHTS"):
    """Parquet files in the folder FLIGHTS_SOURCE (by default in the example's own folder)."""

    source: Path = source.DEFAULT_TARGET

    def setup(self) -> None:
        """Convert the package's files if nobody did so far."""
        source.prepare(self.source)

    def table(self, name: str) -> Relation:
        """A whole table."""
        return Relation.from_parquet(self.source / f"{name}.parquet")

    def between(self, name: str, start: datetime, end: datetime) -> Relation:
        """The rows of a table whose time_hour lies in [start, end)."""
        window = f"time_hour >= timestamptz '{start.isoformat()}' and time_hour < timestamptz '{end.isoformat()}'"
        return self.table(name).sql(f"select * from self where {window}")  # noqa: S608 - two instants
