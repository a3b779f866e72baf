"""What the automation duties share: what they give back, the limit of automatic requests, and what they cannot decide.

A duty itself wakes nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from partita.core.catalog import Catalog, StepKey
from partita.core.duties.channels import Channel
from partita.core.duties.launch import LaunchAgain
from partita.core.store.port import Busy, Conflict, Unavailable
from partita.core.store.values import CellRef, RunId
from partita.core.store.values_requests import FaultKind

EVENTS = 2_000
"""Events that one visit takes: publications that arrive together are decided together, and counted together."""
MAX_CELLS = 500
KEEP_S = 14 * 86_400.0


class ActiveCatalog(Protocol):
    """Where the duties take the active definitions from (`CatalogCache`)."""

    def active(self) -> Catalog:
        """The catalog of the active snapshots."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A request of more than `max_cells` cells waits for a person, `keep_s` seconds at most since it last changed. An asset's
    own limit comes before."""

    max_cells: int = MAX_CELLS
    keep_s: float = KEEP_S


@dataclass(frozen=True, slots=True)
class Automated:
    """`requested` cells went into `run_id`, `held` ones wait for a person; `waiting` events were put back because something
    they need is under way, `set_aside` ones because they cannot be decided now."""

    taken: int = 0
    requested: int = 0
    held: int = 0
    waiting: int = 0
    set_aside: int = 0
    run_id: RunId | None = None
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.taken


class AskedBefore(Exception):
    """Some of the requests were made before, for the same state of their inputs: start over without them."""

    def __init__(self, again: Mapping[CellRef, int]) -> None:
        super().__init__(f"{len(again)} requests were made before")
        self.again = again


Subject = tuple[FaultKind, int]
"""What a fault is about: an asset's id, or a run's."""


class Undecidable(Exception):
    """Deciding about one of the `subjects` raised; nothing was written. The others must not wait for it."""

    def __init__(self, subjects: tuple[Subject, ...], why: str) -> None:
        super().__init__(why)
        self.subjects = subjects
        self.why = why


def subject_of(catalog: Catalog, step: StepKey) -> Subject:
    """A step goes by its first asset."""
    return FaultKind.ASSET, catalog.steps[step][0].id


# These say nothing about what is decided: the visit is given up, or made again.
_NOT_ITS_FAULT = (LaunchAgain, AskedBefore, Undecidable, Busy, Unavailable, Conflict, OSError, MemoryError)


@contextmanager
def deciding(*subjects: Subject) -> Iterator[None]:
    """Whatever is raised inside is a fault of the subjects: Undecidable."""
    try:
        yield
    except _NOT_ITS_FAULT:
        raise
    except Exception as error:
        raise Undecidable(subjects, f"{type(error).__name__}: {error}") from error
