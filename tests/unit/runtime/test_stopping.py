"""When a process stops with the one that started it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from partita.core.runtime.stopping import STOP_WITH_PARENT, stop_event


async def _stops_at_once() -> bool:
    return stop_event().is_set()


def test_a_parent_that_died_while_the_process_came_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then somebody else is the parent, whose end would never come."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setenv(STOP_WITH_PARENT, str(gone.pid))
    assert asyncio.run(_stops_at_once())


@pytest.mark.parametrize("said", ["", "1", str(os.getppid())])
def test_a_parent_that_lives_stops_nothing(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(STOP_WITH_PARENT, said)
    assert not asyncio.run(_stops_at_once())
