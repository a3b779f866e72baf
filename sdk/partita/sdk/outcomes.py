"""What a step can hand back besides a plain value: `Output`, and the three ways to end without one.

Owns the words of user code for outcomes; refuses to know how they are stored or retried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from partita.assets.durations import seconds

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Output(Generic[T_co]):
    """A value for one cell, or for the whole task when `partition` is None.

    `partition` is a key of the task (required when the task has several cells and the value does not say by its columns
    where its rows belong). `asset` names one asset of a `@multi_asset`. `data_version` states the version of the data
    instead of the store's digest; equal versions mean equal data. `metadata` holds JSON values.

    >>> @asset(partitions=Static("EWR", "JFK"), batch=any_size())
    ... def departures(context: Context):
    ...     for one in context.partitions:
    ...         rows = Relation.from_rows([{"origin": one.key}])
    ...         yield Output(rows, partition=one.key, data_version="2026-03-01", metadata={"source": "feed"})
    >>> materialize(departures, partitions="EWR, JFK").versions(departures)
    {'EWR': '2026-03-01', 'JFK': '2026-03-01'}
    """

    value: T_co | None = None
    partition: str | None = None
    asset: str | None = None
    data_version: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Skip(Exception):
    """Raise it: nothing is produced and nothing is published, and the run succeeds.

    Yield it with `partition=` to skip one cell of a task and produce the others.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders(context: Context) -> Relation:
    ...     if context.partition.start.weekday() == 6:
    ...         raise Skip("closed on Sundays")
    ...     return Relation.from_rows([{"orders": 3}])
    >>> sunday = materialize(orders, partitions="2026-03-01")
    >>> sunday.success, sunday.versions(orders)
    (True, {})
    """

    def __init__(self, reason: str = "", *, partition: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.partition = partition


class RetryLater(Exception):
    """Raise it: not now, try again `after` a while (seconds, "5m" or a timedelta; None: as the retry policy says).

    >>> RetryLater("the export is not there yet", after="5m").after_s
    300.0
    """

    def __init__(self, reason: str = "", *, after: float | str | timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_s = None if after is None else seconds(after, what="RetryLater(after=)")


class Fail(Exception):
    """Raise it: failed for good, no retry can mend it; the reason is shown with the cell.

    >>> @asset
    ... def orders() -> Relation:
    ...     raise Fail("the contract ended; nothing will come any more")
    >>> materialize(orders, raise_on_error=False).success
    False
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a `@check` saw; a check may also return a plain bool. `detail` holds JSON values.

    >>> CheckResult(passed=False, detail={"rows": 0, "expected": "one or more"})
    CheckResult(passed=False, detail={'rows': 0, 'expected': 'one or more'})
    """

    passed: bool
    detail: Mapping[str, Any] = field(default_factory=dict)
