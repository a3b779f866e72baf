"""The order of what one attempt tells, with pipes and without a process, so that the worst order can be chosen."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from partita.grpc.server.attempt import Attempt, Exit, Stop, StopCause
from partita.grpc.v1 import code_location_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]


class _Pipes:
    """An attempt, and the ends that its process would hold."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.attempt = Attempt(pb.ExecuteRequest(attempt_id="one", step="s"), self.signals.append)
        ours, self.channel = socket.socketpair()
        (stdout, self.stdout), (stderr, self.stderr) = os.pipe(), os.pipe()
        self.attempt.attach(ours, stdout, stderr)

    def close(self) -> None:
        self.channel.close()
        os.close(self.stdout)
        os.close(self.stderr)

    async def kinds(self) -> list[str]:
        return [str(event.WhichOneof("kind")) async for batch in self.attempt.batches() for event in batch.events]


async def _turns_of_the_loop() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_a_process_says_before_its_start_was_told_comes_after_it() -> None:
    pipes = _Pipes()
    os.write(pipes.stdout, b"said at once\n")
    await _turns_of_the_loop()
    pipes.attempt.on_started(4711)
    pipes.close()
    pipes.attempt.on_exit(Exit(0))
    assert await pipes.kinds() == ["started", "log", "finished"]


async def test_a_stop_before_the_start_does_not_turn_the_order() -> None:
    pipes = _Pipes()
    os.write(pipes.stdout, b"said at once\n")
    pipes.attempt.stop(Stop(StopCause.CANCELLED, "no more"))
    await _turns_of_the_loop()
    pipes.attempt.on_started(4711)
    pipes.close()
    pipes.attempt.on_exit(Exit(-signal.SIGTERM))
    assert await pipes.kinds() == ["started", "log", "finished"]
    assert pipes.signals == [signal.SIGTERM]


async def test_what_a_process_said_is_kept_when_its_start_is_never_told() -> None:
    pipes = _Pipes()
    os.write(pipes.stderr, b"a last word\n")
    pipes.close()
    pipes.attempt.on_exit(Exit(None, "the process that holds the code was killed"))
    assert await pipes.kinds() == ["log", "finished"]
