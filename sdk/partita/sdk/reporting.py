"""What a producer outside partita says of its data: versions of external assets, by HTTP, with repeats that change nothing.

Owns the way there: batches, and trying again while partita does not answer. It needs the standard library only, and the address
of the API; what is said is judged there.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from partita.assets import PartitaError
from partita.assets.metadata import checked_metadata

if TYPE_CHECKING:
    from urllib.error import HTTPError

MOST_AT_ONCE = 1_000
_AGAIN = frozenset({429, 502, 503, 504})
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0


class ReportError(PartitaError):
    """What was reported was refused (`status` of 4xx), or partita could not be reached (`status` 0 or 5xx).

    >>> Reporter("http://127.0.0.1:1", patience_s=0).report("source/orders", data_version="1")
    Traceback (most recent call last):
        ...
    partita.sdk.reporting.ReportError: http://127.0.0.1:1 does not answer: ...; events are reported to the API; ...
    """

    def __init__(self, what: str, *, rule: str = "", fix: str = "", status: int = 0) -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.status = status


@dataclass(frozen=True, slots=True)
class AssetEvent:
    """A partition of an external asset (one that is declared with `observe="push"`) holds this data version.

    `partition` is the stored key, "" for an asset without partitions. `key` names this report among those of its scope: said
    again, it changes nothing. `data_time`, an aware datetime: up to when the data are complete. `metadata` is JSON of at most
    64 KB.

    >>> AssetEvent("source/orders", "2026-03-01", data_version="upload-17", key="till-4/17").data_version
    'upload-17'
    >>> AssetEvent("source/orders", data_version="1", data_time=datetime(2026, 3, 1))
    Traceback (most recent call last):
        ...
    partita.assets.errors.PartitaError: data time 2026-03-01T00:00:00 of source/orders has no time zone; ...
    """

    asset: str
    partition: str = ""
    data_version: str = field(kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    data_time: datetime | None = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        checked_metadata(self.metadata)
        if self.data_time is not None and self.data_time.tzinfo is None:
            raise PartitaError(
                f"data time {self.data_time.isoformat()} of {self.asset} has no time zone",
                rule="an instant is the same everywhere only with its offset",
                fix="give datetime(..., tzinfo=UTC), or a ZoneInfo",
            )

    def as_json(self) -> dict[str, Any]:
        """As `POST /api/events` takes it."""
        told = {"asset": self.asset, "partition": self.partition, "data_version": self.data_version, "key": self.key}
        at = None if self.data_time is None else self.data_time.isoformat()
        return {**told, "data_time": at, "metadata": dict(self.metadata)}


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer to an event: `outcome` is "observed" (another version than before: consumers follow), "unchanged", or
    "replaced" (a later event of the same batch says otherwise). A repeat by key gets the answer of the first."""

    asset: str
    partition: str
    data_version: str
    outcome: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports events to the API at `url`; in a coroutine call it through `asyncio.to_thread`.

    `scope` says whose keys those of the events are. While partita does not answer it is tried for `patience_s` seconds in all:
    that is safe, for a repeat changes nothing. `headers` go with every request (a token that a proxy asks for, say).

    >>> reporter = Reporter("http://localhost:4040", scope="till-4")
    >>> reporter.report("source/orders", "2026-03-01", data_version="upload-17", key="17").outcome   # doctest: +SKIP
    'observed'
    """

    url: str
    scope: str = ""
    key_expires_in_s: float = 7 * 86_400.0
    timeout_s: float = 30.0
    patience_s: float = 120.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def report(
        self,
        asset: str,
        partition: str = "",
        *,
        data_version: str,
        key: str | None = None,
        data_time: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Taken:
        """Report one event; see `AssetEvent`. Raises ReportError."""
        event = AssetEvent(
            asset, partition, data_version=data_version, key=key, data_time=data_time, metadata=metadata or {}
        )
        return self.report_all([event])[0]

    def report_all(self, events: Iterable[AssetEvent]) -> list[Taken]:
        """Report events in order, in batches of 1,000; each batch is taken whole or not at all. Raises ReportError: the batches
        before were taken, and reporting all of them again is safe where they have keys."""
        return [taken for batch in _batches(events) for taken in self._send(batch)]

    def _send(self, batch: list[AssetEvent]) -> list[Taken]:
        said = {"scope": self.scope, "key_expires_in_s": self.key_expires_in_s}
        body = json.dumps({**said, "events": [event.as_json() for event in batch]}).encode()
        give_up = time.monotonic() + self.patience_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return [_taken(one) for one in self._post(body)["events"]]
            except ReportError as error:
                if (error.status and error.status not in _AGAIN) or time.monotonic() + pause > give_up:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.0))  # many producers must not come back at once
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _post(self, body: bytes) -> Any:
        import urllib.error
        import urllib.request
        from http.client import HTTPException

        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/api/events",
            data=body,
            headers={"Content-Type": "application/json", **self.headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as refused:
            raise _refusal(refused) from None
        except (OSError, HTTPException, ValueError) as error:
            raise ReportError(
                f"{self.url} does not answer: {error}",
                rule="events are reported to the API",
                fix="is `partita api` up?",
            ) from error


def _batches(events: Iterable[AssetEvent]) -> Iterator[list[AssetEvent]]:
    rest = iter(events)
    while batch := list(islice(rest, MOST_AT_ONCE)):
        yield batch


def _taken(one: Mapping[str, Any]) -> Taken:
    at = datetime.fromisoformat(one["at"])
    return Taken(one["asset"], one["partition"], one["data_version"], one["outcome"], at)


def _refusal(refused: HTTPError) -> ReportError:
    with refused:
        text = refused.read(100_000).decode(errors="replace")
    try:
        told = json.loads(text)["error"]
        return ReportError(told["what"], rule=told["rule"], fix=told["fix"], status=refused.code)
    except (ValueError, LookupError, TypeError):
        return ReportError(f"the API answers {refused.code}: {text[:300]}", status=refused.code)
