"""What evaluated functions are given and hand back: contexts, requests, keys, events. Plain values.

Owns their checks; refuses to know who evaluates and what becomes of a request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from partita.assets import DefinitionError, DynamicPartitions, PartitaError
from partita.assets.durations import Duration, seconds
from partita.sdk.references import HasKey

CURSOR_LIMIT_BYTES = 64 * 1024
_MODES = ("missing", "failed", "stale", "all")


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for partitions of assets, as a person would: what of them is missing, failed or stale is made, in one run.

    `assets` is an asset, several, or a text of the selection grammar. `partitions` are keys, or a text of the grammar of
    partitions; left out, all. `params` are for the assets' params models, `tags` say what the run is for. Two requests of one
    function with the same `key` are one: the second is passed over, whenever it comes. `mode` says which of the partitions:
    "missing", "failed", "stale" (all three unless given), or "all".

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders() -> Relation: ...
    >>> Request(orders, ["2026-03-02"], key="orders/2026-03-02.csv").to_json()["selection"]
    '"orders"'
    >>> Request("tag:nightly", "latest 2").to_json()["partitions"]
    'latest 2'
    """

    assets: str | HasKey | Sequence[str | HasKey]
    partitions: str | Sequence[str] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    mode: str | Sequence[str] = ("missing", "failed", "stale")

    def to_json(self) -> dict[str, Any]:
        """The wire form; raises DefinitionError for what is none of it."""
        named = [self.assets] if isinstance(self.assets, str | HasKey) else list(self.assets)
        if not named:
            raise DefinitionError("Request() names no asset", rule="a request asks for one asset or more")
        modes = [self.mode] if isinstance(self.mode, str) else list(self.mode)
        if not modes or any(one not in _MODES for one in modes):
            raise DefinitionError(f"Request(mode={self.mode!r})", rule=f"a mode is of {', '.join(_MODES)}")
        if self.key is not None and not 0 < len(self.key) <= 1_000:
            raise DefinitionError(f"Request(key={self.key!r})", rule="a key has 1 to 1,000 characters")
        return {
            "selection": ", ".join(one if isinstance(one, str) else json.dumps(one.key) for one in named),
            "partitions": _partitions(self.partitions),
            "params": dict(self.params),
            "tags": dict(self.tags),
            "key": self.key,
            "mode": modes,
        }


