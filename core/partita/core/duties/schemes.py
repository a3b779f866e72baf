"""A choice about a changed partition scheme: one transaction, as it was shown, with a record of who made it.

Owns the order of the writes, and that nothing is written that differs from the preview: the locations are locked, as
activations do, and the choice is decided again over what is there. Work on cells that are written is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from partita.assets import PartitionsSpec, from_spec
from partita.core.decide.cancel import cancel
from partita.core.decide.scheme_choice import (
    EarlierScheme,
    Kind,
    KnownCells,
    SchemeChange,
    SchemeRefused,
    SchemeTarget,
    decide_choice,
    earlier_hash,
)
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Move, follow, write
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, NewEvent

CHANNELS = (Channel.EVENT, Channel.SCHEDULED, Channel.CANCEL)
_SPEC: TypeAdapter[PartitionsSpec | None] = TypeAdapter(PartitionsSpec | None)


@dataclass(frozen=True, slots=True)
class SchemeDone:
    """What a choice did; `cancelled` tasks were to make some of the cells."""

    written: int
    cancelled: int


def show_choice(tx: Tx, kind: Kind, target: SchemeTarget) -> tuple[SchemeChange, int]:
    """What a choice would do, and how many of the cells that it writes a task is to make. Writes nothing."""
    known = read_known(tx, target)
    change = decide_choice(kind, target, known)
    return change, len(known.open.keys() & set(change.touched))


def read_known(tx: Tx, target: SchemeTarget) -> KnownCells:
    """What is known of the cells of an asset."""
    scheme = tx.lock_schemes([target.asset_id]).get(target.asset_id)
    cells, former = tx.windowed_cells(target.asset_id), tx.former_cells(target.asset_id)
    refs = {CellRef(target.asset_id, one.partition): one.partition for one in cells}
    owners = tx.open_owners(list(refs)) if refs else {}
    hash = earlier_hash(scheme, former)
    spec = None if hash is None else tx.scheme_spec(hash)
    earlier = None if hash is None else EarlierScheme(hash, spec, from_spec(_SPEC.validate_python(spec)))
    return KnownCells(scheme, cells, former, earlier, {refs[cell]: owner for cell, owner in owners.items()})


def choose_scheme(store: Store, shown: SchemeChange, *, who: str) -> SchemeDone:
    """Raises SchemeRefused when something moved since it was shown, or it would do nothing."""
    if shown.empty:
        raise SchemeRefused(
            f"{shown.kind} would change nothing of {shown.target.key!r}",
            rule=shown.why or "every cell stands as this choice wants it",
        )
    return store.run(lambda tx: _choose(tx, shown, who))


def cancel_open(tx: Tx, asset_id: AssetId, partitions: Sequence[str]) -> int:
    """Cancels the tasks that are to make these cells; returns how many. Call it before any cell is locked, as every duty does."""
    owners = tx.open_owners([CellRef(asset_id, one) for one in partitions]) if partitions else {}
    if not owners:
        return 0
    now = tx.now()
    tasks = tx.lock_tasks(sorted(set(owners.values())))
    moves: list[Move] = [
        (task, update) for task in tasks if not task.state.terminal and (update := cancel(task, now)) is not None
    ]
    write(tx, moves, follow(tx, moves, whole=True, now=now))
    return len(moves)


def _choose(tx: Tx, shown: SchemeChange, who: str) -> SchemeDone:
    tx.lock_locations()
    target = shown.target
    if decide_choice(shown.kind, target, read_known(tx, target)) != shown:
        raise _moved()
    cancelled = cancel_open(tx, target.asset_id, shown.touched)
    fence = tx.next_fence()
    written = 0
    if shown.aside:
        tx.set_aside(target.asset_id, shown.aside, fence)
        written += sum(1 for one in shown.aside if one.held)
    if shown.back:
        written += tx.bring_back(target.asset_id, shown.back, fence)
    if shown.derived:
        made = tx.derive_cells(target.asset_id, shown.derived, fence)
        if made != len(shown.derived):
            raise _moved()  # one was published since; rolls back
        written += made
    body = {"asset": target.key, "choice": shown.kind, "cells": written, "cancelled": cancelled}
    tx.audit(who, "scheme_choice", {**body, "kept": shown.kept, "missing": shown.missing})
    tx.append_events([NewEvent(kind="location", body={"scheme": shown.kind, **body})])
    return SchemeDone(written, cancelled)


def _moved() -> SchemeRefused:
    return SchemeRefused(
        "something moved since this was shown",
        rule="what is done is what was shown",
        fix="look again, and confirm again",
    )
