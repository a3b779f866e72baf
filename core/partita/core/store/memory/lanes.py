"""Lanes in memory."""

from __future__ import annotations

from collections.abc import Iterable

from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import Lane


class LanesPart(MemoryPart):
    def lanes(self) -> dict[str, Lane]:
        rows = self._db.lane.sorted_rows()
        return {row["name"]: Lane(row["name"], row["weight"], row["reserved"]) for row in rows}

    def set_lane(self, lane: Lane) -> bool:
        self._check(lane)
        present = self._db.lane.get(lane.name)
        if present is not None and (present["weight"], present["reserved"]) == (lane.weight, lane.reserved):
            return False
        configured: Row = present or {"configured_weight": None, "configured_reserved": None}
        self._db.lane.put(configured | {"name": lane.name, "weight": lane.weight, "reserved": lane.reserved})
        return True

    def configure_lanes(self, lanes: Iterable[Lane]) -> None:
        given = list(lanes)
        distinct((lane.name for lane in given), "configure_lanes")
        for lane in given:
            self._check(lane)
            present = self._db.lane.get(lane.name)
            said = (lane.weight, lane.reserved)
            if present is None or (present["configured_weight"], present["configured_reserved"]) != said:
                self._db.lane.put(
                    {
                        "name": lane.name,
                        "weight": lane.weight,
                        "reserved": lane.reserved,
                        "configured_weight": lane.weight,
                        "configured_reserved": lane.reserved,
                    }
                )

    def _check(self, lane: Lane) -> None:
        if lane.weight < 1 or not 0 <= lane.reserved < 1:
            raise self._violation(f"lane {lane.name!r}: weight {lane.weight}, reserved {lane.reserved}")
