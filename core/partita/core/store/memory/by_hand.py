"""Cells changed by hand, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from partita.core.store.encode import as_stored, clean_text, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.launch import CELL_FACTS
from partita.core.store.memory.tables import Row
from partita.core.store.values_actions import AuditId, HandPublication, KeptCell
from partita.core.store.values_ids import CellRef, Fence

_NOTHING: Row = dict.fromkeys(CELL_FACTS)


class ByHandPart(MemoryPart):
    def ensure_cells(self, cells: Mapping[CellRef, tuple[datetime, datetime] | None]) -> None:
        for cell, window in sorted(cells.items(), key=lambda item: item[0]):
            if (cell.asset_id, cell.partition) not in self._db.cell:
                start, end = window or (None, None)
                key = {"asset_id": cell.asset_id, "partition": cell.partition}
                self._db.cell.put({**key, "window_start": start, "window_end": end, "fence": 0, **_NOTHING})

    def keep_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> None:
        distinct(cells, "keep_cells")
        for cell in sorted(cells):
            row = self._db.cell.get((cell.asset_id, cell.partition))
            if row is None:
                continue
            key = {"audit_id": audit_id, "asset_id": cell.asset_id, "partition": cell.partition}
            if tuple(key.values()) in self._db.kept_cell:
                raise self._violation(f"what {cell} held is kept for entry {audit_id} already")
            self._db.kept_cell.put({**key, "fence": fence, **{name: row[name] for name in CELL_FACTS}})

    def publish_by_hand(self, publications: Sequence[HandPublication], fence: Fence) -> None:
        distinct((one.cell for one in publications), "publish_by_hand")
        ids = self.intern(text for one in publications for text in (one.fingerprint, one.dependency_hash))
        for one in sorted(publications, key=lambda one: one.cell):
            self._change(
                one.cell,
                _NOTHING
                | {
                    "fence": fence,
                    "data_version": clean_text(one.data_version),
                    "fingerprint_id": ids[one.fingerprint],
                    "dependency_hash_id": ids[one.dependency_hash],
                    "consumed_digest": one.consumed_digest,
                    "location": optional_text(one.location),
                    "metadata": as_stored(one.metadata),
                    "published_at": self._now,
                    "version_at": self._now,
                    "last_outcome": "published",
                },
            )

    def confirm_cells(self, cells: Sequence[CellRef]) -> None:
        distinct(cells, "confirm_cells")
        for cell in sorted(cells):
            if (cell.asset_id, cell.partition) in self._db.cell:
                self._db.cell.change((cell.asset_id, cell.partition), published_at=self._now)

    def fail_by_hand(self, cells: Sequence[CellRef], error: str, fence: Fence) -> None:
        distinct(cells, "fail_by_hand")
        told = {"last_outcome": "failed", "last_attempt": None, "last_error": clean_text(error)}
        for cell in sorted(cells):
            self._change(cell, {"fence": fence, "last_attempt_at": self._now, **told})

    def empty_cells(self, cells: Sequence[CellRef], fence: Fence) -> None:
        distinct(cells, "empty_cells")
        for cell in sorted(cells):
            self._change(cell, _NOTHING | {"fence": fence})

    def kept_cells(self, audit_id: AuditId) -> list[KeptCell]:
        rows = (row for row in self._db.kept_cell.sorted_rows() if row["audit_id"] == audit_id)
        return [
            KeptCell(CellRef(row["asset_id"], row["partition"]), row["fence"], row["data_version"], row["location"])
            for row in rows
        ]

    def restore_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> set[CellRef]:
        distinct(cells, "restore_cells")
        restored: set[CellRef] = set()
        for cell in sorted(cells):
            kept = self._db.kept_cell.get((audit_id, cell.asset_id, cell.partition))
            row = self._db.cell.get((cell.asset_id, cell.partition))
            if kept is not None and row is not None and row["fence"] == kept["fence"]:
                self._change(cell, {"fence": fence, **{name: kept[name] for name in CELL_FACTS}})
                restored.add(cell)
        return restored

    def _change(self, cell: CellRef, columns: Row) -> None:
        row = self._db.cell.get((cell.asset_id, cell.partition))
        if row is not None:
            self._db.cell.put(row | columns)
            self._append_change(cell)
