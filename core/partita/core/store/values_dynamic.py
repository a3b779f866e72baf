"""The values of dynamic keys: what is added, prolonged and ended. The rules are `partita.assets.partitions.dynamic`'s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class KeyLife:
    """One life of a key. `revision` added it as the `place`-th of one change; `expires_at` None: for good."""

    scheme: str
    key: str
    revision: int
    place: int
    added_at: datetime
    added_by: str
    expires_at: datetime | None
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that becomes one of its scheme. Those of one scheme in one change stand in the order of their `place`."""

    scheme: str
    key: str
    place: int
    added_by: str
    expires_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RenewedKey:
    """A key that is there and was added again: it lives on until another instant, with this metadata."""

    scheme: str
    key: str
    expires_at: datetime | None
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, order=True)
class EndedKey:
    """A key that is no longer one of its scheme."""

    scheme: str
    key: str
