"""The schema, by Alembic: `env.py` runs on the connection that `store.open.migrate` hands over."""
