"""What is asked of a code server between its zygote's death and the moment that it notices: the next zygote does it.

The supervisor works in the test's own event loop, so that nothing can be noticed before it is asked.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from partita.grpc.server.attempt import Attempt
from partita.grpc.server.hosts import TriggerHost
from partita.grpc.server.supervisor import Config, Supervisor
from partita.grpc.v1 import code_location_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(Config("shop", Path(__file__).parent / "fixtures", ("shop.steady",)))
    supervisor.start()
    async for status in supervisor.watch():
        if not status.loading:
            assert status.active_version, status.error
            break
    yield supervisor
    await supervisor.close(grace_s=5)


def _kill_unnoticed(supervisor: Supervisor) -> int:
    """Kill the zygote and return its pid once it holds no descriptor, without a turn of the event loop."""
    (pid,) = supervisor.process_ids
    os.kill(pid, signal.SIGKILL)
    try:
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            pass
    except psutil.NoSuchProcess:  # reaped: a thread of the supervisor's waits for that
        pass
    return pid


def _request(supervisor: Supervisor, attempt_id: str) -> pb.ExecuteRequest:
    loaded = supervisor.definitions("")
    assert loaded is not None
    steps = {spec["key"]: spec["step"] for spec in json.loads(loaded.snapshot)["assets"]}
    request = pb.ExecuteRequest(
        attempt_id=attempt_id, version=loaded.version, step=steps["noop"], attempt_number=1, run_id=1, fence=1
    )
    request.cells.append(pb.TargetCell(asset="noop", partition=""))
    return request


async def test_an_attempt_is_not_lost_to_a_death_that_nobody_noticed(supervisor: Supervisor) -> None:
    for number in range(3):
        request = _request(supervisor, f"attempt-{number}")
        killed = _kill_unnoticed(supervisor)
        attempt = await supervisor.execute(request)
        assert isinstance(attempt, Attempt)
        batches = [batch async for batch in attempt.batches()]
        assert batches[-1].events[-1].finished.status == pb.Finished.SUCCESS
        assert killed not in supervisor.process_ids


async def test_a_host_of_triggers_is_opened_in_the_next_zygote(supervisor: Supervisor) -> None:
    loaded = supervisor.definitions("")
    assert loaded is not None
    killed = _kill_unnoticed(supervisor)
    host = await supervisor.open_host(loaded.version)
    assert isinstance(host, TriggerHost)
    assert killed not in supervisor.process_ids
    assert not host.ended.is_set()
