"""What is due of an asset by its freshness policy, and when next. Pure: calendars and schemes, no cells.

By lag each window is due so long after it closed. By time of day, what had closed when that day began is due at that time.
Without windows there is nothing to close: by time of day it is to be made on that day; by lag, it is due so long after it was
made last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from zoneinfo import ZoneInfo

from partita.assets import (
    AssetSpec,
    FreshnessSpec,
    PartitionSet,
    PartitionSpace,
    ProductSpace,
    TimePartitions,
    TimeSpace,
    canonical_json,
    next_fires,
    previous_fires,
)
from partita.core.automation.timing import closed_count, time_of, whole_count
from partita.core.store.values import AssetId

_SOON = timedelta(microseconds=1)
_MOST = 400
"""Of an asset that nobody looked at for long so many of the newest are judged."""


@dataclass(frozen=True, slots=True)
class Due:
    """At an instant this window is to be there, or an asset without windows made after `counts_from`. The time that it takes is
    counted from `counts_from`: the close of the window, or the begin of the day."""

    at: datetime
    counts_from: datetime
    window: int | None


def policy_text_of(spec: AssetSpec) -> str | None:
    """What stands for the policy and the scheme that it counts by; None without a policy."""
    if spec.freshness is None:
        return None
    scheme = b"" if spec.partitions is None else canonical_json(spec.partitions)
    return sha256(canonical_json(spec.freshness) + b"\0" + scheme).hexdigest()[:32]


def wanted_policies(specs: Iterable[AssetSpec], ids: Mapping[str, AssetId]) -> tuple[dict[AssetId, str], list[AssetId]]:
    """The policies of these definitions, and the assets that have none."""
    texts = {ids[spec.key]: policy_text_of(spec) for spec in specs}
    return {one: text for one, text in texts.items() if text is not None}, [
        one for one, text in texts.items() if text is None
    ]


def dues(policy: FreshnessSpec, space: PartitionSpace, since: datetime | None, now: datetime) -> list[Due]:
    """What was due since an instant, oldest first, after the newest that was due before it. Of a policy by lag without windows
    nothing: what is due depends on when it was made."""
    inner = time_of(space)
    if policy.by is not None:
        return _by_time_of_day(policy, inner, since, now)
    return [] if inner is None else _by_lag(policy, inner, since, now)


def next_due(policy: FreshnessSpec, space: PartitionSpace, now: datetime) -> datetime | None:
    """When something is due next; None: never, or that depends on when it was made."""
    if policy.by is not None:
        return next(iter(next_fires(policy.cron, policy.tz, now)), None)
    inner = time_of(space)
    if inner is None or policy.max_lag_s is None:
        return None
    scheme = inner.definition
    assert isinstance(scheme, TimePartitions)
    lag = timedelta(seconds=policy.max_lag_s)
    if scheme.end is not None and closed_count(inner, now - lag) >= whole_count(scheme):
        return None
    closes = next(iter(next_fires(scheme.cron, scheme.tz, now - lag)), None)
    return None if closes is None else closes + lag


def window_cells(space: PartitionSpace, window: int | None) -> PartitionSet:
    """The partitions of one window: one, or those of all other dimensions; without windows all that there are."""
    if window is None:
        return space.all()
    chosen = PartitionSet.from_ordinals([window])
    if isinstance(space, ProductSpace):
        assert space.time_dim is not None
        return space.across(space.time_dim, chosen)
    return chosen


def _by_lag(policy: FreshnessSpec, space: TimeSpace, since: datetime | None, now: datetime) -> list[Due]:
    assert policy.max_lag_s is not None
    lag = timedelta(seconds=policy.max_lag_s)
    stop = closed_count(space, now - lag)
    first = stop - 1 if since is None else closed_count(space, since - lag) - 1
    windows = range(max(first, stop - _MOST, 0), stop)
    return [Due(space.window_at(at).end + lag, space.window_at(at).end, at) for at in windows]


def _by_time_of_day(policy: FreshnessSpec, space: TimeSpace | None, since: datetime | None, now: datetime) -> list[Due]:
    before = previous_fires(policy.cron, policy.tz, now + _SOON, _MOST)  # the newest first
    new = list(takewhile(lambda fire: since is not None and fire > since, before))
    found = []
    for fire in reversed(before[: len(new) + 1]):
        day = fire.astimezone(ZoneInfo(policy.tz)).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
        if space is None:
            found.append(Due(fire, day, None))
            continue
        closed = closed_count(space, day)
        if closed:
            found.append(Due(fire, space.window_at(closed - 1).end, closed - 1))
    return found
