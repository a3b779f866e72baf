"""Marking, wiping, and taking it back: one transaction each, with the record of who, what and why.

Owns that a cell which a task is to make is not changed beside it, that every change raises the fence (so that no earlier attempt
publishes there), and that what the cells held is kept: taking back restores exactly that, but for cells that were attempted or
changed since. (A task that has not started hinders nobody from taking back: it makes its cells anew.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.core.decide.by_hand import (
    ByHandRefused,
    MarkAs,
    MarkTarget,
    check_collectable,
    check_free,
    moved,
    publications,
)
from partita.core.duties.channels import Channel
from partita.core.duties.collect import files_of
from partita.core.duties.values import AUTOMATION
from partita.core.store.port import Store, Tx, Violation
from partita.core.store.values import AssetId, CellFact, CellRef, Fence, NewEvent
from partita.core.store.values_actions import AuditId

_CHANNELS = (Channel.EVENT, Channel.TODO)


@dataclass(frozen=True, slots=True)
class Done:
    """`entry` is the one of the audit, by which it is taken back; `passed_over` cells were attempted or changed since."""

    entry: AuditId
    cells: int
    passed_over: int = 0
    channels: tuple[Channel, ...] = _CHANNELS


def mark_materialized(
    store: Store, targets: Sequence[MarkTarget], mark: MarkAs, *, said: Mapping[str, Any], followed: Collection[AssetId]
) -> Done:
    """Publishes these cells on a person's word. Consumers follow as after any publication: `followed` are the assets that have
    automated ones. Raises ByHandRefused."""
    _check(len(targets), mark.reason)

    def work(tx: Tx) -> Done:
        held = _hold(tx, [target.cell for target in targets], {target.cell: target.window for target in targets})
        _spare(tx, files_of([mark.location]))
        entry = tx.audit(mark.who, "mark", {**said, "state": "materialized", "cells": len(targets)}, reason=mark.reason)
        tx.keep_cells(entry, sorted(held.facts), held.fence)
        made = publications(targets, held.facts, mark, unique=str(held.fence))
        tx.publish_by_hand(made, held.fence)
        tx.append_events([_materialized(one.cell, one.data_version, mark.who, followed) for one in made])
        return Done(entry, len(made))

    return store.run(work)


def mark_failed(
    store: Store,
    cells: Mapping[CellRef, Any],
    *,
    who: str,
    reason: str,
    said: Mapping[str, Any],
) -> Done:
    """Their last attempt counts as failed; the last success stays. `cells` with their windows. Raises ByHandRefused."""
    _check(len(cells), reason)

    def work(tx: Tx) -> Done:
        held = _hold(tx, list(cells), cells)
        entry = tx.audit(who, "mark", {**said, "state": "failed", "cells": len(cells)}, reason=reason)
        tx.keep_cells(entry, sorted(held.facts), held.fence)
        tx.fail_by_hand(sorted(held.facts), f"marked as failed by {who}: {reason}", held.fence)
        _tell(tx, {"marked": len(cells)})
        return Done(entry, len(cells))

    return store.run(work)


def wipe(
    store: Store, cells: Sequence[CellRef], *, who: str, reason: str, said: Mapping[str, Any], with_data: bool = False
) -> Done:
    """As if they had never been attempted: the pointer goes. The data stay where they are; `with_data`, until they are collected.
    Raises ByHandRefused, also where the data are in a store from which nothing is collected."""
    _check(len(cells), reason)

    def work(tx: Tx) -> Done:
        held = _hold(tx, cells, {})
        files = files_of(fact.location for fact in held.facts.values()) if with_data else set()
        check_collectable(files)
        told = {**said, "cells": len(held.facts), **({"data": True, "files": len(files)} if with_data else {})}
        entry = tx.audit(who, "wipe", told, reason=reason)
        tx.keep_cells(entry, sorted(held.facts), held.fence)
        tx.empty_cells(sorted(held.facts), held.fence)
        tx.doom_files(files, entry)
        _tell(tx, {"wiped": len(cells)})
        return Done(entry, len(held.facts))

    return store.run(work)


def take_back(store: Store, entry: AuditId, *, who: str, followed: Collection[AssetId]) -> Done:
    """Gives the cells of a mark or a wipe back what they held. Raises ByHandRefused for an entry that is none, and for one that
    was taken back."""
    try:
        return store.run(lambda tx: _take_back(tx, entry, who, followed))
    except Violation:
        raise ByHandRefused(f"entry {entry} was taken back already", rule="that is done once") from None


def _take_back(tx: Tx, entry: AuditId, who: str, followed: Collection[AssetId]) -> Done:
    kept = tx.kept_cells(entry)
    if not kept:
        raise ByHandRefused(
            f"entry {entry} of the audit changed no cells that could be given back",
            rule="marks and wipes are taken back by their entry",
            fix="partita audit says of each entry how it is taken back",
        )
    cells = [one.cell for one in kept]
    facts = tx.lock_cells(cells)
    _spare(tx, files_of(one.location for one in kept))
    restored = tx.restore_cells(entry, cells, tx.next_fence())
    detail = {"entry": entry, "cells": len(restored), "passed_over": len(kept) - len(restored)}
    made = tx.audit(who, "undo", detail, undo_of=entry)
    news = moved(kept, restored, facts)
    tx.append_events([_materialized(one.cell, one.data_version or "", who, followed) for one in news])
    _tell(tx, {"undone": len(restored)})
    return Done(made, len(restored), len(kept) - len(restored))


@dataclass(frozen=True, slots=True)
class _Held:
    facts: Mapping[CellRef, CellFact]
    fence: Fence


def _hold(tx: Tx, cells: Sequence[CellRef], windows: Mapping[CellRef, Any]) -> _Held:
    """The cells locked, none of them in the hands of a task, and the fence that they are to get."""
    if windows:
        tx.ensure_cells(windows)
    facts = tx.lock_cells(cells)
    check_free(cells, tx.open_owners(cells))
    return _Held(facts, tx.next_fence())


def _spare(tx: Tx, files: Collection[str]) -> None:
    """Files that get a pointer again. Raises ByHandRefused for one that was collected."""
    gone = tx.spare_files(files)
    if gone:
        raise ByHandRefused(
            f"the data are gone: {min(gone)} was collected",
            rule="what was wiped with its data is given back until it is collected",
            fix="make the cells again",
        )


def _check(cells: int, reason: str) -> None:
    if not reason.strip():
        raise ByHandRefused("no reason is given", rule="it is read when somebody asks why the cells are as they are")
    if not cells:
        raise ByHandRefused("no cell is chosen", rule="it is done to cells that exist", fix="choose other partitions")


def _materialized(cell: CellRef, version: str, who: str, followed: Collection[AssetId]) -> NewEvent:
    return NewEvent(
        "materialized",
        asset_id=cell.asset_id,
        partition=cell.partition,
        body={"data_version": version, "confirmed": False, "by_hand": who},
        for_consumers=(AUTOMATION,) if cell.asset_id in followed else (),
    )


def _tell(tx: Tx, body: Mapping[str, Any]) -> None:
    """As an acceptance: what shows of the cells is another thing now."""
    tx.append_events([NewEvent(kind="location", body=body)])
