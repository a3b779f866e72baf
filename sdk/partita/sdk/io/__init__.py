"""IO managers: the Parquet lake, the DuckDB file, and the port for others. Importing it loads no storage library."""

from partita.sdk.io.base import IOManager, PerCell, ReadContext, WriteContext, Written

__all__ = ["IOManager", "PerCell", "ReadContext", "WriteContext", "Written"]
