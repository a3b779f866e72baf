"""The embedded Postgres: real PostgreSQL binaries from a wheel under a small supervisor of our own.

`EmbeddedPostgres(data_dir)` is for one machine: `partita dev`, the demo and the tests. Any Postgres 15+ takes its place through
`PARTITA_DATABASE_URL`; nothing else in the control plane knows the difference.
"""

from partita.core.embedded.postgres import EmbeddedPostgres, EmbeddedPostgresError

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError"]
