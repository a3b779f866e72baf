"""Which queues the live workers serve, what places they have, and why a task that none can take waits. Pure.

A task of a queue without a worker holds no slot: it is not admitted, and what was admitted before its last worker went gives its
slots back after a grace. Only while no worker at all is alive everything goes on as if there were some: nobody starves of slots
then, and the first worker finds its tasks queued (S-151: stuck in queued means workers).

The same holds for a queue whose workers are busy, as soon as there are others that do not serve it: no more of its tasks take
slots than these workers have places, and a small lead (ADR 16).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.core.store.values import Taken, WaitReason, Worker

_LEAD = 8  # a task for every so many places waits beside them, so that none stands empty while admission looks


@dataclass(frozen=True, slots=True)
class Served:
    """The live `workers`; `until` when those of queues without any were alive last."""

    workers: Sequence[Worker]
    until: Mapping[str, datetime] = field(default_factory=dict)

    def by(self, queue: str) -> list[Worker]:
        """The workers of a queue."""
        return [worker for worker in self.workers if worker.serves(queue)]

    def no_worker(self, queue: str) -> tuple[WaitReason, Mapping[str, Any]]:
        """Why a task of a queue that has no worker waits."""
        until = self.until.get(queue)
        others = Counter(own for worker in self.workers for own in worker.queues)
        since = None if until is None else until.isoformat(timespec="seconds")
        return WaitReason.NO_WORKER, {"queue": queue, "since": since, "others": dict(sorted(others.items()))}

    def nobody_takes(self, queue: str) -> tuple[WaitReason, Mapping[str, Any]] | None:
        """Why tasks of this queue take no slots; None when they may."""
        return self.no_worker(queue) if self.workers and not self.by(queue) else None

    def busy(self, queue: str) -> tuple[WaitReason, Mapping[str, Any]]:
        """Why a task waits whose queue has workers, and none with a place for it."""
        workers = self.by(queue)
        capacity = sum(worker.capacity for worker in workers)
        return WaitReason.WORKERS_BUSY, {"queue": queue, "workers": len(workers), "capacity": capacity}

    def bounded(self, queues: Collection[str]) -> list[str]:
        """Those of the queues that have workers, while others live that do not serve them: only then do tasks that wait for a
        worker hold slots which somebody else's idle worker could use."""
        return sorted(queue for queue in set(queues) if 0 < len(self.by(queue)) < len(self.workers))


def free_places(queue: str, served: Served, taken: Taken) -> int:
    """Places of the workers of a queue that nobody runs on."""
    return sum(max(0, worker.capacity - taken.running.get(worker.id, 0)) for worker in served.by(queue))


def lead(queue: str, served: Served) -> int:
    """How many tasks of a queue may wait beside the places of its workers."""
    return -(-sum(worker.capacity for worker in served.by(queue)) // _LEAD)


def places_left(queues: Collection[str], served: Served, taken: Taken) -> dict[str, int]:
    """How many more tasks of each bounded queue may take slots; of those left out any number.

    `queues`: of all tasks that stand in line together. No lead beyond the free places while a task of another of them could
    start at once if it had the slots.
    """
    open_ = {queue: free_places(queue, served, taken) - taken.queued.get(queue, 0) for queue in set(queues)}
    found = {}
    for queue in served.bounded(queues):
        rival = any(free > 0 for other, free in open_.items() if other != queue)
        found[queue] = max(0, open_[queue] + (0 if rival else lead(queue, served)))
    return found


def too_many(queue: str, served: Served, taken: Taken) -> int:
    """How many queued tasks of a bounded queue are more than its workers have places for, with the lead."""
    most = free_places(queue, served, taken) + lead(queue, served)
    return max(0, taken.queued.get(queue, 0) - most)


def unserved(queues: Collection[str], workers: Sequence[Worker]) -> list[str]:
    """Those of the queues that none of the live workers serves."""
    return sorted(queue for queue in set(queues) if not any(worker.serves(queue) for worker in workers))
