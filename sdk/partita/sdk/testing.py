"""Helpers for tests of user code: run a location or a step without a deployment, and definitions that stay apart.

Owns twins of what a deployment provides. Refuses to be imported by production code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from partita.assets import AssetKey
from partita.sdk.collector import Collector, collecting
from partita.sdk.context import Context, Partition, TimeSpan
from partita.sdk.inprocess import materialize, materialize_location
from partita.sdk.results import MaterializationFailed, MaterializeResult
from partita.sdk.runtime import CellOutcome, CheckOutcome, LoadedLocation, load_location

__all__ = [
    "LoadedLocation",
    "MaterializationFailed",
    "MaterializeResult",
    "RecordingReporter",
    "definitions",
    "load",
    "make_context",
    "materialize",
    "materialize_location",
]


@dataclass(eq=False)
class RecordingReporter:
    """The in-memory twin of an attempt's channel: keeps what a step reports."""

    cells: list[CellOutcome] = field(default_factory=list)
    checks: list[CheckOutcome] = field(default_factory=list)
    logs: list[tuple[str, str]] = field(default_factory=list)

    def cell(self, outcome: CellOutcome) -> None:
        """Take a cell."""
        self.cells.append(outcome)

    def check(self, outcome: CheckOutcome) -> None:
        """Take a check."""
        self.checks.append(outcome)

    def log(self, level: str, text: str) -> None:
        """Take a log line."""
        self.logs.append((level, text))


@contextmanager
def definitions() -> Iterator[Collector]:
    """Definitions made inside are strict, as in a location (a key twice is an error), and are forgotten afterwards."""
    with collecting(Collector(strict=True)) as collector:
        yield collector


def load(root: Path, *modules: str, name: str = "test") -> LoadedLocation:
    """Load a location and insist that all its modules are well. Raises AssertionError with their errors."""
    location = load_location(name, root, modules)
    broken = [f"{one.name}: {one.error}" for one in location.snapshot.modules if not one.ok]
    assert not broken, "\n".join(broken)
    return location


def make_context(
    partition: str = "",
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    dimensions: Mapping[str, str] | None = None,
    assets: Sequence[str] = ("test",),
    attempt: int = 1,
    log: list[tuple[str, str]] | None = None,
) -> Context:
    """A Context for calling a step's function directly. Lines of `context.log` are appended to `log`."""
    lines: list[tuple[str, str]] = [] if log is None else log
    window = None if start is None or end is None else TimeSpan(start, end)
    values: dict[str, Any] = {"attempt_id": "test", "attempt": attempt, "run_id": 0, "fence": 1}
    return Context(
        assets=[AssetKey(one) for one in assets],
        partitions=[Partition(partition, window, dimensions or {})],
        emit=lambda level, text: lines.append((level, text)),
        **values,
    )
