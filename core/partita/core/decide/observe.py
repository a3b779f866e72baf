"""What becomes of cells that partita does not make when somebody says what they hold. Pure.

A version that moved is a new fact: consumers are stale by it. One that did not move only says that the cell is as fresh as
now (DESIGN section 5, confirmations), and nobody follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.core.store.values import CellFact, CellRef
from partita.core.store.values_actions import HandPublication


@dataclass(frozen=True, slots=True)
class Observation:
    """A cell of an observed external asset holds this data version; `window` is that of its partition."""

    cell: CellRef
    data_version: str
    window: tuple[datetime, datetime] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """`moved` hold another version than before, `confirmed` the same."""

    moved: tuple[HandPublication, ...] = ()
    confirmed: tuple[CellRef, ...] = ()


def judge(observations: Sequence[Observation], facts: Mapping[CellRef, CellFact], *, by: str) -> Seen:
    """`facts` are those of all cells that are observed, each once; `by` says who observed."""
    moved = [one for one in observations if facts[one.cell].data_version != one.data_version]
    return Seen(
        tuple(_publication(one, by) for one in moved),
        tuple(one.cell for one in observations if facts[one.cell].data_version == one.data_version),
    )


def newest(observations: Iterable[Observation]) -> list[Observation]:
    """Each cell once, as it was said last."""
    return list({one.cell: one for one in observations}.values())


def _publication(one: Observation, by: str) -> HandPublication:
    # Nothing of ours made it: it has no code, no inputs, and its data are wherever its producer put them.
    return HandPublication(
        cell=one.cell,
        data_version=one.data_version,
        fingerprint="",
        dependency_hash="",
        consumed_digest=0,
        location=None,
        metadata={**one.metadata, "observed_by": by},
    )
