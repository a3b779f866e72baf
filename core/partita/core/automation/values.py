"""What the automation duties give back; a duty itself wakes nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from partita.core.catalog import Catalog
from partita.core.duties.values import Channel
from partita.core.store.values import RunId

EVENTS = 500
"""Events that one visit takes."""


class ActiveCatalog(Protocol):
    """Where the duties take the active definitions from (`CatalogCache`)."""

    def active(self) -> Catalog:
        """The catalog of the active snapshots."""


@dataclass(frozen=True, slots=True)
class Automated:
    """`requested` cells went into `run_id`; `waiting` events were put back because something they need is under way."""

    taken: int = 0
    requested: int = 0
    waiting: int = 0
    run_id: RunId | None = None
    more: bool = False
    channels: tuple[Channel, ...] = ()
    cause: Mapping[str, Any] = field(default_factory=dict)
