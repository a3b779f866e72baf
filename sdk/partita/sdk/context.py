"""What a step knows about its attempt: partitions, identity, log, metadata.

Owns the values handed to user code; refuses everything that could act on the platform.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.assets import AssetKey, PartitaError

METADATA_LIMIT_BYTES = 64 * 1024  # S-209
METADATA_DEPTH = 100  # well below what recursive readers of it can take


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A half-open stretch of time [start, end); both ends are aware datetimes in the asset's zone.

    >>> day = TimeSpan(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    >>> day.end - day.start
    datetime.timedelta(days=1)
    """

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of a task. `key` is the stored key ("" when unpartitioned); `dimensions` holds the keys by name for
    Multi(...).

    `start` and `end` (exclusive) are aware datetimes in the asset's zone; PartitaError without a time window.

    >>> day = TimeSpan(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    >>> Partition("2026-03-01", day).start.isoformat()
    '2026-03-01T00:00:00+00:00'
    >>> Partition("EWR").start
    Traceback (most recent call last):
        ...
    partita.assets.errors.PartitaError: partition 'EWR' has no time window; ...; use .key or .dimensions
    """

    key: str
    window: TimeSpan | None = None
    dimensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def start(self) -> datetime:
        """Start of the time window, aware, in the asset's zone."""
        return self._timed().start

    @property
    def end(self) -> datetime:
        """End of the time window (exclusive), aware, in the asset's zone."""
        return self._timed().end

    def _timed(self) -> TimeSpan:
        if self.window is None:
            raise PartitaError(
                f"partition {self.key!r} has no time window",
                rule="only partitions of a time dimension have start and end",
                fix="use .key or .dimensions",
            )
        return self.window


class Context:
    """The first-class parameter of a step: `def orders(context: Context) -> Relation`. Made by the runner, or by
    `testing.make_context`.

    `partition` is the one partition of the task (PartitaError when it has several: `partitions`), `window` the time
    that they span, `log` a logger whose lines are kept with the attempt, `metadata(...)` JSON values for the published
    cells.

    >>> from partita.sdk.testing import make_context
    >>> context = make_context("2026-03-01", start=datetime(2026, 3, 1, tzinfo=UTC), end=datetime(2026, 3, 2, tzinfo=UTC))
    >>> context.partition.key, context.window.start.isoformat()
    ('2026-03-01', '2026-03-01T00:00:00+00:00')
    >>> context.metadata(source="feed", rows_seen=3)
    >>> dict(context.attached_metadata)
    {'source': 'feed', 'rows_seen': 3}
    """

    def __init__(
        self,
        *,
        assets: Sequence[AssetKey],
        partitions: Sequence[Partition],
        attempt_id: str,
        attempt: int,
        run_id: int,
        fence: int,
        emit: Callable[[str, str], None],
    ) -> None:
        self.assets = tuple(assets)
        """Keys of the assets that this attempt is to produce: all of a group, of a subsettable one those that are needed."""
        self.partitions = tuple(partitions)
        """All partitions of the task, in order."""
        self.attempt_id = attempt_id
        self.attempt = attempt
        """Number of this attempt, from 1."""
        self.run_id = run_id
        self.fence = fence
        """Rises with every attempt at a cell: a store that partita does not version compares it (see io=None)."""
        self.log = _logger(attempt_id, emit)
        self._metadata: dict[str, Any] = {}

    @property
    def partition(self) -> Partition:
        """The one partition of this task; an error when the task has several."""
        if len(self.partitions) != 1:
            raise PartitaError(
                f"this task of {', '.join(self.assets)} has {len(self.partitions)} partitions",
                rule="context.partition is for tasks of one partition",
                fix="use context.partitions, or context.window for the time they span",
            )
        return self.partitions[0]

    @property
    def window(self) -> TimeSpan:
        """The time from the first start to the last end of the task's partitions."""
        return TimeSpan(min(one.start for one in self.partitions), max(one.end for one in self.partitions))

    def metadata(self, **values: Any) -> None:
        """Attach JSON values to every cell that this attempt publishes, at most 64 KB in all."""
        self._metadata = checked_metadata({**self._metadata, **values})

    @property
    def attached_metadata(self) -> Mapping[str, Any]:
        """What `metadata()` collected so far."""
        return dict(self._metadata)

    def __repr__(self) -> str:
        return f"<Context {', '.join(self.assets)} {len(self.partitions)} partition(s), attempt {self.attempt}>"


def checked_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` as a plain dict, refused when it is not JSON or too large."""
    if _deeper_than(values, METADATA_DEPTH):
        raise PartitaError(
            f"metadata {', '.join(sorted(map(str, values)))} is nested too deeply",
            rule=f"lists and dicts in metadata go at most {METADATA_DEPTH} levels deep",
            fix="flatten it, or keep it in the data and put a reference here",
        )
    try:
        size = len(json.dumps(values, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise PartitaError(
            f"metadata {', '.join(sorted(map(str, values)))} is not JSON: {error}",
            rule="metadata holds texts, finite numbers, booleans, None, lists and dicts with text keys",
            fix="convert the value, for example with str()",
        ) from None
    if size > METADATA_LIMIT_BYTES:
        raise PartitaError(
            f"metadata takes {size:,} bytes",
            rule=f"metadata of a cell takes at most {METADATA_LIMIT_BYTES:,} bytes",
            fix="keep large values in the data and put a reference here",
        )
    return dict(values)


def _deeper_than(value: object, levels: int) -> bool:
    """Whether lists and dicts nest deeper. Without recursion: that is what it guards against."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            if isinstance(one, Mapping | list | tuple)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not layer or len(layer) > METADATA_LIMIT_BYTES:  # as wide as that it is too large anyway
            return False
    return any(isinstance(one, Mapping | list | tuple) for one in layer)


class _Forward(logging.Handler):
    def __init__(self, emit: Callable[[str, str], None]) -> None:
        super().__init__()
        self._emit = emit

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._emit(record.levelname, self.format(record))
        except Exception:  # a log line must never fail the step; logging's own policy
            self.handleError(record)


def _logger(name: str, emit: Callable[[str, str], None]) -> logging.Logger:
    # Not taken from logging.getLogger: it lives as long as the attempt and inherits no handlers of the user's.
    logger = logging.Logger(f"partita.attempt.{name}", logging.DEBUG)  # noqa: LOG001
    logger.addHandler(_Forward(emit))
    return logger
