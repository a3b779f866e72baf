"""A part of the store port: what attempts that added keys owe their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values import RunId
    from partita.core.store.values_fan_out import FanOut


class FanOutTx(Protocol):
    """Operations of `Tx` on fan-outs. Locked before runs."""

    def put_fan_out(self, owed: FanOut) -> None:
        """At most one of a task: a later one replaces it."""

    def take_fan_out_skip(self) -> FanOut | None:
        """Deletes and returns the first, by task, of those that are not planned yet or whose gate has ended."""

    def grow_run(self, run_id: RunId, tasks: int, keys_revision: int) -> None:
        """The run has so many more tasks, and sees the keys of this revision. The caller holds it locked."""
