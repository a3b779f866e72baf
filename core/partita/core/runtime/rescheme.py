"""A changed partition scheme at its activation: cells with the same key and window stay, all others are set aside.

Owns the order of the writes. Which cells stay is decided by `decide/schemes.py`. Work on cells that are set aside is
cancelled: its windows are no partitions of the asset any more, and its keys may mean others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partita.assets import AssetKey, AssetSpec, PartitionsSpec, Snapshot, canonical_json, from_spec
from partita.core.catalog.schemes import scheme_hash, scheme_of
from partita.core.decide.schemes import rematch
from partita.core.duties.schemes import cancel_open
from partita.core.store.port import Tx
from partita.core.store.values import AssetId
from partita.core.store.values_identity import AssetRow


@dataclass(frozen=True, slots=True)
class Rescheme:
    """What became of the cells of one asset; `cancelled` tasks were to make some that are set aside."""

    key: AssetKey
    kept: int
    aside: int
    back: int
    cancelled: int


def take_schemes(
    tx: Tx, snapshot: Snapshot, before: Snapshot | None, ids: Mapping[str, AssetId], rows: Sequence[AssetRow]
) -> list[Rescheme]:
    """Notes the schemes of the assets of a snapshot; those whose scheme is another than that of their cells are matched anew.

    `before` tells the schemes that were active when schemes were not recorded yet; `rows` are the assets as they were.
    """
    recorded = {row.id: row.scheme for row in rows}
    told = {spec.key: spec for spec in before.assets} if before is not None else {}
    found: list[Rescheme] = []
    for spec in snapshot.assets:
        asset_id, now = ids[spec.key], scheme_hash(spec.partitions)
        was = recorded.get(asset_id)
        if was is None and spec.key in told:
            old = told[spec.key].partitions
            was = scheme_hash(old)
            if was != now:
                tx.set_schemes({asset_id: (was, _json(old))})
        if was is not None and was != now:
            found.append(_rematch(tx, spec, asset_id))
    fresh = {ids[spec.key]: spec.partitions for spec in snapshot.assets}
    changed = {one: part for one, part in fresh.items() if recorded.get(one) != scheme_hash(part)}
    tx.set_schemes({one: (scheme_hash(part), _json(part)) for one, part in changed.items()})
    return found


def _rematch(tx: Tx, spec: AssetSpec, asset_id: AssetId) -> Rescheme:
    found = rematch(from_spec(spec.partitions), tx.windowed_cells(asset_id), tx.former_cells(asset_id), tx.now())
    cancelled = cancel_open(tx, asset_id, [one.partition for one in found.aside])
    fence = tx.next_fence()
    aside = tx.set_aside(asset_id, found.aside, fence) if found.aside else 0
    back = tx.bring_back(asset_id, found.back, fence) if found.back else 0
    return Rescheme(spec.key, found.kept, aside, back, cancelled)


def _json(spec: PartitionsSpec | None) -> object:
    return None if spec is None else json.loads(canonical_json(scheme_of(spec)))
