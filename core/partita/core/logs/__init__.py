"""Attempt logs: one append-only file per attempt, outside Postgres (S-036, S-226, S-228)."""

from partita.core.logs.files import LogLine, LogPage, LogStore, LogWriter, lost_text

__all__ = ["LogLine", "LogPage", "LogStore", "LogWriter", "lost_text"]
