"""Evaluations that a triggerer has under way: observers, schedules and sensors, called in their code locations.

Each is a call of its own with a time limit of its own, so that a slow or hanging function delays nobody. Owns no lease: it begins
under the triggerer's, and what it began before that was lost commits nothing. It runs no user code and decides nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from partita.core.automation.evaluating import Begun, Broke, Came, begin, conclude
from partita.core.automation.values import ActiveCatalog
from partita.core.runtime.calls import StoreCalls
from partita.core.runtime.wake import WakeHub
from partita.core.runtime.worker import Pin, Served
from partita.core.store.port import Store
from partita.core.store.values_evaluators import EvaluatorId
from partita.core.store.values_waits import TriggererId
from partita.grpc.client import CodeLocationClient, CodeServerError
from partita.grpc.v1 import code_location_pb2 as pb

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Calls that began a moment ago. Those that take longer leave their place to others: a function that hangs delays nobody."""
SLOW_AFTER_S = 5.0
MOST_AT_ONCE = 256
"""Slow ones, too: each is a process of its code location."""
FAILING_AT_ONCE = 16
"""Of those whose last evaluation failed: what hangs each time takes no more than so many places."""
_BEGUN_AT_ONCE = 16
_GRACE_S = 2.0
_PATIENCE_S = 10.0
"""Beyond its time limit and grace: a server that does not even end what runs too long is given up."""
_LOG_LINES = 200
_LOG_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class Running:
    """A call under way. `failing`: the one before it failed."""

    id: EvaluatorId
    failing: bool
    began_s: float


def rooms(running: Collection[Running], now_s: float) -> tuple[int, int]:
    """How many more may begin, and how many of those whose last evaluation failed."""
    quick = sum(now_s - one.began_s < SLOW_AFTER_S for one in running)
    room = min(AT_ONCE - quick, MOST_AT_ONCE - len(running), _BEGUN_AT_ONCE)
    return room, FAILING_AT_ONCE - sum(one.failing for one in running)


class Evaluations:
    """`begin` takes what is due; `ended` is called whenever there is room for more."""

    def __init__(
        self, store: Store, catalogs: ActiveCatalog, hub: WakeHub, calls: StoreCalls, ended: Callable[[], None]
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._hub = hub
        self._calls = calls
        self._ended = ended
        self._running: dict[asyncio.Task[None], Running] = {}
        self._clients: dict[str, CodeLocationClient] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._running)

    async def begin(self, triggerer_id: TriggererId, served: Mapping[Pin, Served]) -> bool:
        """Begins what is due, of versions that are served; whether more may be due now."""
        now_s = asyncio.get_running_loop().time()
        room, failing = rooms(self._running.values(), now_s)
        work = partial(
            begin,
            self._store,
            self._catalogs,
            triggerer_id,
            sorted(served),
            room,
            running=frozenset(one.id for one in self._running.values()),
            failing=failing,
        )
        begun = await self._calls.once(work)
        for one in begun:
            pin = (one.evaluator.location_id, one.evaluator.snapshot_id)
            task = asyncio.create_task(self._evaluate(one, served[pin]), name=f"evaluate {one.evaluator.name}")
            self._running[task] = Running(one.evaluator.id, one.evaluator.failures > 0, now_s)
            task.add_done_callback(self._done)
        return len(begun) == room > 0

    async def cancel(self) -> None:
        """The lease is lost, or the process stops: what runs is somebody else's."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def close(self) -> None:
        """After `cancel`."""
        clients = list(self._clients.values())
        self._clients.clear()
        await asyncio.gather(*(client.close() for client in clients), return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._ended()

    async def _evaluate(self, begun: Begun, served: Served) -> None:
        self._turn += 1
        address = served.addresses[self._turn % len(served.addresses)]
        end = await self._call(begun, served.version, address)
        work = partial(conclude, self._store, self._catalogs, begun, end)
        try:
            concluded = await self._calls.insist(work, "conclude an evaluation", refusals=3)
        except Exception:
            # Nothing of it was written: it is free when this task has ended, and evaluated again.
            log.exception("the evaluation of %s cannot be concluded", begun.evaluator.name)
            return
        if concluded.error:
            log.warning("%s %s failed: %s", begun.evaluator.kind, begun.evaluator.name, concluded.error)
        self._hub.wake(concluded.channels)

    async def _call(self, begun: Begun, version: str, address: str) -> Came | Broke:
        told = _Lines()
        limit_s = begun.known_spec.timeout_s
        try:
            async with asyncio.timeout(limit_s + _GRACE_S + _PATIENCE_S):
                client = self._client(address)
                async with contextlib.aclosing(client.execute(_request(begun, version))) as events:
                    async for event in events:
                        if event.WhichOneof("kind") == "log":
                            told.add(event.log)
                        elif event.WhichOneof("kind") == "finished":
                            return _end(event.finished, told)
        except TimeoutError:
            return Broke(
                f"its server did not end it {_PATIENCE_S:g} s after its time limit of {limit_s:g} s", log=told.text
            )
        except CodeServerError as error:
            return Broke(str(error), log=told.text)
        return Broke("its server ended the call without a result", log=told.text)

    def _client(self, address: str) -> CodeLocationClient:
        known = self._clients.get(address)
        if known is None:
            known = self._clients[address] = CodeLocationClient(address)
        return known


class _Lines:
    """The end of what a function printed and logged."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)

    def add(self, lines: pb.LogLines) -> None:
        self._lines.extend(f"{line.level} {line.text}".strip() for line in lines.lines)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)[-_LOG_CHARS:]


def _request(begun: Begun, version: str) -> pb.ExecuteRequest:
    one = begun.evaluator
    return pb.ExecuteRequest(
        attempt_id=f"evaluation-{one.id}-{one.token}",
        version=version,
        evaluation=pb.Evaluation(name=one.name, given=json.dumps(dict(begun.given)).encode()),
        timeout_seconds=begun.known_spec.timeout_s,
        grace_seconds=_GRACE_S,
    )


def _end(finished: pb.Finished, told: _Lines) -> Came | Broke:
    if finished.status == pb.Finished.SUCCESS:
        return Came(json.loads(finished.evaluated or b"{}"), told.text)
    name = pb.Finished.Status.Name(finished.status).lower()
    return Broke(finished.error or f"it ended as {name}", finished.traceback, told.text)
