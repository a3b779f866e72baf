"""Attempt logs for readers: pages, search, level, and following one to its end.

Owns how a log that its worker never ended (it was killed) still ends for its readers: the attempt's row says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from partita.core.decide.traces import trace_of
from partita.core.logs import LogLine, lost_text
from partita.core.store.queries import api_runs as sql
from partita.core.store.queries.api_read import one
from partita.ui.api.models import LogLineView, LogPageView
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_AFTER_ALL = 2**31 - 1  # the number of a line that stands behind all that were written
_SCAN_PAGES = 40  # of about 256 kB: the most that one filtered request reads before it answers with what it has


class LogService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def source(self, attempt_id: int) -> LogSource:
        """Where the log of an attempt is; raises NotFound."""
        with self._backend.store.read() as reader:
            row = one(reader, sql.ATTEMPT, attempt_id=attempt_id)
        if row is None:
            raise NotFound(f"there is no attempt {attempt_id}", fix="a task's page lists its attempts")
        usage = row["usage"] or {}
        lost = usage.get("log_lines_lost")
        gap = lost_text(lost, str(usage.get("log_lost_because", ""))) if isinstance(lost, int) else None
        trace_id = trace_of(row["run_id"], row["as_of"], row["cause"])
        return LogSource(attempt_id, row["log"], row["finished_at"], gap, trace_id)

    def page(
        self,
        attempt_id: int,
        *,
        offset: int = 0,
        limit: int = 1000,
        search: str | None = None,
        level: str | None = None,
    ) -> LogPageView:
        """Up to `limit` lines from byte `offset`; filtered ones may be few, `next_offset` goes on behind what was read."""
        source = self.source(attempt_id)
        wanted = _filter(search, level)
        lines: list[LogLineView] = []
        complete = False
        for _ in range(_SCAN_PAGES if wanted is not _every else 1):
            page = self.read(source, offset=offset, limit=limit - len(lines))
            moved = page.next_offset > offset
            offset, complete = page.next_offset, page.complete
            lines += [line for line in page.lines if wanted(line)]
            if complete or not moved or len(lines) >= limit:
                break
        return LogPageView(trace_id=source.trace_id, lines=lines, next_offset=offset, complete=complete)

    def read(self, source: LogSource, *, offset: int, limit: int = 1000) -> LogPageView:
        """The next lines, unfiltered."""
        if source.name is None:
            return LogPageView(trace_id=source.trace_id, lines=[], next_offset=offset, complete=source.ended)
        page = self._backend.logs.read(source.name, offset=offset, limit=limit)
        # A worker that was killed wrote no end: nothing follows once the attempt is over and all was read.
        silent_end = not page.lines and source.ended
        lines = [_line(line) for line in page.lines]
        if silent_end and not page.complete and source.gap is not None and source.ended_at is not None:
            # Not even its end could be written, where else the log itself says this.
            lines.append(
                LogLineView(n=_AFTER_ALL, at=source.ended_at, stream="system", level="WARNING", text=source.gap)
            )
        return LogPageView(
            trace_id=source.trace_id,
            lines=lines,
            next_offset=page.next_offset,
            complete=page.complete or silent_end,
        )

    def refreshed(self, source: LogSource) -> LogSource:
        """The same source, with whether the attempt has ended by now."""
        return source if source.ended else self.source(source.attempt_id)


class LogSource:
    """The log of one attempt: its name in the log store (None before a worker has it), when the attempt ended, and what is to be
    said of lines that could not be written."""

    __slots__ = ("attempt_id", "ended_at", "gap", "name", "trace_id")

    def __init__(
        self, attempt_id: int, name: str | None, ended_at: datetime | None, gap: str | None, trace_id: str
    ) -> None:
        self.attempt_id = attempt_id
        self.name = name
        self.ended_at = ended_at
        self.gap = gap
        self.trace_id = trace_id

    @property
    def ended(self) -> bool:
        return self.ended_at is not None

    def __repr__(self) -> str:
        return f"<LogSource of attempt {self.attempt_id}: {self.name}{' (ended)' if self.ended else ''}>"


def _line(line: LogLine) -> LogLineView:
    at = datetime.fromtimestamp(line.at_us / 1_000_000, tz=UTC)
    return LogLineView(n=line.n, at=at, stream=line.stream, level=line.level, text=line.text)


def _every(_: LogLineView) -> bool:
    return True


def _filter(search: str | None, level: str | None) -> Any:
    if not search and not level:
        return _every
    needle = (search or "").casefold()
    least = _rank(level) if level else -1

    def wanted(line: LogLineView) -> bool:
        return _rank(line.level) >= least and needle in line.text.casefold()

    return wanted


def _rank(level: str) -> int:
    """Lines without a level (plain output) count as INFO."""
    upper = level.upper()
    return _LEVELS.index(upper) if upper in _LEVELS else _LEVELS.index("INFO")
