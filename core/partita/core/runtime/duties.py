"""The loop that runs duties: each on its period, at once when woken, never two of one thread at a time.

A duty that raises is logged and tried again after a pause; it never ends the loop, and other duties of the loop go on. What the
database cannot answer now is only waited for; after any other error the pause doubles, up to a minute, for a bug does not go
away by asking again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from partita.core.store.port import Busy, Unavailable

log = logging.getLogger(__name__)

_PAUSE_AFTER_ERROR_S = 1.0
_LONGEST_PAUSE_S = 60.0


@dataclass(slots=True)
class Duty:
    """`run` returns True when more is waiting: it is called again after the other due duties had their turn.

    Woken again within `gap_s` of its last end, it waits for the rest of the gap: what comes meanwhile is done together.
    """

    name: str
    run: Callable[[], bool]
    every_s: float
    channels: tuple[str, ...] = ()
    gap_s: float = 0.0
    due_at: float = 0.0
    woken: bool = False
    failures: int = 0
    ended_at: float = float("-inf")


class Subscribable(Protocol):
    """What a loop needs of `WakeHub`."""

    def subscribe(self, channels: Iterable[str], callback: Callable[[], None], /) -> None: ...


class DutyLoop:
    """Runs its duties in one thread. `last_ms` holds how long each took, by name, `failing` how often in a row those fail that
    do, and with what error (the System page shows both).

    `clock` gives seconds that never go back. Without `start` nothing runs by itself: `turn` is the step of the thread.
    """

    def __init__(
        self, name: str, duties: Iterable[Duty], hub: Subscribable, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._duties = list(duties)
        self._clock = clock
        self.last_ms: dict[str, float] = {}
        self.failing: dict[str, tuple[int, str]] = {}
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
                duty.due_at = min(duty.due_at, duty.ended_at + duty.gap_s)
            if duty.due_at <= self._clock():
                self._perform(duty)
        return min(duty.due_at for duty in self._duties) - self._clock()

    def _run(self) -> None:
        while not self._stopping:
            self._event.clear()
            pause = self.turn()
            if pause > 0 and not self._stopping:
                self._event.wait(pause)

    def _perform(self, duty: Duty) -> None:
        duty.woken = False
        started = self._clock()
        try:
            more = duty.run()
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
        self.last_ms[duty.name] = (duty.ended_at - started) * 1000
        duty.due_at = duty.ended_at if more else duty.ended_at + duty.every_s

    def _failed(self, duty: Duty, why: str, error: Exception, pause_s: float) -> None:
        duty.failures += 1
        first_line = str(error).partition("\n")[0] or type(error).__name__
        self.failing = {**self.failing, duty.name: (duty.failures, f"{why}: {first_line}")}
        if duty.failures in {1, 10} or duty.failures % 60 == 0:
            log.warning("duty %s (try %d): %s: %s", duty.name, duty.failures, why, first_line)
        duty.due_at = self._clock() + pause_s
