"""When a process stops: SIGTERM and SIGINT stop it in order, a second one ends it at once, and so may the end of its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

STOP_WITH_PARENT = "PARTITA_STOP_WITH_PARENT"
"""Set for processes that must not outlive the one which started them (the demo, tests, benches): to its process id, or to 1
when that is whoever is the parent by the time the process has come up."""

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
    parent = parent_to_stop_with()
    if parent is not None:
        _watch_parent(loop, event, parent)
    return event


def parent_to_stop_with() -> int | None:
    """The process with which this one has to end, by what its starter asked for; None: it may outlive everybody."""
    asked = os.environ.get(STOP_WITH_PARENT, "")
    if not asked:
        return None
    # A parent that died while this process was coming up is not the parent any more: then only its id tells.
    return int(asked) if asked.isdecimal() and int(asked) > 1 else os.getppid()


def _watch_parent(loop: asyncio.AbstractEventLoop, event: asyncio.Event, parent: int) -> None:
    """Stops when the process that started this one is gone: nobody else would."""
    if os.getppid() != parent:
        event.set()
    elif not event.is_set():
        loop.call_later(_PARENT_S, _watch_parent, loop, event, parent)
