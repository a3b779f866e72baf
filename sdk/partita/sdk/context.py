"""What a step knows about its attempt: partitions, identity, log, metadata.

Owns the values handed to user code; refuses everything that could act on the platform.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.assets import AssetKey, DynamicPartitions, PartitaError, PartitionKey
from partita.assets.durations import Duration
from partita.assets.metadata import checked_metadata
from partita.assets.partitions.dynamic import FAN_OUT, check_fan_out, legal_keys
from partita.assets.wait_specs import fill, fill_known
from partita.sdk.runtime_values import Deferral, FiredWait
from partita.sdk.watching import Trigger, args_of, path_of, trigger_at


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


class Deferred(BaseException):
    """The step waits: its attempt ends here, and it is called again from its beginning once the trigger has fired.

    No `Exception`, so that an `except Exception` around the call does not swallow it.
    """

    def __init__(self, deferral: Deferral) -> None:
        super().__init__(f"waits for {deferral.label}")
        self.deferral = deferral


@dataclass(frozen=True, slots=True)
class Event:
    """A trigger that fired, and what it brought."""

    trigger: Trigger
    payload: Any


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
        fired: Sequence[FiredWait] = (),
        asynchronous: bool = False,
        fan_out: int = FAN_OUT,
        traceparent: str = "",
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
        self.traceparent = traceparent
        """W3C trace context of this attempt, to be handed on to what it calls; also in the environment, as TRACEPARENT. "" in
        process, unless that is set there."""
        self.log = _logger(attempt_id, emit)
        self._metadata: dict[str, Any] = {}
        self._fired = sorted(fired, key=lambda one: one.place)
        self._told: set[int] = set()
        self._asynchronous = asynchronous
        self._fan_out = fan_out
        self._added: dict[str, list[PartitionKey]] = {}
        self.waits_for: Deferral | None = None
        """What the step deferred to, if it did: whoever runs it looks here, whatever became of the exception."""

    @property
    def trace_id(self) -> str:
        """The one id of all that comes of a request (32 hex digits), as runs and events show it; "" without a traceparent."""
        return self.traceparent[3:35]

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

    def add_partitions(self, scheme: DynamicPartitions, keys: Iterable[str]) -> None:
        """Add keys to dynamic partitions, when this attempt is committed: what it found, its consumers are sliced by.

        They exist from the commit that publishes the attempt's cells, once, however often it is repeated; an attempt that fails
        adds none. Keys that are there already stay. Assets that are sliced by the scheme and automated are asked for over the new
        ones. One attempt adds 1,024 keys at most, or as many as its asset's `fan_out=` says.

            context.add_partitions(files, [path.name for path in inbox.iterdir()])

        Raises DefinitionError for keys that cannot be, and above the cap (S-023).
        """
        if not isinstance(scheme, DynamicPartitions):
            raise PartitaError(
                f"context.add_partitions({scheme!r}, ...)",
                rule="it adds keys to dynamic partitions",
                fix='give the Dynamic("name") that slices the assets',
            )
        added = list(dict.fromkeys([*self._added.get(scheme.name, ()), *legal_keys(scheme, keys)]))
        check_fan_out(scheme, added, self._fan_out)
        self._added[scheme.name] = added

    @property
    def added_partitions(self) -> Mapping[str, Sequence[str]]:
        """What `add_partitions()` collected so far, by scheme."""
        return {scheme: tuple(keys) for scheme, keys in self._added.items()}

    @property
    def events(self) -> tuple[Event, ...]:
        """What the triggers of `wait_for=` brought, in their order."""
        return tuple(_event(one) for one in self._fired if one.place < 0)

    @property
    def deferred(self) -> tuple[Event, ...]:
        """What this step deferred to in its earlier passes, with what came: a step that began something outside finds it here,
        and does not begin it again."""
        return tuple(_event(one) for one in self._fired if one.place >= 0)

    def defer(self, trigger: Trigger, *, deadline: Duration, poll: Duration | None = None) -> Any:
        """Wait without holding a slot: the attempt ends deferred, and once the trigger has fired the step is called again.

        The call then returns the payload (in an `async def` step it is awaited). The step starts from its beginning: what
        stands before the call is done twice unless it looks at `context.deferred`. `deadline` counts from the first time, over
        all retries; when it passes the task fails. `poll` is the time between two looks.

            job = context.deferred[0].trigger.args["job"] if context.deferred else spark.submit()
            result = context.defer(JobDone("shop.spark:finished", {"job": job}), deadline="2h")
        """
        wait = trigger.within(deadline, poll=poll)
        names = template_names(self.partitions[0]) if len(self.partitions) == 1 else {}
        args = fill(args_of(trigger), names) if names else args_of(trigger)
        path = path_of(type(trigger))
        for one in self._fired:
            if one.place >= 0 and one.place not in self._told and (one.trigger, dict(one.args)) == (path, args):
                self._told.add(one.place)
                return _awaitable(one.payload) if self._asynchronous else one.payload
        place = sum(one.place >= 0 for one in self._fired)
        label = fill_known(str(trigger), names)
        self.waits_for = Deferral(place, path, args, label, wait.deadline_s, wait.poll_s)
        raise Deferred(self.waits_for)

    @property
    def attached_metadata(self) -> Mapping[str, Any]:
        """What `metadata()` collected so far."""
        return dict(self._metadata)

    def __repr__(self) -> str:
        return f"<Context {', '.join(self.assets)} {len(self.partitions)} partition(s), attempt {self.attempt}>"


def template_names(partition: Partition) -> dict[str, str | datetime]:
    """What texts of a trigger may name of a partition."""
    window = partition.window
    span: dict[str, str | datetime] = {} if window is None else {"start": window.start, "end": window.end}
    return {"partition": partition.key, **partition.dimensions, **span}


def _event(one: FiredWait) -> Event:
    return Event(trigger_at(one.trigger, one.args), one.payload)


async def _awaitable(payload: Any) -> Any:
    return payload


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
