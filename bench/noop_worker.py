"""A worker that claims and reports like the product's own, and runs nothing in between: the burst's load generator.

It registers, renews its lease, claims in batches, and reports each attempt as written at once, by the duties that
`partita worker` calls, with the default lease. `python bench/noop_worker.py PROJECT CAPACITY`; ends at SIGTERM.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from pathlib import Path

from partita.core.config import load_config
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.leases import register, renew, retire
from partita.core.duties.values import LEASE_S, AttemptResult, CellOutcome, CellResult, Channel, Claimed
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.directory import StoreDirectory
from partita.core.runtime.process import catalogs_of
from partita.core.store.values import AttemptOutcome, WorkerId

_POLL_S = 1.0


def main() -> None:
    folder, capacity = Path(sys.argv[1]), int(sys.argv[2])
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    with Deployment(load_config(folder, environ=os.environ)) as deployment:
        Worker(deployment, capacity, stopping).run()


class Worker:
    """One thread: what it claims it reports before it claims again."""

    def __init__(self, deployment: Deployment, capacity: int, stopping: threading.Event) -> None:
        self._store = deployment.store
        self._hub = deployment.hub
        self._capacity = capacity
        self._stopping = stopping
        self._directory = StoreDirectory(deployment.store, catalogs_of(deployment))
        self._id = WorkerId(f"noop-{os.getpid()}")
        self._claimable = threading.Event()
        self._hub.subscribe([Channel.QUEUED], self._claimable.set)
        deployment.start(("worker", "noop"))

    def run(self) -> None:
        register(self._store, self._id, host=platform.node(), pid=os.getpid(), capacity=self._capacity, lease_s=LEASE_S)
        renewed_at = time.monotonic()
        while not self._stopping.is_set():
            self._claimable.wait(_POLL_S)
            self._claimable.clear()
            if time.monotonic() - renewed_at > LEASE_S / 5:
                assert renew(self._store, self._id, lease_s=LEASE_S).live, "the lease was lost"
                renewed_at = time.monotonic()
            while self._work() and not self._stopping.is_set():
                pass
        retire(self._store, self._id)

    def _work(self) -> bool:
        served = self._directory.served()
        if not served:
            return False
        claims = claim(
            self._store, self._id, sorted(served), self._capacity, self._directory.resolver, lambda *_: None,
            lease_s=LEASE_S,
        )  # fmt: skip
        self._hub.wake(claims.channels)
        if claims.claimed:
            finished = finish(self._store, [_written(one) for one in claims.claimed])
            assert not finished.refused, finished.refused
            self._hub.wake(finished.channels)
        return claims.more or bool(claims.claimed)


def _written(claimed: Claimed) -> AttemptResult:
    return AttemptResult(
        task_id=claimed.task.id,
        attempt_id=claimed.attempt_id,
        fence=claimed.fence,
        outcome=AttemptOutcome.SUCCESS,
        cells=tuple(
            CellResult(own.cell, CellOutcome.WRITTEN, data_version=str(claimed.attempt_id)) for own in claimed.cells
        ),
        digests=claimed.digests,
        versions=claimed.versions,
    )


if __name__ == "__main__":
    main()
