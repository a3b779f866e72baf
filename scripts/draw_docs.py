"""Draw the pictures of docs/partitions.md and docs/mappings.md from the model itself, and the states of a task of
docs/scheduling.md from the table of their moves, so that they cannot drift.

`--check` writes nothing and ends with exit code 1 when a picture or a table differs from what would be written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import draw_states

from partita.assets import (
    Daily,
    Hourly,
    Mapping,
    Monthly,
    PartitionsDef,
    PartitionSpace,
    Rolling,
    TimeOverlap,
    Weekly,
    space_of,
    upstream_of,
)

DOCS = Path(__file__).parent.parent / "docs"
TARGET = DOCS / "images"
BEGIN, END = "<!-- moves: written by scripts/draw_docs.py -->", "<!-- end of moves -->"
MOVES = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#2b2f3a}.k{font:11px ui-monospace,monospace}.q{fill:#646a78}"
    ".b{fill:#eef0f4;stroke:#9aa1b0}.n{fill:#9fd8b4;stroke:#3b8a5a}.s{fill:#a9c4f5;stroke:#3b62b0}"
    ".a{fill:none;stroke:#b3423c;stroke-dasharray:4 3}.e{fill:none;stroke:#9aa1b0}.h{fill:#9aa1b0}.w{font-size:10px;fill:#646a78}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e6ec}.q{fill:#9aa1b0}.b{fill:#23262e;stroke:#565d6c}"
    ".n{fill:#245c3b;stroke:#6fc191}.s{fill:#27437c;stroke:#8fb0f2}.a{stroke:#f0867f}.e{stroke:#7d8494}.h{fill:#7d8494}.w{fill:#9aa1b0}}"
)
LEFT, WIDTH, ROW = 150, 700, 26


def pictures() -> dict[str, str]:
    """Every picture by its file name."""
    autumn = (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 26, 23, tzinfo=UTC))
    march = (datetime(2026, 2, 26, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
    days, weeks, months = Daily("2026-02-27"), Weekly("2026-02-23"), Monthly("2026-02-01")
    return {
        "states.svg": _states(),
        "windows.svg": _windows(autumn),
        "mapping-rolling.svg": _mapping("rolling(days=7)", days, days, Rolling(7, "days"), "2026-03-03", march),
        "mapping-overlap.svg": _mapping("overlap()", weeks, Daily("2026-02-23"), TimeOverlap(), "2026-03-02", march),
        "mapping-previous-month.svg": _mapping(
            'overlap(-1, -1, unit="upstream")', days, months, TimeOverlap(-1, -1, unit="upstream"), "2026-03-03",
            (datetime(2026, 1, 28, tzinfo=UTC), datetime(2026, 4, 3, tzinfo=UTC)),
        ),
    }  # fmt: skip


def _states() -> str:
    parts, width, height = draw_states.picture()
    return _svg(parts, height, width)


def pages() -> dict[Path, str]:
    """Every page with a generated part, as it should be."""
    page = DOCS / "scheduling.md"
    return {page: MOVES.sub(lambda _: f"{BEGIN}\n{draw_states.table()}{END}", page.read_text())}


Span = tuple[datetime, datetime]


def _windows(span: Span) -> str:
    """Hours and days over a night on which the clocks go back."""
    zone = "Europe/Berlin"
    rows = [("Daily, UTC", Daily("2026-10-01")), ("Daily, Berlin", Daily("2026-10-01", tz=zone))]
    hourly = ("Hourly, Berlin", Hourly("2026-10-01", tz=zone))
    parts = [_row(name, scheme, span, index, lambda _: "b") for index, (name, scheme) in enumerate([*rows, hourly])]
    space = _space(rows[1][1])
    night = space.window_at(space.ordinal_of("2026-10-25"))
    assert night is not None
    hours = (night.end - night.start).total_seconds() / 3600
    told = f"2026-10-25 in Berlin lasts {hours:.0f} hours; the hour from 2 to 3 comes twice, as two partitions"
    return _svg([*parts, f'<text class="q" x="{LEFT}" y="{ROW * 4 + 6}">{told}</text>'], ROW * 4 + 16)


def _mapping(word: str, down: PartitionsDef, up: PartitionsDef, mapping: Mapping, key: str, span: Span) -> str:
    """What one downstream partition needs."""
    own, above = _space(down), _space(up)
    cell = own.set_of([key])
    needed = upstream_of(mapping, down=own, up=above, cells=cell)
    parts = [
        _row("upstream", up, span, 0, lambda ordinal: "n" if ordinal in needed.existing else "b"),
        _row("downstream", down, span, 1, lambda ordinal: "s" if ordinal in cell else "b"),
    ]
    end = f"{len(needed.existing)} needed"
    if needed.absent_count:
        end += f", and {needed.absent_count} that do not exist: {', '.join(needed.absent)}"
    parts.append(
        f'<text class="q" x="{LEFT}" y="{ROW * 3 + 6}"><tspan class="k">{_escaped(word)}</tspan> for {key}: {end}</text>'
    )
    return _svg(parts, ROW * 3 + 16)


def _row(name: str, scheme: PartitionsDef, span: Span, index: int, style: Callable[[int], str]) -> str:
    space, top = _space(scheme), 6 + index * ROW
    first, last = span
    scale = WIDTH / (last - first).total_seconds()
    parts = [f'<text x="0" y="{top + 15}">{name}</text>']
    for ordinal in range(space.size):
        window = space.window_at(ordinal)
        assert window is not None
        start, end = max(window.start, first), min(window.end, last)
        if start >= end:
            continue
        x, width = LEFT + (start - first).total_seconds() * scale, (end - start).total_seconds() * scale
        parts.append(f'<rect class="{style(ordinal)}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="20"/>')
        label = str(space.key_at(ordinal))
        if width > 6.6 * len(label):
            parts.append(f'<text class="k" x="{x + 4:.1f}" y="{top + 14}">{label}</text>')
        elif width > 26 and window.start == start:
            parts.append(f'<text class="k" x="{x + 4:.1f}" y="{top + 14}">{label[-5:]}</text>')
    return "".join(parts)


def _space(scheme: PartitionsDef) -> PartitionSpace:
    return space_of(scheme, datetime(2026, 12, 1, tzinfo=UTC))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _svg(parts: list[str], height: int, width: int = LEFT + WIDTH + 2) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return f"{head}<style>{STYLE}</style>{''.join(parts)}</svg>\n"


def main() -> int:
    """Write the pictures and the tables, or compare them."""
    drawn = {TARGET / name: text for name, text in pictures().items()} | pages()
    if "--check" not in sys.argv:
        for path, text in drawn.items():
            path.write_text(text)
        return 0
    old = [path.name for path, text in drawn.items() if not path.is_file() or path.read_text() != text]
    if old:
        print(f"{', '.join(old)} differ; run: python scripts/draw_docs.py", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
