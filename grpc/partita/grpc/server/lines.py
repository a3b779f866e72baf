"""Captured output made into log lines: cut, cleaned and bounded in length and rate.

Owns the decision which text becomes a line. Refuses I/O and reads no clock: `now_s` is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita.grpc.limits import MAX_LINE_CHARS

_MAX_LINE_BYTES = MAX_LINE_CHARS * 4  # UTF-8 needs at most four bytes for one character


def clean_text(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return `text` without what UTF-8 or Postgres cannot hold (lone surrogates, NUL), and cut to `max_chars`."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if len(text) > max_chars:
        text = f"{text[:max_chars]}… [{len(text) - max_chars:,} more characters cut]"
    return text


class LineSplitter:
    """Cuts the bytes of one stream into lines. A line longer than the limit is cut and the rest of it swallowed."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._swallowed = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that end within `chunk`."""
        *whole, rest = chunk.split(b"\n")
        lines = []
        for piece in whole:
            self._take(piece)
            lines.append(self._finish())
        self._take(rest)
        return lines

    def flush(self) -> list[str]:
        """Return the last line when the stream ended without a newline."""
        return [self._finish()] if self._partial or self._swallowed else []

    def _take(self, piece: bytes) -> None:
        room = _MAX_LINE_BYTES - len(self._partial)
        self._partial += piece[:room]
        self._swallowed += max(0, len(piece) - room)

    def _finish(self) -> str:
        text = self._partial.decode("utf-8", "replace").rstrip("\r")
        # A progress bar redraws its line; what a terminal would show at the end is the line.
        text = clean_text(text.rsplit("\r", 1)[-1])
        if self._swallowed:
            text += f" [line cut: {self._swallowed:,} more bytes]"
        self._partial.clear()
        self._swallowed = 0
        return text


@dataclass(slots=True)
class Bucket:
    """A token bucket: `burst` at once, `per_s` in the long run."""

    per_s: float
    burst: float
    _tokens: float = -1.0
    _at_s: float = 0.0

    def take(self, amount: float, now_s: float) -> bool:
        """Take `amount` if it is there."""
        if self._tokens < 0:
            self._tokens = self.burst
        else:
            self._tokens = min(self.burst, self._tokens + (now_s - self._at_s) * self.per_s)
        self._at_s = now_s
        if self._tokens < amount:
            return False
        self._tokens -= amount
        return True


class LogGate:
    """Bounds how many lines and characters one attempt may log. What it drops it counts, and says so once a second."""

    def __init__(
        self,
        *,
        lines_per_s: float = 1000,
        burst_lines: float = 5000,
        chars_per_s: float = 1 << 20,
        burst_chars: float = 1 << 23,
    ) -> None:
        self._lines = Bucket(lines_per_s, burst_lines)
        self._chars = Bucket(chars_per_s, burst_chars)
        self._dropped = 0
        self._notice_due_s = 0.0
        self._rule = f"an attempt may log {lines_per_s:,.0f} lines and {chars_per_s:,.0f} characters a second"

    def admit(self, line: str, now_s: float) -> bool:
        """Whether the line may pass."""
        if self._lines.take(1, now_s) and self._chars.take(len(line), now_s):
            return True
        if not self._dropped:
            self._notice_due_s = now_s + 1
        self._dropped += 1
        return False

    def take_notice(self, now_s: float, *, last: bool = False) -> str:
        """The sentence about dropped lines, once; empty when there is nothing to say yet. `last`: there is no later."""
        if not self._dropped or (now_s < self._notice_due_s and not last):
            return ""
        notice = f"{self._dropped:,} log lines dropped: {self._rule}. Log less, or write bulk output to a file."
        self._dropped = 0
        return notice
