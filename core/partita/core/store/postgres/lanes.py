"""Lanes: their weights and the part of each pool that is kept for them."""

from __future__ import annotations

from collections.abc import Iterable

from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values import Lane

READ_LANES = text("SELECT name, weight, reserved FROM lane ORDER BY name")

SET_LANE = text("""
    INSERT INTO lane (name, weight, reserved) VALUES (:name, :weight, :reserved)
    ON CONFLICT (name) DO UPDATE SET weight = excluded.weight, reserved = excluded.reserved
    WHERE (lane.weight, lane.reserved) <> (excluded.weight, excluded.reserved)
""")

CONFIGURE_LANES = text("""
    INSERT INTO lane (name, weight, reserved, configured_weight, configured_reserved)
    SELECT u.name, u.weight, u.reserved, u.weight, u.reserved
    FROM unnest(CAST(:names AS text[]), CAST(:weights AS integer[]), CAST(:reserved AS float8[])) AS u(name, weight, reserved)
    ON CONFLICT (name) DO UPDATE
    SET weight = excluded.weight, reserved = excluded.reserved, configured_weight = excluded.weight,
        configured_reserved = excluded.reserved
    WHERE (lane.configured_weight, lane.configured_reserved) IS DISTINCT FROM (excluded.weight, excluded.reserved)
""")


class LanesPart(PostgresPart):
    def lanes(self) -> dict[str, Lane]:
        return {row[0]: Lane(*row) for row in self._rows(READ_LANES)}

    def set_lane(self, lane: Lane) -> bool:
        return self._execute(SET_LANE, name=lane.name, weight=lane.weight, reserved=lane.reserved) == 1

    def configure_lanes(self, lanes: Iterable[Lane]) -> None:
        rows: list[Lane] = ordered(lanes, lambda lane: lane.name, "configure_lanes")
        if rows:
            self._execute(
                CONFIGURE_LANES,
                names=[lane.name for lane in rows],
                weights=[lane.weight for lane in rows],
                reserved=[lane.reserved for lane in rows],
            )
