"""The loop that runs duties: each on its period, at once when woken, never two of one thread at a time.

A duty that raises is logged and tried again after a pause; it never ends the loop, and other duties of the loop go on. What the
database cannot answer now is only waited for; after any other error the pause doubles, up to a minute, for a bug does not go
away by asking again.

A loop that finds its work held by another scheduler stands back from what they share, longer each time: the other hears the same
wake-ups, and where both take what comes, each takes half as much in as many visits. It comes forward again when it met nobody for
a while, which is what it notices when the other dies.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from partita.core.store.port import Busy, Unavailable

log = logging.getLogger(__name__)

_PAUSE_AFTER_ERROR_S = 1.0
_LONGEST_PAUSE_S = 60.0
_STAND_BACK_S = 0.1
_LONGEST_STAND_BACK_S = 0.8  # under the second after which `look` makes up for a wake-up that was lost
_MET_NOBODY = 3  # visits in a row that were not held, after which a loop comes forward by half


class Next(IntEnum):
    """When a duty wants to run again; False and True stand for the first two."""

    LATER = 0  # on its period, or when it is woken
    NOW = 1  # more is waiting: after the other due duties had their turn
    HELD = 2  # another scheduler is at it


class Ran(NamedTuple):
    """How a run of a duty ended: when it wants to run again, and how many rows (tasks, events, keys) it handled."""

    next: Next | bool
    rows: int = 0


@dataclass(slots=True)
class Done:
    """What a duty has cost and met since its process started."""

    runs: int = 0
    rows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    held: int = 0
    failures: int = 0


@dataclass(slots=True)
class Duty:
    """Woken again within `gap_s` of its last end, it waits for the rest of the gap: what comes meanwhile is done together. One
    that is `shared` is what other schedulers do as well: the loop stands back from it while they are at it."""

    name: str
    run: Callable[[], Ran | bool]
    every_s: float
    channels: tuple[str, ...] = ()
    gap_s: float = 0.0
    due_at: float = 0.0
    woken: bool = False
    failures: int = 0
    ended_at: float = float("-inf")
    shared: bool = False


class Subscribable(Protocol):
    """What a loop needs of `WakeHub`."""

    def subscribe(self, channels: Iterable[str], callback: Callable[[], None], /) -> None: ...


class DutyLoop:
    """Runs its duties in one thread. `last_ms` holds how long each took, by name, `failing` how often in a row those fail that
    do, and with what error (the System page shows both); `done` counts what each has cost (the metrics show it).

    `clock` gives seconds that never go back. Without `start` nothing runs by itself: `turn` is the step of the thread.
    """

    def __init__(
        self, name: str, duties: Iterable[Duty], hub: Subscribable, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._duties = list(duties)
        self._clock = clock
        self.last_ms: dict[str, float] = {}
        self.failing: dict[str, tuple[int, str]] = {}
        self.done = {duty.name: Done() for duty in self._duties}
        self._back_s = 0.0
        self._met_nobody = 0
        self._event = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        for duty in self._duties:
            hub.subscribe(duty.channels, self._waker(duty))

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """Lets the duty that runs finish its transaction."""
        self._stopping = True
        self._event.set()
        self._thread.join(timeout_s)

    def _waker(self, duty: Duty) -> Callable[[], None]:
        def wake() -> None:
            duty.woken = True
            self._event.set()

        return wake

    def turn(self) -> float:
        """Runs each duty that is due, once; returns the seconds until the next is (none or less: at once)."""
        for duty in self._duties:
            if self._stopping:
                break
            if duty.woken and not duty.failures:
                gap_s = max(duty.gap_s, self._back_s if duty.shared else 0.0)
                duty.due_at = min(duty.due_at, duty.ended_at + gap_s)
            if duty.due_at <= self._clock():
                self._perform(duty)
        return min((duty.due_at for duty in self._duties), default=self._clock() + _LONGEST_PAUSE_S) - self._clock()

    def _run(self) -> None:
        while not self._stopping:
            self._event.clear()
            pause = self.turn()
            if pause > 0 and not self._stopping:
                self._event.wait(pause)

    def _perform(self, duty: Duty) -> None:
        duty.woken = False
        started, cpu = self._clock(), time.thread_time()
        try:
            ended = duty.run()
            ran = Ran(ended) if isinstance(ended, bool) else ended
            after = Next(ran.next)
        except (Busy, Unavailable) as error:
            self._failed(duty, "the database does not answer", error, _PAUSE_AFTER_ERROR_S)
            return
        except Exception as error:  # a duty must not take the others with it
            log.exception("duty %s failed", duty.name)
            pause_s = min(_LONGEST_PAUSE_S, _PAUSE_AFTER_ERROR_S * 2 ** min(duty.failures, 10))
            self._failed(duty, "it will be tried again", error, pause_s)
            return
        duty.failures = 0
        self.failing.pop(duty.name, None)
        duty.ended_at = self._clock()
        took_s = duty.ended_at - started
        self.last_ms[duty.name] = took_s * 1000
        done = self.done[duty.name]
        done.runs += 1
        done.rows += ran.rows
        done.seconds += took_s
        done.cpu_seconds += time.thread_time() - cpu
        done.held += after is Next.HELD
        if duty.shared:
            self._stand_back(held=after is Next.HELD)
        duty.due_at = duty.ended_at + {Next.LATER: duty.every_s, Next.NOW: 0.0, Next.HELD: self._back_s}[after]

    def _stand_back(self, *, held: bool) -> None:
        self._met_nobody = 0 if held else self._met_nobody + 1
        if held:
            self._back_s = min(_LONGEST_STAND_BACK_S, max(_STAND_BACK_S, 2 * self._back_s))
        elif self._met_nobody >= _MET_NOBODY:
            self._met_nobody = 0
            self._back_s = self._back_s / 2 if self._back_s > _STAND_BACK_S else 0.0

    def _failed(self, duty: Duty, why: str, error: Exception, pause_s: float) -> None:
        duty.failures += 1
        self.done[duty.name].failures += 1
        first_line = str(error).partition("\n")[0].removeprefix(f"{why}: ") or type(error).__name__
        self.failing = {**self.failing, duty.name: (duty.failures, f"{why}: {first_line}")}
        if duty.failures in {1, 10} or duty.failures % 60 == 0:
            log.warning("duty %s (try %d): %s: %s", duty.name, duty.failures, why, first_line)
        duty.due_at = self._clock() + pause_s
