"""What commands print: one JSON value, or text for people; tables, states, questions.

Owns the two consoles (answers on stdout, progress and errors on stderr) and the colours of states. Keys are data: nothing here
reads markup or emoji codes in them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partita.ui.cli.problems import NotConfirmed

if TYPE_CHECKING:
    from pydantic import BaseModel

_PIPED_WIDTH = 240
_LONGEST_ERROR = 500
_STYLES = {
    "fresh": "green",
    "success": "green",
    "unchanged": "green dim",
    "running": "blue",
    "queued": "magenta",
    "scheduled": "magenta dim",
    "deferred": "cyan",
    "awaiting_input": "cyan",
    "approved": "green",
    "up_for_retry": "yellow",
    "stale": "yellow",
    "upstream_stale": "yellow dim",
    "failed": "red",
    "upstream_failed": "red dim",
}
_GLYPHS = {
    "fresh": "●",
    "success": "●",
    "unchanged": "◉",
    "running": "▶",
    "queued": "■",
    "scheduled": "□",
    "up_for_retry": "↻",
    "stale": "◐",
    "upstream_stale": "◌",
    "failed": "✕",
    "upstream_failed": "╳",
    "missing": "○",
    "skipped": "–",
    "cancelled": "/",
    "awaiting_input": "✋",
    "approved": "●",
    "rejected": "/",
    "expired": "–",
    "superseded": "–",
}


class Output:
    """Where one command says what it found. `json` silences everything but `value`."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    @property
    def width(self) -> int:
        """Columns of a line: those of the terminal, wide in a pipe."""
        return (self.err if self.json else self.out).width

    def value(self, value: BaseModel | Mapping[str, Any] | Sequence[Any]) -> None:
        """The one JSON value of the command."""
        sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")

    def say(self, text: str | Text) -> None:
        if not self.json:
            self.out.print(text, soft_wrap=True)

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[str | Text]], *, empty: str) -> None:
        """Columns under quiet headers; `empty` says what would be here and how to get it; "": nothing need be said."""
        lines = list(rows)
        if not lines:
            if empty:
                self.say(empty)
            return
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for header in headers:
            table.add_column(header, overflow="fold")
        for line in lines:
            table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in line))
        self.out.print(table)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Raises NotConfirmed unless somebody agrees; never asks where nobody can answer."""
        if yes:
            return
        if self.json or not sys.stdin.isatty():
            self.err.print(question, markup=False, soft_wrap=True)
            raise NotConfirmed(
                "this changes something and nobody confirmed it",
                rule="without a terminal there is nobody to ask",
                fix="read the plan above, then add --yes",
            )
        self.out.print(f"{question} [y/N] ", end="")
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise NotConfirmed("not confirmed; nothing was changed")

    def choose(self, question: str, choices: Sequence[str], *, yes: bool) -> str:
        """One of the choices; the first where nobody is asked, or nothing is said. Raises NotConfirmed for another word."""
        if yes or self.json or not sys.stdin.isatty():
            return choices[0]
        self.out.print(f"{question} ({', '.join(choices)}) [{choices[0]}] ", end="", markup=False)
        said = sys.stdin.readline().strip().lower()
        if said and said not in choices:
            raise NotConfirmed(f"{said} is none of {', '.join(choices)}; nothing was changed")
        return said or choices[0]

    def problem(self, explained: Mapping[str, str]) -> None:
        """What, rule and fix in red on stderr; under --json also as the one value."""
        for line in problem_lines(explained):
            self.err.print(Text(line, style="red"), soft_wrap=True)
        if self.json:
            self.value({"error": dict(explained)})


def problem_lines(explained: Mapping[str, str]) -> list[str]:
    lines = [explained["what"]]
    lines += [f"  rule: {explained['rule']}"] if explained["rule"] else []
    lines += [f"  fix:  {explained['fix']}"] if explained["fix"] else []
    return lines


def plain(value: Any) -> Any:
    """Models and what holds them as plain JSON values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def state_text(state: str, count: int | None = None) -> Text:
    """A glyph, a word and a hue; never the hue alone."""
    word = f"{_GLYPHS.get(state, '·')} {state.replace('_', ' ')}"
    return Text(word if count is None else f"{word} {count:,}", style=_STYLES.get(state, ""))


def counts_text(counts: Mapping[str, int]) -> Text:
    """`● fresh 28  ○ missing 3`, most first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return Text("  ").join(state_text(state, count) for state, count in ordered)


def error_line(error: str | None) -> str:
    """What of an error stands in a row: its first line, with its class. The last may be a caret below a query."""
    line = (error or "").strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_ERROR else line[: _LONGEST_ERROR - 1] + "…"


def ago(at: datetime | None, now: datetime) -> str:
    """`3 min ago`; the exact instant is in --json."""
    if at is None:
        return "–"
    seconds = (now - at) / timedelta(seconds=1)
    if seconds < 0:
        return "in " + _rough(-seconds)
    return "now" if seconds < 1 else f"{_rough(seconds)} ago"


def _rough(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def utc_now() -> datetime:
    return datetime.now(UTC)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        # A pipe has no width: rows stay on their lines, so that tools like grep see them whole.
        console = Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=_PIPED_WIDTH)
    return console
