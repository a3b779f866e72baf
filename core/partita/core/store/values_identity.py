"""The values of identity: rows of assets, and keys that assets had before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from partita.core.store.values import AssetId, LocationId


class AssetRow(NamedTuple):
    """An asset as the store knows it. `home_id`: the location that it was moved to, whose definition counts."""

    id: AssetId
    key: str
    location_id: LocationId | None
    home_id: LocationId | None
    retired_at: datetime | None
    scheme: str | None = None
    """The hash of the scheme that its cells are cells of; None: not recorded."""


@dataclass(frozen=True, slots=True)
class FormerKey:
    """`key` was the key of the asset until an instant (aware, UTC). Later changes have the higher `id`."""

    id: int
    asset_id: AssetId
    key: str
    until: datetime


@dataclass(frozen=True, slots=True)
class CellWindow:
    """A row of `cell` by key and window (aware, UTC; None without time). `held`: it is published. `known`: the scheme that is
    spoken of has this key; else the window is not said."""

    partition: str
    window: tuple[datetime, datetime] | None
    held: bool = True
    known: bool = True


@dataclass(frozen=True, slots=True)
class FormerCell:
    """A cell that was set aside, with the hash of the scheme that it was made under."""

    id: int
    scheme: str
    partition: str
    window: tuple[datetime, datetime] | None
    data_version: str
    location: str | None
    published_at: datetime | None
    fingerprint: str | None = None
    consumed_digest: int | None = None
    """Unsigned, of 64 bits."""
    rows: int | None = None
    """What the metadata count, where they do."""


@dataclass(frozen=True, slots=True)
class DerivedCell:
    """A cell to be published without an attempt: it is put together of former ones, which `metadata` names."""

    partition: str
    window: tuple[datetime, datetime]
    data_version: str
    fingerprint: str
    dependency_hash: str
    consumed_digest: int
    location: str
    metadata: Mapping[str, Any]
