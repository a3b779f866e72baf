"""The duties that coordinate: what each does, how often, and which wake-ups it heeds. Owns no thread and no clock.

The scheduler runs them in a thread of its own, the simulation on virtual time. Wake-ups may be lost, and some things become
due by time alone: `look` asks once a second for all duties, in one statement, and wakes those that have something to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from partita.core.duties.admit import admit
from partita.core.duties.dynamic import expire_keys
from partita.core.duties.explain import explain
from partita.core.duties.leases import pulse, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Channel
from partita.core.runtime.duties import Duty
from partita.core.store.port import Store
from partita.core.store.queries.pending_read import Pending

LOOK_S = 1.0
FLOOR_S = 20.0  # a duty that nobody wakes still has its look
CHANGES = "changes"  # wakes inside the process only, as the four below: what `look` found
_RETRIES, _LAPSED, _QUEUED_FOR_LONG, _EXPIRED = "retries", "lapsed", "queued_for_long", "expired"


class Outcome(Protocol):
    """What a duty reports: whom to wake, and whether it is worth calling again."""

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def more(self) -> bool: ...


class Waker(Protocol):
    """What the duties need of `WakeHub`."""

    def wake(self, channels: Iterable[str], /) -> None: ...

    def wake_here(self, channels: Iterable[str], /) -> None: ...


class PendingReader(Protocol):
    def pending(self) -> Pending: ...


class LookedAt(Store, Protocol):
    """A store that also says in one statement whether anything waits."""

    def read(self) -> AbstractContextManager[PendingReader]: ...


class Coordination:
    """Builds the duties over one store; what they report wakes through `hub`."""

    def __init__(self, store: LookedAt, hub: Waker) -> None:
        self._store = store
        self._hub = hub

    def duties(self) -> list[Duty]:
        store = self._store
        return [
            Duty("look", self._look, LOOK_S),
            Duty("admit", lambda: self.told(admit(store)), FLOOR_S, (Channel.SCHEDULED,)),
            Duty("wake_retries", lambda: self.told(wake_retries(store)), FLOOR_S, (_RETRIES,)),
            Duty("fold_tallies", lambda: self.told(fold_tallies(store)), FLOOR_S, (Channel.EVENT,), gap_s=0.2),
            Duty("expire_keys", lambda: self.told(expire_keys(store)), FLOOR_S, (_EXPIRED,)),
            Duty("pulse", self._pulse, 1.0),
            Duty("sweep", lambda: self.told(sweep(store)), FLOOR_S, (_LAPSED,)),
            Duty("explain", self._explain, FLOOR_S, (_QUEUED_FOR_LONG,), gap_s=2.0),
        ]

    def told(self, outcome: Outcome) -> bool:
        """Wakes whom the outcome is news for; whether the duty is worth calling again."""
        self._hub.wake(outcome.channels)
        return outcome.more

    def _look(self) -> bool:
        with self._store.read() as reader:
            pending = reader.pending()
        found = (
            (pending.scheduled, Channel.SCHEDULED),
            (pending.due_retries, _RETRIES),
            (pending.tallies, Channel.EVENT),
            (pending.automation or pending.replans or pending.rebuilds, Channel.TODO),
            (pending.cell_changes, CHANGES),
            (pending.queued, _QUEUED_FOR_LONG),
            (pending.lapsed, _LAPSED),
            (pending.expired_keys, _EXPIRED),
        )
        self._hub.wake_here(channel for waits, channel in found if waits)
        return False

    def _pulse(self) -> bool:
        pulse(self._store)
        return False

    def _explain(self) -> bool:
        self._hub.wake(explain(self._store).channels)
        return False
