"""What a person may do to cells by hand, and what is written of it. Pure.

A marked cell counts as made with the present code, from what its inputs held when the mark was shown: an input that moved since
makes it stale, as ever. Its data are where they were, unless the person says where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.assets import PartitaError
from partita.core.store.values import CellFact, CellRef, TaskId
from partita.core.store.values_actions import HandPublication, KeptCell


class ByHandRefused(PartitaError):
    """What was asked for is not done by hand."""


@dataclass(frozen=True, slots=True)
class MarkTarget:
    """One cell with the present code and dependencies of its asset, and the digest of what its inputs hold."""

    cell: CellRef
    window: tuple[datetime, datetime] | None
    fingerprint: str
    dependency_hash: str
    digest: int


@dataclass(frozen=True, slots=True)
class MarkAs:
    """`version` and `location` of None: a version of its own, and where the data were."""

    who: str
    reason: str
    version: str | None = None
    location: str | None = None


def publications(
    targets: Iterable[MarkTarget], facts: Mapping[CellRef, CellFact], mark: MarkAs, *, unique: str
) -> list[HandPublication]:
    """What the cells hold from now on; `unique` is this action's own."""
    return [
        HandPublication(
            cell=target.cell,
            data_version=mark.version or f"marked-{unique}",
            fingerprint=target.fingerprint,
            dependency_hash=target.dependency_hash,
            consumed_digest=target.digest,
            location=mark.location if mark.location is not None else facts[target.cell].location,
            metadata={"marked_by": mark.who, "reason": mark.reason},
        )
        for target in targets
    ]


def check_free(cells: Sequence[CellRef], owners: Mapping[CellRef, TaskId]) -> None:
    """A cell has one writer at a time: raises ByHandRefused where a task is to make one of these."""
    if owners:
        tasks = sorted(set(owners.values()))
        named = f"task {tasks[0]}" + (f" and {len(tasks) - 1} more" if len(tasks) > 1 else "")
        raise ByHandRefused(
            f"{len(owners)} of {len(cells)} cells are in the hands of {named}",
            rule="a cell has one writer at a time: what a task is to make is not changed beside it",
            fix=f"wait for its end, or partita tasks cancel {tasks[0]}",
        )


def moved(kept: Iterable[KeptCell], restored: Iterable[CellRef], facts: Mapping[CellRef, CellFact]) -> list[KeptCell]:
    """Of the cells that were given back those that hold another version than before: consumers follow. `facts` are of before."""
    back = set(restored)
    return [
        one
        for one in kept
        if one.cell in back and one.data_version is not None and facts[one.cell].data_version != one.data_version
    ]


def check_collectable(files: Iterable[str]) -> None:
    """Raises ByHandRefused where a file is in a store from which nothing is collected."""
    other = min((one for one in files if not one.startswith("lake:")), default=None)
    if other is not None:
        raise ByHandRefused(
            f"the data at {other} are not collected",
            rule="files of the lake are; other stores are tended by their owners",
            fix="wipe without --data, and remove them there",
        )
