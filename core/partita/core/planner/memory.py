"""The in-memory twin of the cell readers: the same answers from plain dictionaries, for tests and dry runs.

Holds rows as `cell` does and knows nothing of pages; an integration test holds its plans equal to those read from Postgres.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from partita.core.catalog import StepKey
from partita.core.cells.pages import block_of
from partita.core.cells.values import CellBlock, CellDetail, CellRow, OpenCell
from partita.core.planner.estimate import Durations
from partita.core.planner.plan import PoolLoad
from partita.core.store.values import AssetId, CellRef, TaskId, TaskState


@dataclass(slots=True)
class MemoryCells:
    """Implements `CellsReader` and `PlanReader`. `at` is the instant that writes are stamped with."""

    at: datetime = datetime(2020, 1, 1, tzinfo=UTC)
    rows: dict[CellRef, CellRow] = field(default_factory=dict)
    opened: dict[CellRef, OpenCell] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    pool_loads: dict[str, PoolLoad] = field(default_factory=dict)
    slots: int = 0
    queues: tuple[str, ...] = ()
    history: dict[StepKey, Durations] = field(default_factory=dict)
    moved: dict[CellRef, datetime] = field(default_factory=dict)
    published: dict[CellRef, datetime] = field(default_factory=dict)
    unmade: dict[int, list[CellRef]] = field(default_factory=dict)

    def unmade_of_backfill(self, backfill_id: int) -> list[CellRef]:
        """What was put there."""
        return self.unmade.get(backfill_id, [])

    def publish(
        self, cell: CellRef, data_version: str, *, fingerprint: str = "", dependency_hash: str = "", digest: int = 0
    ) -> None:
        """A successful attempt."""
        before = self.rows.get(cell)
        if before is None or before.data_version != data_version:
            self.moved[cell] = self.at
        self.published[cell] = self.at
        self.rows[cell] = CellRow(
            cell.partition,
            data_version,
            self._id(fingerprint),
            self._id(dependency_hash),
            digest,
            "unchanged" if before is not None and before.data_version == data_version else "published",
        )

    def note(self, cell: CellRef, outcome: str) -> None:
        """An attempt that published nothing."""
        before = self.rows.get(cell) or CellRow(cell.partition, None, None, None, None, None)
        self.rows[cell] = before._replace(last_outcome=outcome)

    def open(self, cells: Iterable[CellRef], state: TaskState = TaskState.SCHEDULED, task_id: int = 1) -> None:
        """A task that owns these cells."""
        self.opened.update((cell, OpenCell(TaskId(task_id), state)) for cell in cells)

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        found: dict[AssetId, list[CellRow]] = {}
        for cell, row in self.rows.items():
            if cell.asset_id in assets:
                found.setdefault(cell.asset_id, []).append(row)
        return {asset_id: [block_of(rows)] for asset_id, rows in found.items()}

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        found: dict[AssetId, dict[str, OpenCell]] = {}
        for cell, owner in self.opened.items():
            if cell.asset_id in assets:
                found.setdefault(cell.asset_id, {})[cell.partition] = owner
        return found

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        return {text: self.texts[text] for text in texts if text in self.texts}

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        return {cell: self._detail(cell, self.rows[cell]) for cell in cells if cell in self.rows}

    def pools(self, names: Collection[str]) -> Mapping[str, PoolLoad]:
        return {name: load for name, load in self.pool_loads.items() if name in names}

    def served_queues(self) -> Collection[str]:
        return self.queues

    def capacity(self) -> int:
        return self.slots

    def durations(self, steps: Collection[StepKey]) -> Mapping[StepKey, Durations]:
        return {step: known for step, known in self.history.items() if step in steps}

    def _id(self, text: str) -> int | None:
        return self.texts.setdefault(text, len(self.texts) + 1) if text else None

    def _detail(self, cell: CellRef, row: CellRow) -> CellDetail:
        return CellDetail(
            cell=cell,
            data_version=row.data_version,
            location=None,
            metadata=None,
            published_at=self.published.get(cell),
            version_at=self.moved.get(cell),
            published_attempt=None,
            published_run=None,
            attempt_started_at=self.published.get(cell),
            last_outcome=row.last_outcome,
            last_attempt=None,
            last_attempt_at=self.published.get(cell),
            last_error=None,
        )
