"""What a worker still has to say: results of attempts, committed in groups.

Flushed at once when idle; what ends while a flush is in flight goes into the next one (DESIGN section 6, "Wake-ups"). A result
counts as reported only after its commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from partita.core.duties.finish import finish
from partita.core.duties.values_attempts import AttemptResult, Finished
from partita.core.runtime.attempts import unreportable
from partita.core.runtime.calls import StoreCalls
from partita.core.runtime.wake import WakeHub
from partita.core.store.port import Store
from partita.core.store.values import AttemptId

log = logging.getLogger(__name__)

_FLUSH_MOST = 500
_TRIES = 3
"""Of a report that the database answers and refuses: then the attempt has failed by what it reported."""


class Reports:
    """`unreported` are the attempts of which the worker has still to say how they ended: those that run, and those whose
    result is on its way. `flushed` is called after each commit, `doubt` when a result could not be stored at all."""

    def __init__(
        self, store: Store, calls: StoreCalls, hub: WakeHub, *, flushed: Callable[[], None], doubt: Callable[[], None]
    ) -> None:
        self._store = store
        self._calls = calls
        self._hub = hub
        self._flushed = flushed
        self._doubt = doubt
        self._results: asyncio.Queue[AttemptResult] = asyncio.Queue()
        self.unreported: set[AttemptId] = set()
        self.outcomes: Counter[str] = Counter()  # of what was reported since the process started

    def put(self, result: AttemptResult) -> None:
        self._results.put_nowait(result)

    async def empty(self) -> None:
        """Until everything is committed."""
        await self._results.join()

    async def run(self) -> None:
        """Commits groups until cancelled."""
        while True:
            batch = [await self._results.get()]
            while len(batch) < _FLUSH_MOST and not self._results.empty():
                batch.append(self._results.get_nowait())
            await self._report(batch)
            self.unreported.difference_update(result.attempt_id for result in batch)
            for _ in batch:
                self._results.task_done()
            self._flushed()

    async def _report(self, batch: Sequence[AttemptResult]) -> None:
        """One report that cannot be stored must not hold up those of all the others for ever."""
        try:
            finished = await self._finish(batch, "report results")
        except Exception as error:
            if len(batch) > 1:
                for result in batch:
                    await self._report([result])
                return
            log.exception("attempt %s: its report cannot be stored", batch[0].attempt_id)
            try:
                finished = await self._finish([unreportable(batch[0], error)], "report a failure")
            except Exception:
                log.exception("attempt %s: not even its failure can be stored", batch[0].attempt_id)
                self._doubt()  # lost, then
                return
        self._hub.wake(finished.channels)
        given_up = {refused.task_id for refused in finished.refused}
        self.outcomes.update("refused" if r.task_id in given_up else r.outcome.value for r in batch)
        for refused in finished.refused:
            log.warning("task %s attempt %s was refused: %s", refused.task_id, refused.attempt_id, refused.why)

    async def _finish(self, batch: Sequence[AttemptResult], what: str) -> Finished:
        return await self._calls.insist(partial(finish, self._store, batch), what, refusals=_TRIES)
