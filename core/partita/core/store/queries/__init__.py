"""Read-only statements for planner, API and CLI: they take no locks and write nothing."""

from partita.core.store.queries.reader import Reader

__all__ = ["Reader"]
