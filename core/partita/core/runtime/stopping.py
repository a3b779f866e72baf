"""When a process stops: SIGTERM and SIGINT stop it in order, a second one ends it at once, and so may the end of its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

STOP_WITH_PARENT = "PARTITA_STOP_WITH_PARENT"
"""Set for processes that must not outlive the one which started them (the demo, tests, benches)."""

_PARENT_S = 1.0


def stop_event() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process at once."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if event.is_set():
            sys.stderr.write("stopped at once: what ran here is given back when its lease ends\n")
            os._exit(130)
        event.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    if os.environ.get(STOP_WITH_PARENT):
        _watch_parent(loop, event, os.getppid())
    return event


def _watch_parent(loop: asyncio.AbstractEventLoop, event: asyncio.Event, parent: int) -> None:
    """Stops when the process that started this one is gone: nobody else would."""
    if os.getppid() != parent:
        event.set()
    elif not event.is_set():
        loop.call_later(_PARENT_S, _watch_parent, loop, event, parent)
