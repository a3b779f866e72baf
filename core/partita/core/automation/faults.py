"""What cannot be decided is set aside: alone, with its reason, for a time that doubles (law 5). So is what a person paused.

The events that touch it wait in the line until then; everything else goes on. A location that loads again, and a resume, make it
due at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.core.automation.values import Subject, Undecidable
from partita.core.decide.faults import after_fault
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId
from partita.core.store.values_actions import EVERYTHING
from partita.core.store.values_requests import Fault, FaultKind

_PAUSED_S = 3_600.0  # a resume makes it due at once; this is only the floor

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SetAside:
    """The faults as a visit finds them: those still set aside, with the instant until which, and those to be tried now; and
    what is paused, with when to look whether it still is."""

    until: Mapping[Subject, datetime]
    due: frozenset[Subject]
    paused: frozenset[AssetId]
    again: datetime

    def of(self, subjects: Collection[Subject]) -> datetime | None:
        """Until when the last of these is set aside; None when none is."""
        return max((self.until[one] for one in subjects if one in self.until), default=None)

    def of_consumer(self, subject: Subject) -> datetime | None:
        """As `of`, for one that would be asked for: it is set aside while it is paused, too."""
        held = EVERYTHING in self.paused or subject[1] in self.paused
        return max(filter(None, (self.of([subject]), self.again if held else None)), default=None)


def read_set_aside(tx: Tx, kind: FaultKind) -> SetAside:
    """The faults of one kind, and the pauses; two statements."""
    now = tx.now()
    found = [one for one in tx.faults() if one.kind is kind]
    return SetAside(
        {(one.kind, one.id): one.next_at for one in found if one.next_at > now},
        frozenset((one.kind, one.id) for one in found if one.next_at <= now),
        frozenset(tx.pauses()),
        now + timedelta(seconds=_PAUSED_S),
    )


def set_aside(store: Store, error: Undecidable) -> None:
    """Records the fault of all its subjects, in a transaction of its own."""
    written = store.run(lambda tx: _record(tx, error))
    for fault in written:
        log.warning(
            "automation cannot decide about %s %d (try %d, again at %s): %s",
            fault.kind.value, fault.id, fault.tries, fault.next_at.isoformat(timespec="seconds"), fault.error,
        )  # fmt: skip


def _record(tx: Tx, error: Undecidable) -> Sequence[Fault]:
    known = {(one.kind, one.id): one for one in tx.faults()}
    faults = [after_fault(known.get(subject), subject, error.why, tx.now()) for subject in error.subjects]
    tx.write_faults(faults)
    return faults
