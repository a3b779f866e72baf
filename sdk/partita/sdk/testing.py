"""Helpers for tests of user code: run a location or a step without a deployment, and definitions that stay apart.

Owns twins of what a deployment provides. Refuses to be imported by production code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from partita.assets import AssetKey
from partita.sdk.asking import PublishedEvent, RunEvent
from partita.sdk.collector import Collector, collecting
from partita.sdk.context import Context, Deferred, Partition, TimeSpan
from partita.sdk.evaluate import Evaluated
from partita.sdk.evaluate import evaluate as _evaluate
from partita.sdk.evaluators import EvaluatorFunction
from partita.sdk.inprocess import materialize, materialize_location
from partita.sdk.resources import Resource
from partita.sdk.results import MaterializationFailed, MaterializeResult
from partita.sdk.runtime import CellOutcome, CheckOutcome, FiredWait, LoadedLocation, load_location
from partita.sdk.watching import Trigger, args_of, path_of

__all__ = [
    "Deferred",
    "Evaluated",
    "LoadedLocation",
    "MaterializationFailed",
    "MaterializeResult",
    "RecordingReporter",
    "definitions",
    "evaluate",
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
    deferred: Sequence[tuple[Trigger, Any]] = (),
    asynchronous: bool = False,
) -> Context:
    """A Context for calling a step's function directly. Lines of `context.log` are appended to `log`.

    `deferred` are triggers with the payloads that they brought: `context.defer` of one of them returns its payload (to be awaited
    when `asynchronous`), of another raises `Deferred`.
    """
    lines: list[tuple[str, str]] = [] if log is None else log
    window = None if start is None or end is None else TimeSpan(start, end)
    values: dict[str, Any] = {"attempt_id": "test", "attempt": attempt, "run_id": 0, "fence": 1}
    return Context(
        assets=[AssetKey(one) for one in assets],
        partitions=[Partition(partition, window, dimensions or {})],
        emit=lambda level, text: lines.append((level, text)),
        fired=[FiredWait(place, path_of(type(one)), args_of(one), got) for place, (one, got) in enumerate(deferred)],
        asynchronous=asynchronous,
        **values,
    )


def evaluate(
    function: EvaluatorFunction[Any, Any],
    *,
    now: datetime,
    cursor: str | None = None,
    tick: datetime | None = None,
    partitions: Sequence[str] = ("",),
    events: Sequence[PublishedEvent] = (),
    runs: Sequence[RunEvent] = (),
    resources: Sequence[Resource] = (),
) -> Evaluated:
    """Evaluate an observer, schedule or sensor as a deployment would, and return what it asks for.

    >>> from partita.sdk import SensorContext, Request, sensor
    >>> @sensor(every="1m")
    ... def numbers(context: SensorContext) -> Request:
    ...     context.cursor = str(int(context.cursor or 0) + 1)
    ...     return Request("numbers", key=context.cursor)
    >>> found = evaluate(numbers, now=datetime(2026, 3, 2, tzinfo=UTC), cursor="4")
    >>> found.cursor, found.requests[0]["key"]
    ('5', '5')
    """
    given = {
        "now": now.isoformat(),
        "cursor": cursor,
        "tick": (tick or now).isoformat(),
        "partitions": list(partitions),
        "events": [asdict(one) | {"at": one.at.isoformat()} for one in events],
        "runs": [asdict(one) | {"at": one.at.isoformat()} for one in runs],
    }
    return _evaluate(function.definition, given, resources)
