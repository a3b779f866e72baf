"""Lanes: their weights and reserved parts, who is at work and who waits in each, and changing them by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from partita.assets import suggest
from partita.core.duties.channels import Channel
from partita.core.store.port import Tx
from partita.core.store.queries import api_system as sql
from partita.core.store.queries.api_read import Row, rows
from partita.core.store.values import Lane
from partita.ui.api.models import LaneView, PartyView
from partita.ui.api.problems import NotFound, ReservesTooMuch
from partita.ui.api.services.base import Backend


class LaneService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def all(self) -> list[LaneView]:
        """By weight, the heaviest first."""
        with self._backend.store.read() as reader:
            lanes = [Lane(**row) for row in rows(reader, sql.LANES)]
            parties = rows(reader, sql.LANE_TASKS)
        found: defaultdict[str, list[Row]] = defaultdict(list)
        for row in parties:
            found[row["lane"]].append(row)
        waiting = sum(lane.weight for lane in lanes if any(row["waiting"] for row in found[lane.name]))
        views = [_view(lane, found[lane.name], waiting) for lane in lanes]
        return sorted(views, key=lambda one: (-one.weight, one.name))

    def get(self, name: str) -> LaneView:
        """Raises NotFound."""
        known_lane(self._backend.store.run(lambda tx: tx.lanes(), durable=False), name)
        return next(one for one in self.all() if one.name == name)

    def set(self, name: str, *, weight: int | None = None, reserved: float | None = None) -> LaneView:
        """Changes what is given, at once. Raises NotFound, and ReservesTooMuch when nothing would be left for the others."""
        self._backend.store.run(lambda tx: self._set(tx, name, weight, reserved))
        self._backend.wake([Channel.SCHEDULED])
        return next(one for one in self.all() if one.name == name)

    def _set(self, tx: Tx, name: str, weight: int | None, reserved: float | None) -> None:
        lanes = tx.lanes()
        now = known_lane(lanes, name)
        lane = Lane(name, now.weight if weight is None else weight, now.reserved if reserved is None else reserved)
        others = sum(one.reserved for one in lanes.values() if one.name != name)
        if others + lane.reserved >= 1:
            raise ReservesTooMuch(
                f"lane {name!r} cannot keep {lane.reserved:g} of each pool",
                rule=f"other lanes keep {others:g}, and together it has to be under 1",
                fix=f"keep less than {1 - others:g}",
            )
        if tx.set_lane(lane):
            tx.audit(self._backend.who, "lane", {"lane": name, "weight": lane.weight, "reserved": lane.reserved})


def known_lane(lanes: Mapping[str, Lane], name: str) -> Lane:
    """Raises NotFound."""
    if name not in lanes:
        raise NotFound(
            f"there is no lane {name!r}",
            rule=f"the lanes are {', '.join(sorted(lanes))}; more of them are made under [lanes] in partita.toml",
            fix=suggest(name, sorted(lanes)) or "look with `partita lanes`",
        )
    return lanes[name]


def _view(lane: Lane, parties: Sequence[Row], waiting: int) -> LaneView:
    waits = any(row["waiting"] for row in parties)
    total = waiting if waits else waiting + lane.weight  # what it would be due, should it wait too
    return LaneView(
        name=lane.name,
        weight=lane.weight,
        reserved=lane.reserved,
        share=lane.weight / total,
        active=sum(int(row["active"]) for row in parties),
        waiting=sum(int(row["waiting"]) for row in parties),
        parties=[
            PartyView(key=row["fair_key"], active=int(row["active"]), waiting=int(row["waiting"])) for row in parties
        ],
    )
