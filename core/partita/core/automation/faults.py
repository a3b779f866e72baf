"""What cannot be decided is set aside: alone, with its reason, for a time that doubles (law 5).

The events that touch it wait in the line until then; everything else goes on. A location that loads again makes it due at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.core.automation.values import Subject, Undecidable
from partita.core.decide.faults import after_fault
from partita.core.store.port import Store, Tx
from partita.core.store.values_requests import Fault, FaultKind

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SetAside:
    """The faults as a visit finds them: those still set aside, with the instant until which, and those to be tried now."""

    until: Mapping[Subject, datetime]
    due: frozenset[Subject]

    def of(self, subjects: Collection[Subject]) -> datetime | None:
        """Until when the last of these is set aside; None when none is."""
        return max((self.until[one] for one in subjects if one in self.until), default=None)


def read_set_aside(tx: Tx, kind: FaultKind) -> SetAside:
    """The faults of one kind; one statement."""
    now = tx.now()
    found = [one for one in tx.faults() if one.kind is kind]
    return SetAside(
        {(one.kind, one.id): one.next_at for one in found if one.next_at > now},
        frozenset((one.kind, one.id) for one in found if one.next_at <= now),
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
