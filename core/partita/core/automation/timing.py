"""What time does to a condition: which partitions it makes worth looking at, and when to look next. Pure.

A window closes at an instant that the scheme knows, a cron fires at instants that it knows: nothing is polled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256

from partita.assets import (
    AssetSpec,
    CellSpec,
    ClosedSpec,
    ConditionSpec,
    LatestSpec,
    NodeSpec,
    PartitionSet,
    PartitionSpace,
    ProductSpace,
    TickSpec,
    TimePartitions,
    TimeSpace,
    canonical_json,
    next_fires,
    previous_fires,
    space_of,
)
from partita.assets.condition_specs import CatchUp
from partita.assets.conditions import nodes_of
from partita.assets.partitions.boxes import coordinates
from partita.core.catalog import Catalog, CatalogAsset, StepKey
from partita.core.store.values import AssetId
from partita.core.store.values_clocks import Clock

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_LATE = datetime(9998, 1, 1, tzinfo=UTC)
_SOON = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Timing:
    """The words of a condition that time alone makes true. `closings`: windows that closed; `windows`: any new window;
    `recent`: the newest ones, to be looked at again; `everything`: at a tick all partitions count, not only recent ones. `past`:
    it asks for windows because they are missing, however old, and not because something upstream was published."""

    closings: tuple[ClosedSpec, ...]
    windows: bool
    ticks: tuple[tuple[str, str], ...]
    recent: tuple[LatestSpec, ...]
    past: bool

    @property
    def everything(self) -> bool:
        return not self.closings and not self.recent

    @property
    def lags_s(self) -> set[float]:
        """How long after a window has closed there is something to look at."""
        return {one.lag_s for one in self.closings} | ({0.0} if self.windows else set())


def timing_of(node: NodeSpec) -> Timing:
    """What of a condition goes by time.

    >>> timing_of(ClosedSpec(lag_s=900)).lags_s
    {900.0}
    """
    known = _timings.get(id(node))
    if known is None or known[0] is not node:
        if len(_timings) >= _TIMINGS_KEPT:
            _timings.clear()
        known = _timings[id(node)] = (node, _timing(node))
    return known[1]


# By the identity of the node, which the entry keeps alive: the hash of a tree costs more than reading it.
_timings: dict[int, tuple[NodeSpec, Timing]] = {}
_TIMINGS_KEPT = 65_536


def _timing(node: NodeSpec) -> Timing:
    nodes = list(nodes_of(node))
    closings = dict.fromkeys(one for one in nodes if isinstance(one, ClosedSpec))
    ticks = dict.fromkeys((one.cron, one.tz) for one in nodes if isinstance(one, TickSpec))
    recent = dict.fromkeys(one for one in nodes if isinstance(one, LatestSpec))
    words = {one.is_ for one in nodes if isinstance(one, CellSpec)}
    windows = "missing" in words and not closings
    past = bool(closings) or (windows and "data_changed" not in words)
    return Timing(tuple(closings), windows, tuple(ticks), tuple(recent), past)


def clock_text(spec: AssetSpec) -> str | None:
    """What stands for the condition and the scheme of an asset; None when it needs no clock."""
    if not isinstance(spec.automation, ConditionSpec):
        return None
    scheme = b"" if spec.partitions is None else canonical_json(spec.partitions)
    return sha256(canonical_json(spec.automation) + b"\0" + scheme).hexdigest()[:32]


def wanted_clocks(specs: Iterable[AssetSpec], ids: Mapping[str, AssetId]) -> tuple[dict[AssetId, str], list[AssetId]]:
    """The clocks that these definitions need, and the assets that need none."""
    texts = {ids[spec.key]: clock_text(spec) for spec in specs}
    return {one: text for one, text in texts.items() if text is not None}, [
        one for one, text in texts.items() if text is None
    ]


def due_partitions(catalog: Catalog, asset: CatalogAsset, node: NodeSpec, clock: Clock, now: datetime) -> PartitionSet:
    """The partitions that are worth looking at: windows that closed since the last look, recent ones, all at a tick."""
    timing = timing_of(node)
    space = catalog.space(asset.key, now)
    inner, before = time_of(space), clock.looked_at
    if inner is None or (timing.everything and (before is None or timing.ticks)):
        return space.all()
    found = [_closed(inner, one.lag_s, one.catch_up, clock.since, now) for one in timing.closings]
    found += [(0, inner.size)] if timing.windows else []
    if before is not None:
        earlier = time_of(catalog.space(asset.key, before))
        assert earlier is not None  # `horizon` decides what exists, at each of the two instants
        known = [closed_count(earlier, before - timedelta(seconds=one.lag_s)) for one in timing.closings]
        known += [earlier.size] if timing.windows else []
        found = [(max(low, old), high) for (low, high), old in zip(found, known, strict=True)]
    found += [_recent(inner, one.n, one.lag_s, now) for one in timing.recent]
    chosen = PartitionSet.from_ranges((low, high) for low, high in found if low < high)
    if isinstance(space, ProductSpace):
        assert space.time_dim is not None
        return space.across(space.time_dim, chosen)
    return chosen


def next_look(catalog: Catalog, asset: CatalogAsset, node: NodeSpec, now: datetime) -> datetime | None:
    """The next instant at which time alone may make the condition true; None when there is none."""
    timing = timing_of(node)
    found = [fire for cron, tz in timing.ticks for fire in next_fires(cron, tz, now)]
    inner = time_of(catalog.space(asset.key, now))
    if inner is not None:
        scheme = inner.definition
        assert isinstance(scheme, TimePartitions)
        for lag_s in timing.lags_s:
            lag = timedelta(seconds=lag_s)
            if scheme.end is None or closed_count(inner, now - lag) < whole_count(scheme):
                found += [fire + lag for fire in next_fires(scheme.cron, scheme.tz, now - lag)]
    return min(found, default=None)


@lru_cache(maxsize=4_096)
def closed_count(space: TimeSpace, instant: datetime) -> int:
    """How many of the windows that exist had closed by an instant: these are the first ones."""
    return len(space.within(_LONG_AGO, instant))


@lru_cache(maxsize=4_096)
def whole_count(scheme: TimePartitions) -> int:
    """How many windows a scheme that ends will ever have."""
    return len(space_of(scheme, _LATE))


def _closed(space: TimeSpace, lag_s: float, catch_up: CatchUp, since: datetime, now: datetime) -> tuple[int, int]:
    """The windows that have closed, with the lag, and count for an asset that is automated `since`: from, and up to."""
    lag = timedelta(seconds=lag_s)
    earlier = 0 if catch_up == "all" else closed_count(space, since - lag)
    return max(earlier - (catch_up == "latest"), 0), closed_count(space, now - lag)


def newest_from(space: TimeSpace, timing: Timing, now: datetime) -> int:
    """The first of the newest windows that a condition looks at; what lies before is its past."""
    newest = [_recent(space, 1, one.lag_s, now)[0] for one in timing.closings]
    newest += [_recent(space, one.n, one.lag_s, now)[0] for one in timing.recent]
    return min(newest, default=_recent(space, 1, None, now)[0])


def _recent(space: TimeSpace, n: int, lag_s: float | None, now: datetime) -> tuple[int, int]:
    """The newest windows; with a lag, of those that closed so long ago: from, and up to."""
    stop = space.size if lag_s is None else closed_count(space, now - timedelta(seconds=lag_s))
    return max(stop - n, 0), stop


class StepTimes:
    """What time says of the partitions of a step."""

    def __init__(self, catalog: Catalog, step: StepKey, now: datetime, clocks: Mapping[AssetId, Clock]) -> None:
        members = catalog.steps[step]
        self._catalog = catalog
        self._key = members[0].key
        self._space = catalog.space(members[0].key, now)
        self._inner = time_of(self._space)
        self._now = now
        self._since = min((clocks[asset.id].since for asset in members if asset.id in clocks), default=now)

    def of(self, ordinal: int) -> PartitionTimes:
        return PartitionTimes(self, time_ordinal(self._space, ordinal))

    def latest(self, at: int, n: int, lag_s: float | None) -> bool:
        if self._inner is None:
            return True
        low, high = _recent(self._inner, n, lag_s, self._now)
        return low <= at < high

    def closed(self, at: int, lag_s: float, catch_up: CatchUp) -> bool:
        if self._inner is None:
            return False
        low, high = _closed(self._inner, lag_s, catch_up, self._since, self._now)
        return low <= at < high

    def closed_at(self, at: int, lag_s: float) -> datetime | None:
        if self._inner is None or not 0 <= at < self._inner.size:
            return None
        closed = self._inner.window_at(at).end + timedelta(seconds=lag_s)
        return closed if closed <= self._now else None

    def last_tick(self, at: int, cron: str, tz: str) -> datetime | None:
        """A window that came after the cron fired last waits for the next time: at eight means at eight."""
        tick = _last_tick(cron, tz, self._now)
        return None if tick is None or tick <= self._since or not self._existed(at, tick) else tick

    def _existed(self, at: int, then: datetime) -> bool:
        if self._inner is None:
            return True
        earlier = time_of(self._catalog.space(self._key, then))
        return earlier is not None and at < earlier.size


@dataclass(frozen=True, slots=True)
class PartitionTimes:
    """The `Times` of one partition."""

    step: StepTimes
    at: int

    def latest(self, n: int, lag_s: float | None) -> bool:
        return self.step.latest(self.at, n, lag_s)

    def closed(self, lag_s: float, catch_up: CatchUp) -> bool:
        return self.step.closed(self.at, lag_s, catch_up)

    def closed_at(self, lag_s: float) -> datetime | None:
        return self.step.closed_at(self.at, lag_s)

    def last_tick(self, cron: str, tz: str) -> datetime | None:
        return self.step.last_tick(self.at, cron, tz)


def time_ordinal(space: PartitionSpace, ordinal: int) -> int:
    """The ordinal of the time dimension; the ordinal itself where there is one dimension."""
    if not isinstance(space, ProductSpace) or space.time_dim is None:
        return ordinal
    return coordinates(ordinal, space.sizes)[space.time_dim]


def line_of(space: PartitionSpace, ordinal: int) -> tuple[int, ...]:
    """Where a partition lies in all dimensions but time."""
    if not isinstance(space, ProductSpace):
        return () if isinstance(space, TimeSpace) else (ordinal,)
    return tuple(at for dim, at in enumerate(coordinates(ordinal, space.sizes)) if dim != space.time_dim)


def time_of(space: PartitionSpace) -> TimeSpace | None:
    """The dimension of time; None without."""
    if isinstance(space, ProductSpace) and space.time_dim is not None:
        space = space.parts[space.time_dim]
    return space if isinstance(space, TimeSpace) else None


@lru_cache(maxsize=4_096)
def _last_tick(cron: str, tz: str, now: datetime) -> datetime | None:
    """The last fire time at or before `now`."""
    return next(iter(previous_fires(cron, tz, now + _SOON)), None)
