"""The in-memory twin of the Postgres store, for unit tests and the simulation. Production never uses it."""

from partita.core.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
