"""The store on Postgres: one module per aggregate, named statements, set writes by `unnest`."""

from partita.core.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
