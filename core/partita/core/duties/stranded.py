"""Runs pinned to a version that no server has: after a grace their waiting tasks are removed, and planned again.

One run a transaction, all of it: what is planned again is planned together, with what ended below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita.core.decide.stranded import is_given_up, remove
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Move, follow, write
from partita.core.duties.values import REPLAN
from partita.core.store.port import Store, Tx
from partita.core.store.values import CellState, NewEvent, Task, TaskCell, TaskState
from partita.core.store.values_definitions import Stranded

_LOOKED_AT = 100
_UNMADE = frozenset({TaskState.REMOVED, TaskState.UPSTREAM_FAILED})


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Tasks that left their run, and cells of it that are planned again."""

    removed: int = 0
    replanned: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.removed


def give_up_versions(store: Store, *, grace_s: float) -> GivenUp:
    """Removes the waiting tasks of one run whose version has had no server for `grace_s`."""
    return store.run(lambda tx: _give_up(tx, grace_s))


def _give_up(tx: Tx, grace_s: float) -> GivenUp:
    stranded = tx.stranded_runs(_LOOKED_AT)
    if not stranded:
        return GivenUp()
    servers, now = tx.live_code_servers(), tx.now()
    given_up = [one for one in stranded if is_given_up(one, servers, now, grace_s)]
    if not given_up:
        return GivenUp()
    one = given_up[0]
    tx.lock_runs([one.run_id])
    tasks = tx.lock_open_tasks_of_run(one.run_id)
    moves: list[Move] = [(task, update) for task in tasks if (update := remove(task, one, now)) is not None]
    settlement = follow(tx, moves, whole=True, now=now)
    ended = [task for task, update in (*moves, *settlement.updates) if update.state in _UNMADE]
    unmade = _unmade(tx, one, ended)
    events = _asked_again(one, unmade)
    # What automation asked for is not made by this run: the same state of its inputs may ask again, now or later.
    tx.withdraw_requests(one.run_id, [own.cell for own in unmade])
    written = write(tx, moves, settlement, events=events)
    tx.audit("scheduler", "version_gone", {"run": one.run_id, "location": one.location, "version": one.version})
    channels = tuple(sorted({*written.channels(), Channel.EVENT, Channel.TODO}))
    return GivenUp(len(moves), len(events), more=len(given_up) > 1, channels=channels)


def _unmade(tx: Tx, one: Stranded, ended: list[Task]) -> list[TaskCell]:
    """The cells of the run that were not made, with those that ended below them."""
    own = [task.id for task in ended if task.run_id == one.run_id and task.kind == "step"]
    return [cell for cell in tx.task_cells(own) if cell.state is CellState.PENDING]


def _asked_again(one: Stranded, unmade: list[TaskCell]) -> list[NewEvent]:
    """Work for the duty that plans again."""
    return [
        NewEvent(
            "plan",
            asset_id=own.cell.asset_id,
            partition=own.cell.partition,
            run_id=one.run_id,
            task_id=own.task_id,
            body={"version_gone": one.version},
            for_consumers=(REPLAN,),
        )
        for own in unmade
    ]
