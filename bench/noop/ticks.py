"""A night in virtual time: the production duties on the in-memory store, a tick a second, a pool of a hundred slots. Tasks of the
night take three ticks, those of the backfill one to five, so that slots come free in every tick. Nothing of the machine is in it:
what a backfill costs the night here is what the rules cost it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import register, renew
from partita.core.duties.values import Launch, LaunchCell, LaunchTask, NewBackfill
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, CodeVersion, ResolvedInputs
from partita.core.store.memory import MemoryStore
from partita.core.store.values import (
    AssetId,
    AttemptOutcome,
    CellRef,
    LocationId,
    Pool,
    PoolUse,
    SnapshotId,
    TaskId,
    WorkerId,
)

SLOTS = 100
TASK_TICKS = 3
_WORKER = WorkerId("ticks")
_PIN = (LocationId(1), SnapshotId(1))
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WARM_TICKS = 10


def waits(cells: int, arrivals: list[int]) -> list[int]:
    """The ticks from due to published of each task of a night whose tick i brings `arrivals[i]` tasks, with a backfill of so many
    cells that was there before. Counted: all of the night was published, and the backfill was not over."""
    world = _World()
    if cells:
        new = NewBackfill("history", None, "bench")
        world.launch("backfill", [f"h{n}" for n in range(cells)], backfill=new)
        for _ in range(_WARM_TICKS):
            world.tick()
    for n, tasks in enumerate(arrivals):
        if tasks:
            world.launch("scheduled", [f"n{n}-{one}" for one in range(tasks)])
        world.tick()
    while len(world.took) < sum(arrivals):
        world.tick()
    assert not cells or world.backfilled < cells, "the backfill was over before the night"
    assert len(world.took) == sum(arrivals)
    return world.took


@dataclass
class _World:
    """A store, its clock, and a worker with a slot for every task that is queued."""

    ticks: int = 0
    took: list[int] = field(default_factory=list)
    backfilled: int = 0
    _due: dict[TaskId, int] = field(default_factory=dict)
    _ends: dict[int, list[AttemptResult]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._store = MemoryStore(lambda: _START + timedelta(seconds=self.ticks))
        register(self._store, _WORKER, host="here", pid=1, capacity=10 * SLOTS)
        with self._store.begin() as tx:
            tx.ensure_pools([Pool("warehouse", SLOTS)], automatic=False)

    def launch(self, lane: str, keys: list[str], *, backfill: NewBackfill | None = None) -> None:
        tasks = [
            LaunchTask(
                "step", lane, *_PIN,
                cells=(LaunchCell(CellRef(AssetId(1 + bool(backfill)), key), "missing"),),
                pools=(PoolUse("warehouse", 1),),
            )
            for key in keys
        ]  # fmt: skip
        asked = Launch(tuple(tasks), {}, "h", _START, {"kind": "schedule"}, (_PIN,), backfill=backfill, lane=lane)
        made = launch(self._store, asked)
        if backfill is None:
            self._due.update(dict.fromkeys(made.task_ids, self.ticks))

    def tick(self) -> None:
        """What is due ends; what has slots is admitted and starts."""
        renew(self._store, _WORKER)
        ended = self._ends.pop(self.ticks, [])
        if ended:
            assert not finish(self._store, ended).refused
        for result in ended:
            due = self._due.get(result.task_id)
            if due is None:
                self.backfilled += 1
            else:
                self.took.append(self.ticks - due)
        while admit(self._store).more:
            pass
        claimed = True
        while claimed:
            claims = claim(self._store, _WORKER, [_PIN], SLOTS, lambda *_: _no_inputs(), lambda *_: None)
            claimed = bool(claims.claimed)
            for one in claims.claimed:
                cells = tuple(CellResult(own.cell, CellOutcome.WRITTEN, data_version="1") for own in one.cells)
                result = AttemptResult(
                    task_id=one.task.id, attempt_id=one.attempt_id, fence=one.fence, outcome=AttemptOutcome.SUCCESS,
                    cells=cells, digests=one.digests, versions=one.versions,
                )  # fmt: skip
                takes = TASK_TICKS if one.task.id in self._due else 1 + one.task.id % (2 * TASK_TICKS - 1)
                self._ends.setdefault(self.ticks + takes, []).append(result)
        self.ticks += 1


def _no_inputs() -> ResolvedInputs:
    return ResolvedInputs((), {AssetId(n): CodeVersion("c", "d") for n in (1, 2)})
