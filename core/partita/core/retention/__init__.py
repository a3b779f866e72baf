"""Retention: finished history that is older than its age is exported by day and then deleted."""

from partita.core.retention.duty import Export, Retained, Written, retain
from partita.core.retention.export import Archive

__all__ = ["Archive", "Export", "Retained", "Written", "retain"]
