"""When time makes a condition worth looking at: one clock per automated asset. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from partita.core.store.values_ids import AssetId


@dataclass(frozen=True, slots=True)
class Clock:
    """`since` is when the asset was first automated; `looked_at` up to when time has been heeded (None: never yet); `next_at`
    when to look next (None: time makes no difference). `condition` stands for what it was worked out from. `pending` are the keys
    that publications touched and that are gathered until `pending_at`."""

    asset_id: AssetId
    condition: str
    since: datetime
    looked_at: datetime | None
    next_at: datetime | None
    pending: tuple[str, ...] = ()
    pending_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClockUpdate:
    """What a look leaves of a clock that it holds; with `keep`, what is gathered stays."""

    asset_id: AssetId
    looked_at: datetime | None
    next_at: datetime | None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Gathered:
    """Keys of an asset to be looked at together at an instant, or when those are that are gathered already."""

    asset_id: AssetId
    keys: tuple[str, ...]
    at: datetime
