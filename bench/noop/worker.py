"""A worker that claims and reports like the product's own, and runs nothing in between: the benches' load generator.

It registers, renews its lease as often as the product's, claims in batches, and reports each attempt as written, by the duties
that `partita worker` calls, with the default lease: at once, or with `--hold` when it gets SIGUSR1, as if its tasks took that
long. `python bench/noop/worker.py PROJECT CAPACITY [--hold]`; ends at SIGTERM.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from partita.core.config import load_config
from partita.core.duties.channels import Channel
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.leases import register, renew, retire
from partita.core.duties.values import LEASE_S
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CellResult, Claimed
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.directory import StoreDirectory
from partita.core.runtime.process import catalogs_of
from partita.core.store.values import AttemptOutcome, WorkerId

_POLL_S = 1.0
_RENEWALS_PER_LEASE = 5
_AT_ONCE = 1_000  # as many as the product's worker reports in one transaction


def main() -> None:
    folder, capacity = Path(sys.argv[1]), int(sys.argv[2])
    stopping, done = threading.Event(), threading.Event()
    if "--hold" not in sys.argv:
        done.set()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGUSR1, lambda *_: done.set())
    with Deployment(load_config(folder, environ=os.environ)) as deployment:
        Worker(deployment, capacity, stopping, done).run()


class Worker:
    """One thread: once `done` is set, what it claims it reports before it claims again."""

    def __init__(self, deployment: Deployment, capacity: int, stopping: threading.Event, done: threading.Event) -> None:
        self._store = deployment.store
        self._hub = deployment.hub
        self._capacity = capacity
        self._stopping = stopping
        self._done = done
        self._held: list[Claimed] = []
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
            if time.monotonic() - renewed_at > LEASE_S / _RENEWALS_PER_LEASE:
                assert renew(self._store, self._id, lease_s=LEASE_S).live, "the lease was lost"
                renewed_at = time.monotonic()
            while self._work() and not self._stopping.is_set():
                pass
        retire(self._store, self._id)

    def _work(self) -> bool:
        if self._done.is_set() and self._held:
            self._report(self._held[:_AT_ONCE])
            del self._held[:_AT_ONCE]
            return True
        free = self._capacity - len(self._held)
        served = self._directory.served() if free else {}
        if not served:
            return False
        claims = claim(
            self._store, self._id, sorted(served), free, self._directory.resolver, lambda *_: None,
            lease_s=LEASE_S, prepare=self._directory.prepare,
        )  # fmt: skip
        self._hub.wake(claims.channels)
        self._held += claims.claimed
        return claims.more or bool(claims.claimed)

    def _report(self, claimed: Sequence[Claimed]) -> None:
        finished = finish(self._store, [_written(one) for one in claimed])
        assert not finished.refused, finished.refused
        self._hub.wake(finished.channels)


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
