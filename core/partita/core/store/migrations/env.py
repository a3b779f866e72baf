"""Alembic's environment: online only, on a connection given by `store.open.migrate` (which holds the advisory lock)."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