def _partitions(given: str | Sequence[str] | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if not given:
        raise DefinitionError(
            "Request(partitions=[]) asks for nothing",
            rule="a request asks for one partition or more",
            fix="ask for none",
        )
    return ", ".join(json.dumps(one, ensure_ascii=False) for one in given)


@dataclass(frozen=True, slots=True)
class AddKeys:
    """Add keys to a dynamic scheme, together with the requests beside it: all or nothing.

    >>> customers = Dynamic("customers")
    >>> AddKeys(customers, ["acme", "zenith"], ttl="90d").to_json()
    {'scheme': 'customers', 'keys': ['acme', 'zenith'], 'ttl_s': 7776000.0}
    """

    scheme: DynamicPartitions
    keys: Sequence[str]
    ttl: Duration | None = None

    def to_json(self) -> dict[str, Any]:
        """The wire form."""
        if isinstance(self.keys, str):
            raise DefinitionError(
                f"AddKeys(..., {self.keys!r})", rule="keys are a list of texts", fix=f"write [{self.keys!r}]"
            )
        ttl_s = None if self.ttl is None else seconds(self.ttl, what="AddKeys(ttl=)")
        return {"scheme": self.scheme.name, "keys": list(self.keys), "ttl_s": ttl_s}


Asked = Request | AddKeys


@dataclass(frozen=True, slots=True)
class PublishedEvent:
    """A partition of a watched asset holds another data version. `run_id` is None for what no run made.

    >>> PublishedEvent("orders", "2026-03-01", "4f2a", datetime(2026, 3, 2, tzinfo=UTC), 7).asset
    'orders'
    """

    asset: str
    partition: str
    data_version: str
    at: datetime
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class RunEvent:
    """A run ended. `cause` says in words what asked for it, `by` who.

    >>> RunEvent(7, "failed", datetime(2026, 3, 2, tzinfo=UTC), by="ada").by
    'ada'
    """

    run_id: int
    state: str
    at: datetime
    cause: str = ""
    by: str = ""


class Cursor:
    """What every context has: the instant, and a text that is kept for the next evaluation."""

    def __init__(self, now: datetime, cursor: str | None = None) -> None:
        self.now = now
        """The instant of this evaluation, aware, in UTC or in the zone of its cron."""
        self._cursor = cursor

    @property
    def cursor(self) -> str | None:
        """What the last evaluation that ended well left here; None at first. Set it: it is stored together with what is asked
        for, or not at all."""
        return self._cursor

    @cursor.setter
    def cursor(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise PartitaError(
                f"the cursor is set to {value!r}", rule="a cursor is a text", fix="write str(...) or json.dumps(...)"
            )
        if value is not None and len(value.encode("utf-8", "surrogatepass")) > CURSOR_LIMIT_BYTES:
            raise PartitaError(
                f"the cursor takes {len(value):,} characters",
                rule=f"a cursor takes at most {CURSOR_LIMIT_BYTES // 1024} KB",
                fix="keep the data elsewhere and a reference to it here",
            )
        self._cursor = value


class ObserveContext(Cursor):
    """What an `@observe` function is given. `partitions` are the keys to look at, the newest last; ("",) without partitions.

    >>> ObserveContext(datetime(2026, 3, 2, tzinfo=UTC), partitions=["2026-03-01"]).partitions
    ('2026-03-01',)
    """

    def __init__(self, now: datetime, cursor: str | None = None, *, partitions: Sequence[str] = ("",)) -> None:
        super().__init__(now, cursor)
        self.partitions = tuple(partitions)


class ScheduleContext(Cursor):
    """What a `@schedule` function is given: `tick`, the instant that its cron names, in its zone.

    A tick is an instant and spans no time: what a window would mean here is for the partitions that are asked for.

    >>> tick = ScheduleContext(datetime(2026, 3, 2, 6, tzinfo=UTC), tick=datetime(2026, 3, 2, 6, tzinfo=UTC))
    >>> tick.tick.hour
    6
    >>> tick.window
    Traceback (most recent call last):
        ...
    partita.assets.errors.PartitaError: a tick has no window; ...
    """

    def __init__(self, now: datetime, cursor: str | None = None, *, tick: datetime) -> None:
        super().__init__(now, cursor)
        self.tick = tick

    @property
    def window(self) -> NoReturn:
        """There is none: raises PartitaError."""
        _no_window("window")

    @property
    def start(self) -> NoReturn:
        """There is none: raises PartitaError."""
        _no_window("start")

    @property
    def end(self) -> NoReturn:
        """There is none: raises PartitaError."""
        _no_window("end")


def _no_window(_name: str) -> NoReturn:
    raise PartitaError(
        "a tick has no window",
        rule="it is an instant; only partitions by time span time, from start to end",
        fix="use context.tick, ask for a partition, or give the asset partitions and automation=on_close()",
    )


class SensorContext(Cursor):
    """What a `@sensor` function is given.

    `partitions` are the missing ones of the asset of `ready=`, the newest last. `events` are the publications of the assets of
    `watches=`, `runs` the ends of runs, each once, oldest first.

    >>> SensorContext(datetime(2026, 3, 2, tzinfo=UTC), "7").cursor
    '7'
    """

    def __init__(
        self,
        now: datetime,
        cursor: str | None = None,
        *,
        partitions: Sequence[str] = (),
        events: Sequence[PublishedEvent] = (),
        runs: Sequence[RunEvent] = (),
    ) -> None:
        super().__init__(now, cursor)
        self.partitions = tuple(partitions)
        self.events = tuple(events)
        self.runs = tuple(runs)
