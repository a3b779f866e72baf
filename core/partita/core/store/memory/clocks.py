"""The clocks of automated assets, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from partita.core.store.encode import clean_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values_clocks import Clock, ClockUpdate, Gathered
from partita.core.store.values_ids import AssetId


class ClocksPart(MemoryPart):
    def set_clocks(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        for asset_id in set(unwanted):
            if asset_id in self._db.automation_clock:
                self._db.automation_clock.delete(asset_id)
        for asset_id, condition in sorted(wanted.items()):
            known = self._db.automation_clock.get(asset_id)
            if known is None:
                self._db.automation_clock.put(
                    {
                        "asset_id": asset_id,
                        "condition": condition,
                        "since": self._now,
                        "looked_at": None,
                        "next_at": self._now,
                        "pending": None,
                        "pending_at": None,
                    }
                )
            elif known["condition"] != condition:
                self._db.automation_clock.change(asset_id, condition=condition, next_at=self._now)

    def take_due_clocks_skip(self, limit: int) -> list[Clock]:
        due = [row for row in self._db.automation_clock if row["next_at"] is not None and row["next_at"] <= self._now]
        return [_clock(row) for row in sorted(due, key=lambda row: (row["next_at"], row["asset_id"]))[:limit]]

    def clocks_of(self, assets: Collection[AssetId]) -> dict[AssetId, Clock]:
        rows = (self._db.automation_clock.get(asset_id) for asset_id in sorted(set(assets)))
        return {row["asset_id"]: _clock(row) for row in rows if row is not None}

    def gather(self, gathered: Sequence[Gathered]) -> set[AssetId]:
        distinct((one.asset_id for one in gathered), "gather")
        found: set[AssetId] = set()
        for one in gathered:
            row = self._db.automation_clock.get(one.asset_id)
            if row is not None:
                at = row["pending_at"] or one.at
                keys = sorted({*(row["pending"] or ()), *map(clean_text, one.keys)})
                next_at = at if row["next_at"] is None else min(row["next_at"], at)
                self._db.automation_clock.change(one.asset_id, pending=keys, pending_at=at, next_at=next_at)
                found.add(one.asset_id)
        return found

    def write_clocks(self, updates: Sequence[ClockUpdate]) -> None:
        distinct((one.asset_id for one in updates), "write_clocks")
        for one in updates:
            if one.asset_id not in self._db.automation_clock:
                raise self._conflict("the clocks of a look")
            gone = {} if one.keep else {"pending": None, "pending_at": None}
            self._db.automation_clock.change(one.asset_id, looked_at=one.looked_at, next_at=one.next_at, **gone)


def _clock(row: Row) -> Clock:
    return Clock(**{**row, "pending": tuple(row["pending"] or ())})
