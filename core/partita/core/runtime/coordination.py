"""The duties that coordinate: what each does, how often, and which wake-ups it heeds. Owns no thread and no clock.

The scheduler runs them in a thread of its own, the simulation on virtual time. Wake-ups may be lost, and some things become
due by time alone: `look` asks once a second for all duties, in one statement, and wakes those that have something to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.deadlines import judge_deadlines
from partita.core.duties.dynamic import expire_keys
from partita.core.duties.explain import explain
from partita.core.duties.leases import pulse, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.run_timeouts import time_out_runs
from partita.core.duties.runs import continue_cancels, fold_tallies
from partita.core.duties.stranded import give_up_versions
from partita.core.duties.values import LEASE_S
from partita.core.duties.waits import expire_waits, meet_waits, sweep_triggerers
from partita.core.runtime.duties import Duty, Next, Ran
from partita.core.store.port import Store
from partita.core.store.queries.pending_read import Pending

LOOK_S = 1.0
FLOOR_S = 20.0  # a duty that nobody wakes still has its look
CHANGES = "changes"  # wakes inside the process only, as those below: what `look` found
CLOCKS, SIGNALS, NOTICES, FRESHNESS, ASKED = "clocks", "signals", "notices", "freshness", "asked"
_RETRIES, _LAPSED, _QUEUED_FOR_LONG, _EXPIRED, _DUE = "retries", "lapsed", "queued_for_long", "expired", "due"
_OVERDUE, _STRANDED = "overdue", "stranded"
_CANCELLING = "cancelling"
_LATE_WAITS, _CELL_WAITS, _SILENT = "late_waits", "cell_waits", "silent_triggerers"


class Outcome(Protocol):
    """What a duty reports: whom to wake, and whether it is worth calling again."""

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def more(self) -> bool: ...

    @property
    def rows(self) -> int:
        """How many rows it handled, for the metrics."""


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
    """Builds the duties over one store; what they report wakes through `hub`. Tasks whose version is gone wait
    `version_grace_s` for it; no lease is longer than `longest_lease_s`."""

    def __init__(
        self, store: LookedAt, hub: Waker, *, version_grace_s: float, longest_lease_s: float = LEASE_S
    ) -> None:
        self._store = store
        self._longest_lease_s = longest_lease_s
        self._version_grace_s = version_grace_s
        self._hub = hub

    def duties(self) -> list[Duty]:
        store = self._store
        return [
            Duty("look", self._look, LOOK_S),
            Duty("admit", self._admit, FLOOR_S, (Channel.SCHEDULED,), shared=True),
            Duty("cancel", lambda: self.told(continue_cancels(store)), FLOOR_S, (_CANCELLING,)),
            Duty("wake_retries", lambda: self.told(wake_retries(store)), FLOOR_S, (_RETRIES,)),
            Duty("fold_tallies", self._fold_tallies, FLOOR_S, (Channel.EVENT,), gap_s=0.2, shared=True),
            Duty("expire_keys", lambda: self.told(expire_keys(store)), FLOOR_S, (_EXPIRED,)),
            Duty("deadlines", lambda: self.told(judge_deadlines(store)), FLOOR_S, (_DUE,)),
            Duty("run_timeouts", lambda: self.told(time_out_runs(store)), FLOOR_S, (_OVERDUE,)),
            Duty("versions", self._give_up_versions, FLOOR_S, (_STRANDED,), gap_s=2.0),
            Duty("expire_waits", lambda: self.told(expire_waits(store)), FLOOR_S, (_LATE_WAITS,)),
            Duty("meet_waits", lambda: self.told(meet_waits(store)), FLOOR_S, (_CELL_WAITS,)),
            Duty("sweep_triggerers", self._sweep_triggerers, FLOOR_S, (_SILENT,)),
            Duty("pulse", self._pulse, 1.0),
            Duty("sweep", self._sweep, FLOOR_S, (_LAPSED,)),
            Duty("explain", self._explain, FLOOR_S, (_QUEUED_FOR_LONG,), gap_s=2.0),
        ]

    def told(self, outcome: Outcome) -> Ran:
        """Wakes whom the outcome is news for."""
        self._hub.wake(outcome.channels)
        return Ran(outcome.more, outcome.rows)

    def _admit(self) -> Ran:
        admitted = admit(self._store)
        ran = self.told(admitted)
        return Ran(Next.HELD) if admitted.held else ran

    def _fold_tallies(self) -> Ran:
        folded = fold_tallies(self._store)
        ran = self.told(folded)
        return Ran(Next.HELD) if folded.held else ran

    def _look(self) -> bool:
        with self._store.read() as reader:
            pending = reader.pending()
        found = (
            (pending.scheduled, Channel.SCHEDULED),
            (pending.due_retries, _RETRIES),
            (pending.tallies, Channel.EVENT),
            (pending.automation or pending.replans or pending.rebuilds, Channel.TODO),
            (pending.cell_changes, CHANGES),
            (pending.queued or pending.unwatched, _QUEUED_FOR_LONG),
            (pending.lapsed, _LAPSED),
            (pending.cancelling, _CANCELLING),
            (pending.expired_keys, _EXPIRED),
            (pending.due_deadlines, _DUE),
            (pending.overdue_runs, _OVERDUE),
            (pending.stranded, _STRANDED),
            (pending.clocks, CLOCKS),
            (pending.signals, SIGNALS),
            (pending.notices, NOTICES),
            (pending.freshness, FRESHNESS),
            (pending.overdue_waits, _LATE_WAITS),
            (pending.cell_waits, _CELL_WAITS),
            (pending.lapsed_triggerers, _SILENT),
            (pending.asked, ASKED),
        )
        self._hub.wake_here(channel for waits, channel in found if waits)
        return False

    def _give_up_versions(self) -> Ran:
        return self.told(give_up_versions(self._store, grace_s=self._version_grace_s))

    def _pulse(self) -> bool:
        pulse(self._store, longest_lease_s=self._longest_lease_s)
        return False

    def _sweep(self) -> Ran:
        return self.told(sweep(self._store, longest_lease_s=self._longest_lease_s))

    def _sweep_triggerers(self) -> Ran:
        return self.told(sweep_triggerers(self._store, longest_lease_s=self._longest_lease_s))

    def _explain(self) -> Ran:
        explained = explain(self._store)
        self._hub.wake(explained.channels)
        return Ran(False, explained.changed)
