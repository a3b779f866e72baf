"""How a step is repeated, batched and started: values that users write and the snapshot carries.

Owns RetryPolicy and the batch words (`per`, `up_to`, `any_size`, `all_`).
Refuses to act on them: planner, scheduler and automation do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from partita.assets import (
    All,
    AnyBatchSpec,
    BatchSpec,
    DefinitionError,
    MultiPartitions,
    PartitionsDef,
    PerBatchSpec,
    RetrySpec,
    SingleBatchSpec,
    TimePartitions,
    UpToBatchSpec,
    suggest,
)
from partita.assets.durations import Duration, seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how long a failed attempt is repeated: at most `max_retries` times, so one attempt more in all.

    `delay` is seconds, a timedelta or a text such as "30s". `backoff="exponential"` doubles it each time, up to
    `max_delay`. `jitter` is the share (0 to 1) of a delay that is drawn at random. Raises DefinitionError.

    >>> RetryPolicy(3, delay="30s", backoff="exponential", max_delay="10m").spec().delay_s
    30.0
    >>> RetryPolicy(-1)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: RetryPolicy(max_retries=-1); retries are counted from 0
    """

    max_retries: int = 0
    delay: Duration = 0.0
    backoff: Literal["fixed", "exponential"] = "fixed"
    max_delay: Duration | None = None
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not _whole(self.max_retries):
            raise DefinitionError(
                f"RetryPolicy(max_retries={self.max_retries!r})",
                rule="retries are a whole number",
                fix="write for example RetryPolicy(3)",
            )
        if self.max_retries < 0:
            raise DefinitionError(f"RetryPolicy(max_retries={self.max_retries})", rule="retries are counted from 0")
        if not 0 <= self.jitter <= 1:
            raise DefinitionError(f"RetryPolicy(jitter={self.jitter})", rule="jitter is a share from 0 to 1")
        if self.backoff not in ("fixed", "exponential"):
            raise DefinitionError(f"RetryPolicy(backoff={self.backoff!r})", rule="it is 'fixed' or 'exponential'")
        self.spec()

    def spec(self) -> RetrySpec:
        """Its snapshot form, with all times in seconds."""
        limit = None if self.max_delay is None else seconds(self.max_delay, what="RetryPolicy(max_delay=)")
        return RetrySpec(
            max_retries=self.max_retries,
            delay_s=seconds(self.delay, what="RetryPolicy(delay=)"),
            backoff=self.backoff,
            max_delay_s=limit,
            jitter=self.jitter,
        )


class AllOf:
    """The word `all_`: the whole of a dimension in `per()`; called, the mapping to every upstream partition."""

    __slots__ = ()

    def __call__(self) -> All:
        return All()

    def __repr__(self) -> str:
        return "all_"


all_ = AllOf()
"""The word `all_`: in `per()` the whole of a dimension; called, or after `From(...)`, the mapping to every upstream
partition.

>>> @asset(partitions=Daily("2026-03-01"))
... def orders() -> Relation: ...
>>> @asset
... def total(orders: Annotated[Relation, From(orders, all_)]) -> Relation: ...
>>> all_()
All()
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """How many partitions one task takes. Made by `per()`, `up_to()` and `any_size()`."""

    spec: BatchSpec


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


SINGLE = Batch(SingleBatchSpec())
_SLICE = re.compile(r"[1-9]\d*(min|h|d|w|mo|y)")


def up_to(n: int) -> Batch:
    """At most `n` partitions a task, neighbours together. Raises DefinitionError for n below one.

    >>> @asset(partitions=Static("EWR", "JFK", "LGA"), batch=up_to(2))
    ... def departures(context: Context):
    ...     context.log.info("%d at once", len(context.partitions))
    ...     for one in context.partitions:
    ...         yield Output(Relation.from_rows([{"origin": one.key}]), partition=one.key)
    >>> [text for _, text in materialize(departures, partitions="EWR, JFK, LGA").logs]
    ['2 at once', '1 at once']
    """
    if not _whole(n) or n < 1:
        raise DefinitionError(f"up_to({n!r})", rule="a task takes one partition or more", fix="write a whole number")
    return Batch(UpToBatchSpec(n=n))


def any_size() -> Batch:
    """As many partitions a task as there are to do: one task for the whole of a plan, where the store and the code can
    take it.

    >>> @asset(partitions=Static("EWR", "JFK"), batch=any_size(), partition_columns="origin")
    ... def departures() -> Relation:
    ...     return Relation.from_rows([{"origin": "EWR", "n": 3}, {"origin": "JFK", "n": 4}])
    >>> materialize(departures, partitions="EWR, JFK").read(departures, "JFK").fetchall()
    [('JFK', 4)]
    """
    return Batch(AnyBatchSpec())


def per(**dimensions: str | AllOf) -> Batch:
    """One task for each slice: `per(hour="1d", origin=all_)` is one task a local day over all origins.

    A time dimension takes a stretch of local time ("30min", "6h", "1d", "1w", "1mo", "1y") or `all_`, any other dimension
    `all_`. A dimension that is not named is cut at every key.

    >>> @asset(partitions=Multi(hour=Hourly("2026-03-01"), origin=Static("EWR", "JFK")), batch=per(hour="1d", origin=all_))
    ... def weather(context: Context) -> Relation: ...
    >>> per(hour="1 day")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: per(hour='1 day'); ...; write for example "6h" or "1d"
    """
    if not dimensions:
        raise DefinitionError("per() names no dimension", fix='write for example per(hour="1d", origin=all_)')
    slices = {name: "all" if isinstance(size, AllOf) else size for name, size in dimensions.items()}
    for name, size in slices.items():
        if size != "all" and not _SLICE.fullmatch(str(size)):
            raise DefinitionError(
                f"per({name}={size!r})",
                rule="a slice is all_, or a number with min, h, d, w, mo or y",
                fix='write for example "6h" or "1d"',
            )
    return Batch(PerBatchSpec(dims=slices))


def check_batch(batch: Batch, partitions: PartitionsDef | None, owner: str) -> None:
    """Refuse a batch which does not fit the partitions of `owner`."""
    if not isinstance(batch.spec, PerBatchSpec):
        return
    if not isinstance(partitions, MultiPartitions):
        raise DefinitionError(
            f"{owner}: batch=per(...) on an asset with one dimension or none",
            rule="per() slices the dimensions of Multi(...)",
            fix="use up_to(n) or any_size()",
        )
    schemes = dict(partitions.dims)
    for name, size in batch.spec.dims.items():
        if name not in schemes:
            raise DefinitionError(
                f"{owner}: batch=per({name}=...) names no dimension",
                rule=f"its dimensions are {', '.join(schemes)}",
                fix=suggest(name, schemes),
            )
        if size != "all" and not isinstance(schemes[name], TimePartitions):
            raise DefinitionError(
                f"{owner}: batch=per({name}={size!r})", rule=f"{name} is no time dimension", fix=f"write {name}=all_"
            )


def checked_limit(given: object, owner: str) -> int | None:
    """What `automatic_limit=` of an asset says."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise DefinitionError(
        f"{owner}: automatic_limit={given!r}",
        rule="it is a number of cells: a request of more of them, made by automation, waits for a person",
        fix="write a number from 0 (all of them wait), or leave it out for the deployment's limit",
    )
