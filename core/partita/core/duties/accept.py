"""Accepting, and taking it back: one transaction each, with the record of who, what and why.

Cells are locked in order, in chunks; the record holds what each was made from before, so that taking it back restores exactly
that, but for cells that were attempted or accepted again since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from partita.assets import PartitaError
from partita.core.decide.accept import AcceptTarget, rebases_of
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent
from partita.core.store.values_accept import AcceptanceId, Rebase

T = TypeVar("T")
_CHUNK = 2_000


class AcceptRefused(PartitaError):
    """There is nothing to accept, or to take back."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """`passed_over` cells were not as they had been: made again meanwhile, or accepted by somebody else."""

    id: AcceptanceId
    cells: int
    passed_over: int
    channels: tuple[Channel, ...] = (Channel.EVENT,)


def accept(
    store: Store, targets: Sequence[AcceptTarget], *, who: str, reason: str, request: Mapping[str, Any]
) -> Accepted:
    """Records the present code and dependencies for these cells. Raises AcceptRefused when no cell changes by it."""
    if not reason.strip():
        raise AcceptRefused("an acceptance has no reason", rule="it is read when somebody asks why nothing was rebuilt")
    return store.run(lambda tx: _accept(tx, targets, who, reason.strip(), request))


def take_back(store: Store, acceptance_id: AcceptanceId, *, who: str) -> Accepted:
    """Restores what was recorded before. Raises AcceptRefused for one that never was, or was taken back."""
    return store.run(lambda tx: _take_back(tx, acceptance_id, who))


def _accept(tx: Tx, targets: Sequence[AcceptTarget], who: str, reason: str, request: Mapping[str, Any]) -> Accepted:
    written: list[Rebase] = []
    for chunk in _chunks(sorted(targets, key=lambda target: target.cell)):
        rebases = rebases_of(chunk, tx.lock_cells([target.cell for target in chunk]))
        moved = tx.rebase_cells(rebases)
        written += [one for one in rebases if one.cell in moved]
    if not written:
        raise AcceptRefused(
            "nothing is left to accept",
            rule="published cells are accepted whose code or dependencies changed",
            fix="look again: partita plan --mode stale",
        )
    made = tx.insert_acceptance(who, reason, request, written)
    tx.audit(who, "accept", {"acceptance": made, "cells": len(written), "request": dict(request)}, reason=reason)
    _tell(tx, written)
    return Accepted(made, len(written), len(targets) - len(written))


def _take_back(tx: Tx, acceptance_id: AcceptanceId, who: str) -> Accepted:
    found = tx.lock_acceptance(acceptance_id)
    if found is None:
        raise AcceptRefused(f"there is no acceptance {acceptance_id}", fix="partita accept --list shows them")
    if found.undone_at is not None:
        raise AcceptRefused(
            f"acceptance {acceptance_id} was taken back by {found.undone_by} already", rule="that is done once"
        )
    restored: list[Rebase] = []
    recorded = tx.accepted_cells(acceptance_id)
    for chunk in _chunks(recorded):
        back = [Rebase(one.cell, one.fence, one.basis, one.expect) for one in chunk]
        tx.lock_cells([one.cell for one in back])
        moved = tx.rebase_cells(back)
        restored += [one for one in back if one.cell in moved]
    tx.end_acceptance(acceptance_id, who)
    tx.audit(who, "accept_undo", {"acceptance": acceptance_id, "cells": len(restored)})
    _tell(tx, restored)
    return Accepted(acceptance_id, len(restored), len(recorded) - len(restored))


def _tell(tx: Tx, rebases: Sequence[Rebase]) -> None:
    """As a location that loaded: what its definitions say of the cells is another thing now."""
    if rebases:
        tx.append_events([NewEvent(kind="location", body={"accepted": len(rebases)})])


def _chunks(items: Sequence[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk
