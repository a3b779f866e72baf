"""Which queues the live workers serve, and why a task of one that none serves waits. Pure.

A task of such a queue holds no slot: it is not admitted, and what was admitted before its last worker went gives its slots back
after a grace. Only while no worker at all is alive everything goes on as if there were some: nobody starves of slots then, and
the first worker finds its tasks queued (S-151: stuck in queued means workers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.core.store.values import WaitReason, Worker


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


def unserved(queues: Collection[str], workers: Sequence[Worker]) -> list[str]:
    """Those of the queues that none of the live workers serves."""
    return sorted(queue for queue in set(queues) if not any(worker.serves(queue) for worker in workers))
