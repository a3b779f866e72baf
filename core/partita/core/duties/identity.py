"""Renaming, moving, retiring and deleting assets by hand: one transaction, as it was shown, with a record of who did it.

Owns that nothing is written that differs from the preview: the locations are locked, as activations do, and what the change
was decided by is compared again.
"""

from __future__ import annotations

from partita.core.decide.identity_by_hand import IdentityChange, IdentityRefused
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent

CHANNELS = (Channel.EVENT,)


def change_identity(store: Store, change: IdentityChange, *, who: str, reason: str = "") -> None:
    """Raises IdentityRefused when something moved since it was shown."""
    store.run(lambda tx: _change(tx, change, who, reason))


def _change(tx: Tx, change: IdentityChange, who: str, reason: str) -> None:
    active = tx.lock_locations()
    vector = tuple(sorted((location, snapshot) for location, snapshot in active.items() if snapshot is not None))
    ids = [line.asset_id for line in change.lines]
    rows = {row.id: row for row in tx.read_assets()}
    same = vector == change.vector and all(rows.get(row.id) == row for row in change.before)
    if not same or (change.kind != "move" and any(tx.open_counts(ids).values())):
        raise IdentityRefused(
            "something moved since this was shown",
            rule="what is done is what was shown",
            fix="look again, and confirm again",
        )
    if change.kind == "rename":
        tx.rename_assets({line.asset_id: line.became for line in change.lines}, who)
        _stand_in(tx, change, who)
        # What is active means the new keys: its names are those of now, not of when it was activated.
        for location, snapshot in vector:
            tx.activate_snapshot(location, snapshot)
    elif change.kind == "move" and change.home is not None:
        tx.set_home(change.lines[0].asset_id, change.home, who)
    elif change.kind == "delete":
        tx.lock_pages(ids)  # a fold that is under way must not write them again
        tx.forget_assets(ids)
    else:
        tx.retire_by_hand(ids, who)
    body = {
        "assets": [{"id": line.asset_id, "was": line.was, "became": line.became} for line in change.lines],
        "cells": sum(line.cells for line in change.lines),
    }
    tx.audit(who, f"asset_{change.kind}", body, reason=reason)
    tx.append_events([NewEvent(kind="location", body={"identity": change.kind, **body})])


def _stand_in(tx: Tx, change: IdentityChange, who: str) -> None:
    """Each asset is declared, or retired, as the one was that stood under its new key."""
    stood = {row.key: row for row in change.before}
    active = dict(change.vector)
    for line in change.lines:
        row = stood.get(line.became)
        if row is not None and row.retired_at is None and row.location_id in active:
            tx.define_assets(row.location_id, active[row.location_id], [line.became])
        else:
            tx.retire_by_hand([line.asset_id], who)
