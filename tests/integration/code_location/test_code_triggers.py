"""The host of triggers of a real code-location server: what one trigger does, however bad, is its own end and nobody else's
(S-020, S-167, S-175).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.code_location.harness import StartServer, connected

from partita.grpc.client import CodeLocationClient, LocationUnavailable, VersionNotLoaded
from partita.grpc.server.turns import Note
from partita.grpc.v1 import code_location_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]

FILE = "partita.sdk.triggers:FileExists"


def watch(wait: str, trigger: str, **args: Any) -> pb.TriggerCommand:
    path = trigger if ":" in trigger else f"shop.waits:{trigger}"
    asked = pb.WatchTrigger(
        wait=wait, trigger=path, args=json.dumps(args).encode(), poll_seconds=0.05, since_us=int(time.time() * 1e6)
    )
    return pb.TriggerCommand(watch=asked)


class Watcher:
    """Watches as a triggerer does: a stream that is lost is opened again, with all that is still waited for."""

    def __init__(self, client: CodeLocationClient, *waits: pb.TriggerCommand) -> None:
        self._client = client
        self.waits = {one.watch.wait: one for one in waits}
        self.fired: dict[str, Any] = {}
        self.broken: dict[str, str] = {}
        self.lost: list[str] = []

    async def until(self, *waits: str) -> None:
        """Until these have fired or broken."""
        wanted = set(waits)
        version = (await self._client.status()).active_version
        while not wanted <= self.fired.keys() | self.broken.keys():
            try:
                await self._listen(version, wanted)
            except LocationUnavailable as error:
                self.lost.append(str(error))

    async def _listen(self, version: str, wanted: set[str]) -> None:
        async with contextlib.aclosing(self._client.run_triggers(version, self._commands())) as batches:
            async for batch in batches:
                for event in batch:
                    self._hear(event)
                if wanted <= self.fired.keys() | self.broken.keys():
                    return

    def _hear(self, event: pb.TriggerEvent) -> None:
        if event.WhichOneof("kind") == "fired":
            self.waits.pop(event.fired.wait)
            self.fired[event.fired.wait] = json.loads(event.fired.payload)
        else:
            self.waits.pop(event.broken.wait)
            self.broken[event.broken.wait] = event.broken.error

    async def _commands(self) -> AsyncIterator[list[pb.TriggerCommand]]:
        yield list(self.waits.values())
        await asyncio.Event().wait()


def test_a_note_knows_who_is_in_a_call_in_the_order_in_which_they_began() -> None:
    note = Note.made()
    with note.call("7.0.1"):
        with note.call("8.0.1"), note.call("9.0.1"):
            assert note.calls == ["7.0.1", "8.0.1", "9.0.1"]
        with note.call("8.0.1"), note.call("é" * 200):
            assert note.calls[:2] == ["7.0.1", "8.0.1"]
    assert note.calls == []
    with contextlib.ExitStack() as stack:
        for _ in range(1_030):
            stack.enter_context(note.call("many"))
        assert len(note.calls) == 1_024
    note.remove()


def test_a_note_outlives_its_file() -> None:
    note = Note.made()
    note.begin(b"7.0.1")
    Path(note.path).unlink()
    assert note.name == "7.0.1"
    note.end()
    assert note.name == ""
    note.remove()


async def test_what_a_trigger_raises_or_returns_is_its_own_end(start_server: StartServer, tmp_path: Path) -> None:
    came = tmp_path / "came"
    came.touch()
    async with connected(start_server("waits")) as client:
        watcher = Watcher(
            client,
            watch("raises", "Raises"),
            watch("large", "Large"),
            watch("odd", "NoJson"),
            watch("unknown", "Missing"),
            watch("wrong", "Told", folder="/in"),
            watch("told", "Told", file=str(came)),
            watch("beside", FILE, pattern=str(came)),
        )
        await watcher.until(*watcher.waits)
    assert watcher.fired == {"told": {"file": str(came)}, "beside": [str(came)]}
    assert watcher.broken["raises"] == "ConnectionError: the other side said no"
    assert "the limit is 65,536" in watcher.broken["large"]
    assert "payload that is not JSON" in watcher.broken["odd"]
    assert "'shop.waits:Missing' is not found" in watcher.broken["unknown"]
    assert "unexpected keyword argument 'folder'" in watcher.broken["wrong"]
    assert watcher.lost == []


async def test_those_that_hang_keep_no_other_from_looking(start_server: StartServer, tmp_path: Path) -> None:
    """More of them than there are threads: each kind has threads of its own."""
    async with connected(start_server("waits")) as client:
        hanging = [watch(f"hangs {n}", "HangsInThread", n=n) for n in range(50)]
        watcher = Watcher(
            client,
            *hanging,
            watch("awaits", "HangsAwaiting"),
            watch("beside", FILE, pattern=str(tmp_path / "a")),
        )
        (tmp_path / "a").touch()
        await watcher.until("beside")
    assert (watcher.broken, watcher.lost) == ({}, [])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Blocks", "it blocked the event loop of all triggers"),
        # Half a minute of silence is what gives it away.
        pytest.param("HoldsTheLock", "it held the process of all triggers", marks=pytest.mark.prove),
        ("Exits", "the process of all triggers exited with code 3 while this one ran"),
        ("ExitsInThread", "the process of all triggers exited with code 3 while this one was in a call to a thread"),
    ],
)
async def test_one_that_holds_or_ends_the_process_is_known_by_name(
    start_server: StartServer, tmp_path: Path, kind: str, told: str
) -> None:
    async with connected(start_server("waits")) as client:
        watcher = Watcher(
            client,
            watch("before", FILE, pattern=str(tmp_path / "a")),
            watch("bad", kind),
            watch("after", FILE, pattern=str(tmp_path / "a")),
        )
        await watcher.until("bad")
        assert told in watcher.broken["bad"]
        (tmp_path / "a").touch()
        await watcher.until("before", "after")
    assert watcher.fired.keys() == {"before", "after"}


async def test_of_several_in_threads_the_one_that_ends_the_process_is_found(
    start_server: StartServer, tmp_path: Path
) -> None:
    """The first end leaves three candidates; then their calls begin one after the other, and the next end names the one."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    async with connected(start_server("waits")) as client:
        waits = [
            watch(name, "Meets", folder=str(meeting), name=name, others=3, exits=name == "bad")
            for name in ("one", "bad", "two")
        ]
        watcher = Watcher(client, *waits)
        await watcher.until("bad")
    assert watcher.broken.keys() == {"bad"}
    assert "by one of the waits" in watcher.lost[0]
    assert all(name in watcher.lost[0] for name in ("one", "bad", "two"))


async def test_a_stream_that_the_server_ends_leaves_no_task_behind(start_server: StartServer) -> None:
    """A triggerer opens a stream for each version and host, for as long as it lives."""

    async def commands() -> AsyncIterator[list[pb.TriggerCommand]]:
        yield []
        await asyncio.Event().wait()

    async with connected(start_server("waits")) as client:
        before = asyncio.all_tasks()
        with pytest.raises(VersionNotLoaded):
            async for _ in client.run_triggers("none", commands()):
                pass
        left = asyncio.all_tasks() - before
        if left:
            _, left = await asyncio.wait(left, timeout=30)
        assert not left
