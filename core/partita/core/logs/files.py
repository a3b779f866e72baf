"""Log files in a folder that workers write and the API reads.

A log is JSON lines `[n, at_us, stream, level, text]`, numbered from 0; its last line has the stream `end`, and the first one,
which is not numbered, the stream `trace` with the trace id of the run (S-248): whoever ships the file has it. The name kept on
the attempt is relative to the log folder: `<asset>/<partition>/<run>-<task>-<attempt>.jsonl` (S-226). Readers address bytes,
so that following a log of any size costs what is new. A log that cannot be written never fails an attempt: lines are
lost and counted, and that is said: in the log itself where its end can be written, by the attempt where it cannot.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

log = logging.getLogger(__name__)

_NAME_LIMIT = 80
_PAGE_BYTES = 256_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; `at_us` in Unix microseconds; `stream` is stdout, stderr, log or system."""

    n: int
    at_us: int
    stream: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class LogPage:
    lines: tuple[LogLine, ...]
    next_offset: int
    complete: bool


class LogStore:
    """The log folder of a deployment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def name(self, *, asset: str, partition: str, run_id: int, task_id: int, attempt_id: int) -> str:
        """Where the log of an attempt goes; of a task with several cells the first one names it."""
        parts = [quote(part, safe="") for part in asset.split("/")]
        return "/".join([*parts, _file_part(partition or "all"), f"{run_id}-{task_id}-{attempt_id}.jsonl"])

    def writer(self, name: str, *, trace_id: str = "") -> LogWriter:
        return LogWriter(self._folder / name, trace_id)

    def read(self, name: str, *, offset: int = 0, limit: int = 5_000) -> LogPage:
        """Up to `limit` whole lines from byte `offset`. A log that does not exist (yet) is empty and incomplete."""
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(offset)
                block = file.read(_PAGE_BYTES)
                if b"\n" not in block:
                    block += file.readline()  # one line, a long traceback, is more than a page
        except (FileNotFoundError, NotADirectoryError):
            return LogPage((), offset, complete=False)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # which also its writer met: there is no such log
                raise
            return LogPage((), offset, complete=False)
        lines: list[LogLine] = []
        complete = False
        for raw in block.splitlines(keepends=True):
            if not raw.endswith(b"\n") or len(lines) >= limit:
                break
            offset += len(raw)
            line = _parsed(raw)
            if line is None or line.stream == "trace":
                continue
            if line.stream == "end":
                complete = True
                break
            lines.append(line)
        return LogPage(tuple(lines), offset, complete)


class LogWriter:
    """Appends to one log. One writer a file: an attempt belongs to one worker."""

    def __init__(self, path: Path, trace_id: str = "") -> None:
        self._path = path
        self._trace_id = trace_id
        self._n = 0
        self.lost = 0
        """How many lines could not be written."""
        self.why = ""

    def write(self, lines: Iterable[tuple[int, str, str, str]]) -> None:
        """Appends (at_us, stream, level, text) tuples in one write."""
        rows = list(lines)
        if not self._append(rows):
            self.lost += len(rows)

    def close(self, at_us: int) -> None:
        """Writes the end; with it, in one write, that lines were lost."""
        end = (at_us, "end", "", "")
        told = [(at_us, "system", "WARNING", lost_text(self.lost, self.why))] if self.lost else []
        self._append([*told, end])

    def _append(self, rows: Sequence[tuple[int, str, str, str]]) -> bool:
        numbered: list[tuple[object, ...]] = [(self._n + i, *row) for i, row in enumerate(rows)]
        if self._trace_id and rows:
            numbered.insert(0, (-1, rows[0][0], "trace", "", self._trace_id))
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in numbered)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _append(self._path, text.encode(errors="replace"))  # lone surrogates are legal in str, not in UTF-8
        except OSError as error:
            # A full or missing disk loses log lines, never work.
            if not self.why:
                log.warning(
                    "the log %s cannot be written: %s; its attempt goes on", self._path, error.strerror or error
                )
            self.why = error.strerror or type(error).__name__
            return False
        self._n += len(rows)
        self._trace_id = "" if rows else self._trace_id
        return True


def lost_text(lines: int, why: str) -> str:
    """What is said of a log with a gap.

    >>> lost_text(3, "No space left on device")
    '3 lines of this log were lost: it could not be written (No space left on device)'
    """
    return f"{lines:,} lines of this log were lost: it could not be written ({why})"


def _append(path: Path, content: bytes) -> None:
    """All of it or nothing: half a line would spoil the one that is written behind it when there is room again."""
    with path.open("ab", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        try:
            while content:
                content = content[file.write(content) :]
        except OSError:
            with suppress(OSError):
                file.truncate(end)
            raise


def _parsed(raw: bytes) -> LogLine | None:
    """None for the rest of a line into which somebody's offset points."""
    try:
        return LogLine(*json.loads(raw))
    except (ValueError, TypeError):
        return None


def _file_part(text: str) -> str:
    """A partition key as a file name: any text is legal there, so it is quoted, and shortened by a hash when long."""
    quoted = quote(text, safe=" +:,=")
    if quoted in {".", ".."}:
        quoted = quoted.replace(".", "%2E")
    if len(quoted) <= _NAME_LIMIT:
        return quoted
    return f"{quoted[: _NAME_LIMIT - 17]}-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
