"""Acceptances in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.core.store.encode import as_stored, clean_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import CellRef
from partita.core.store.values_accept import Acceptance, AcceptanceId, CellBasis, Rebase


class AcceptPart(MemoryPart):
    def rebase_cells(self, rebases: Sequence[Rebase]) -> set[CellRef]:
        rows = self._in_order(rebases, "rebase_cells")
        written: set[CellRef] = set()
        for rebase, ids in zip(rows, self._ids(rows), strict=True):
            row = self._db.cell.get((rebase.cell.asset_id, rebase.cell.partition))
            if row is None or row["fence"] != rebase.fence or row["data_version"] is None or _basis_of(row) != ids[:3]:
                continue
            self._db.cell.put(
                row | dict(zip(("fingerprint_id", "dependency_hash_id", "consumed_digest"), ids[3:], strict=True))
            )
            self._append_change(rebase.cell)
            written.add(rebase.cell)
        return written

    def insert_acceptance(
        self, who: str, reason: str, request: Mapping[str, Any], rebases: Sequence[Rebase]
    ) -> AcceptanceId:
        rows = self._in_order(rebases, "insert_acceptance")
        made = AcceptanceId(self._db.next("acceptance"))
        if not clean_text(reason):
            raise self._violation("an acceptance has a reason")
        self._db.acceptance.put(
            {
                "id": made,
                "at": self._now,
                "who": clean_text(who),
                "reason": clean_text(reason),
                "request": as_stored(request),
                "cells": len(rows),
                "undone_at": None,
                "undone_by": None,
            }
        )
        columns = (
            "was_fingerprint_id", "was_dependency_hash_id", "was_digest",
            "fingerprint_id", "dependency_hash_id", "consumed_digest",
        )  # fmt: skip
        for rebase, ids in zip(rows, self._ids(rows), strict=True):
            cell = {"acceptance_id": made, "asset_id": rebase.cell.asset_id, "partition": rebase.cell.partition}
            self._db.accepted_cell.put(cell | {"fence": rebase.fence} | dict(zip(columns, ids, strict=True)))
        return made

    def lock_acceptance(self, acceptance_id: AcceptanceId) -> Acceptance | None:
        row = self._db.acceptance.get(acceptance_id)
        return None if row is None else Acceptance(**row)

    def accepted_cells(self, acceptance_id: AcceptanceId) -> list[Rebase]:
        def text(fingerprint_id: int | None) -> str | None:
            return None if fingerprint_id is None else self._db.fingerprint.rows[fingerprint_id]["text"]

        return [
            Rebase(
                CellRef(row["asset_id"], row["partition"]),
                row["fence"],
                CellBasis(text(row["was_fingerprint_id"]), text(row["was_dependency_hash_id"]), row["was_digest"]),
                CellBasis(text(row["fingerprint_id"]), text(row["dependency_hash_id"]), row["consumed_digest"]),
            )
            for row in self._db.accepted_cell.find("acceptance", acceptance_id)
        ]

    def end_acceptance(self, acceptance_id: AcceptanceId, who: str) -> None:
        row = self._db.acceptance.get(acceptance_id)
        if row is not None and row["undone_at"] is None:
            self._db.acceptance.change(acceptance_id, undone_at=self._now, undone_by=clean_text(who))

    def _in_order(self, rebases: Sequence[Rebase], what: str) -> list[Rebase]:
        distinct((rebase.cell for rebase in rebases), what)
        return sorted(rebases, key=lambda rebase: rebase.cell)

    def _ids(self, rows: Sequence[Rebase]) -> list[tuple[int | None, ...]]:
        """Per row fingerprint, dependency hash and digest: as expected, then as they become."""
        bases = [basis for row in rows for basis in (row.expect, row.basis)]
        texts = [text for basis in bases for text in (basis.fingerprint, basis.dependency_hash) if text is not None]
        ids: dict[str | None, int | None] = {None: None}
        ids.update(self.intern(texts))
        return [
            (
                ids[row.expect.fingerprint], ids[row.expect.dependency_hash], row.expect.consumed_digest,
                ids[row.basis.fingerprint], ids[row.basis.dependency_hash], row.basis.consumed_digest,
            )
            for row in rows
        ]  # fmt: skip


def _basis_of(row: Row) -> tuple[int | None, ...]:
    return row["fingerprint_id"], row["dependency_hash_id"], row["consumed_digest"]
