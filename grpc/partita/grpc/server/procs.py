"""What the operating system says about processes: parents, children, threads, groups, exits.

Owns every Linux speciality (`prctl`, `/proc`) and its absence elsewhere. Refuses to decide anything. Imports neither
gRPC nor asyncio: the zygote imports this module.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

LINUX = sys.platform == "linux"

# Loaded before any fork: a child does nothing but call it.
_LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


def die_with_parent(parent_pid: int, signal_number: int = signal.SIGKILL) -> None:
    """Have the kernel send `signal_number` to this process when its parent dies. Exits if `parent_pid` is gone already.

    Only Linux can promise this; elsewhere the closed socket has to tell.
    """
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
    if os.getppid() != parent_pid:  # it died before the call above took effect
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent died, so that it can find and end them."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Pids of the direct children of this process, zombies included; empty where the kernel does not tell."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                found.update(map(int, (task / "children").read_text().split()))
    return found


def thread_count() -> int:
    """Threads of this process, those of C libraries included. Where the kernel does not tell: Python's own."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def signal_group(pid: int, signal_number: int) -> bool:
    """Signal the process group led by `pid`, or `pid` itself when it leads none yet. False when nothing is there."""
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, signal_number)
            return True
    return False


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `signal 70` when Python has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def describe_exit(exit_code: int) -> str:
    """Say how a process ended, from its exit code; negative: the number of the signal that killed it."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    hint = " (out of memory, or someone's kill -9)" if -exit_code == signal.SIGKILL else ""
    return f"was killed by {signal_name(-exit_code)}{hint}"
