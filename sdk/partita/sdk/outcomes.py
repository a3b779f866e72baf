"""What a step can hand back besides a plain value: `Output`, and the three ways to end without one.

Owns the words of user code for outcomes; refuses to know how they are stored or retried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from partita.sdk.durations import seconds

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Output(Generic[T_co]):
    """A value for one cell, or for the whole task when `partition` is None.

    `partition` is a key of the task (required when the task has several cells and the value does not say by its columns
    where its rows belong). `asset` names one asset of a `@multi_asset`. `data_version` states the version of the data
    instead of the store's digest; equal versions mean equal data. `metadata` holds JSON values.
    """

    value: T_co | None = None
    partition: str | None = None
    asset: str | None = None
    data_version: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Skip(Exception):
    """Raise it: nothing is produced and nothing is published, and the run succeeds.

    Yield it with `partition=` to skip one cell of a task and produce the others.
    """

    def __init__(self, reason: str = "", *, partition: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.partition = partition


class RetryLater(Exception):
    """Raise it: not now, try again `after` a while (seconds, "5m" or a timedelta; None: as the retry policy says)."""

    def __init__(self, reason: str = "", *, after: float | str | timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_s = None if after is None else seconds(after, what="RetryLater(after=)")


class Fail(Exception):
    """Raise it: failed for good, no retry can mend it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a `@check` saw; a check may also return a plain bool. `detail` holds JSON values."""

    passed: bool
    detail: Mapping[str, Any] = field(default_factory=dict)
