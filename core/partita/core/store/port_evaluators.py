"""A part of the store port: observers, schedules and sensors, who evaluates them, and what they asked for.

An evaluator is locked before cells and tasks. Who evaluates one changes under its own lock; `token` is the fence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.assets.condition_specs import CatchUp
    from partita.core.store.values_definitions import QueuedPin
    from partita.core.store.values_evaluators import (
        Asked,
        AskedUpdate,
        EvaluationEnd,
        Evaluator,
        EvaluatorId,
        EvaluatorRow,
        EvaluatorUpdate,
        NewAsked,
        News,
    )
    from partita.core.store.values_ids import AssetId, LocationId, SnapshotId
    from partita.core.store.values_waits import TriggererId


class EvaluatorsTx(Protocol):
    """Operations of `Tx` on evaluated functions."""

    def lock_evaluators_of(self, location_id: LocationId) -> list[Evaluator]:
        """All of a location, retired ones too, by id. Waits."""

    def put_evaluators(self, location_id: LocationId, rows: Sequence[EvaluatorRow]) -> None:
        """By name: makes those that are new, at their position; of the others everything that a version says, and nothing else.
        One that is not retired any more goes on where it was."""

    def due_evaluator_pins(self) -> list[QueuedPin]:
        """The versions of evaluators that are due and that nobody evaluates; `tasks` counts them. No lock."""

    def claim_evaluators_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, *, failing: bool
    ) -> list[Evaluator]:
        """Takes up to `limit` of these versions that are due and that nobody evaluates, those that have been due the longest
        first; each with its next token. `failing`: those whose last evaluation failed, or only the others."""

    def drop_evaluators(self, triggerer_id: TriggererId, running: Collection[EvaluatorId]) -> int:
        """Frees what it evaluates but for these; returns how many."""

    def release_evaluators(self, triggerers: Sequence[TriggererId]) -> int:
        """These are gone: what they evaluated is free. Returns how many."""

    def lock_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        """Waits."""

    def write_evaluator(self, update: EvaluatorUpdate) -> None:
        """Of one that this transaction locked."""

    def pause_evaluator(self, evaluator_id: EvaluatorId, by: str | None) -> None:
        """Nobody evaluates it until it is resumed (`by` None). What runs ends and counts."""

    def catch_up_evaluator(self, evaluator_id: EvaluatorId, catch_up: CatchUp | None, pace: int | None) -> None:
        """Which of the ticks that passed count, and how many of its runs may be active meanwhile. None: it has caught up."""

    def active_of_evaluator(self, evaluator_id: EvaluatorId) -> int:
        """The runs under way that it asked for, and its requests that are still to be planned. No lock."""

    def end_evaluation(self, end: EvaluationEnd, *, kept: int) -> None:
        """Notes how the last evaluation ended; unless it came to nothing also in the history, of which those of the last `kept`
        tokens stay, with their requests; requests with a key stay for good. Violation when its tick was evaluated well before."""

    def read_evaluator(self, evaluator_id: EvaluatorId) -> Evaluator | None:
        """No lock."""

    def read_news(
        self,
        position: str | None,
        kinds: Collection[str],
        assets: Collection[AssetId],
        limit: int,
        *,
        steps: Collection[str] = (),
        states: Collection[str] = (),
    ) -> tuple[list[News], str]:
        """Events of these kinds that are final and came after a position (None: only those that come from now on), in the order
        in which they became final, and the position after them. Those that name an asset are of these assets; those of tasks are
        moves of tasks of these steps to these states."""

    # -- what they asked for
    def insert_asked(self, asked: Sequence[NewAsked]) -> int:
        """Those whose key is new, or that have none; returns how many."""

    def take_asked_skip(self, limit: int) -> list[Asked]:
        """Locks those that are open and due, the longest due first."""

    def end_asked(self, updates: Sequence[AskedUpdate]) -> None:
        """Of those that this transaction took."""
