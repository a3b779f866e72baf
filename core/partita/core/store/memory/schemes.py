"""Schemes and former cells in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from partita.core.store.encode import as_stored
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import AssetId, CellRef, Fence
from partita.core.store.values_identity import CellWindow, DerivedCell, FormerCell

_SUCCESS = (
    "data_version", "fingerprint_id", "dependency_hash_id", "consumed_digest", "location", "metadata", "published_at",
    "version_at", "published_attempt", "published_run",
)  # fmt: skip
_ATTEMPT = ("last_outcome", "last_attempt", "last_attempt_at", "last_error")


class SchemesPart(MemoryPart):
    def set_schemes(self, schemes: Mapping[AssetId, tuple[str, Any]]) -> None:
        known = {row["hash"]: row["id"] for row in self._db.scheme}
        for hash, spec in sorted(dict(schemes.values()).items()):
            if hash not in known:
                known[hash] = self._db.next("scheme")
                self._db.scheme.put({"id": known[hash], "hash": hash, "spec": as_stored(spec)})
        for asset_id, (hash, _) in sorted(schemes.items()):
            if self._db.asset.get(asset_id) is not None:
                self._db.asset.change(asset_id, scheme_id=known[hash])

    def lock_schemes(self, ids: Iterable[AssetId]) -> dict[AssetId, str]:
        rows = [row for one in sorted(set(ids)) if (row := self._db.asset.get(one)) is not None]
        return {
            row["id"]: self._db.scheme.rows[row["scheme_id"]]["hash"] for row in rows if row["scheme_id"] is not None
        }

    def windowed_cells(self, asset_id: AssetId) -> list[CellWindow]:
        return [
            CellWindow(row["partition"], _window(row), row["data_version"] is not None)
            for row in self._db.cell.find("asset", asset_id)
        ]

    def former_cells(self, asset_id: AssetId) -> list[FormerCell]:
        return [
            FormerCell(
                row["id"], self._db.scheme.rows[row["scheme_id"]]["hash"], row["partition"], _window(row),
                row["data_version"], row["location"], row["published_at"], self._text(row["fingerprint_id"]),
                row["consumed_digest"], _rows_of(row["metadata"]),
            )
            for row in self._db.former_cell.sorted_rows()
            if row["asset_id"] == asset_id
        ]  # fmt: skip

    def set_aside(self, asset_id: AssetId, cells: Sequence[CellWindow], fence: Fence) -> int:
        aside = 0
        asset = self._db.asset.get(asset_id)
        for one in sorted(cells, key=lambda one: one.partition):
            row = self._db.cell.get((asset_id, one.partition))
            if row is None:
                continue
            if row["data_version"] is not None and asset is not None:
                self._keep(row, asset["scheme_id"])
                aside += 1
            start, end = one.window or (None, None)
            empty = dict.fromkeys((*_SUCCESS, *_ATTEMPT))
            windows = {"window_start": start, "window_end": end} if one.known else {}
            self._db.cell.put(row | empty | windows | {"fence": max(row["fence"], fence)})
            self._append_change(CellRef(asset_id, one.partition))
        return aside

    def bring_back(self, asset_id: AssetId, cells: Sequence[FormerCell], fence: Fence) -> int:
        back = 0
        for former in sorted(cells, key=lambda one: one.partition):
            kept = self._db.former_cell.get(former.id)
            row = self._db.cell.get((asset_id, former.partition))
            if kept is None or kept["asset_id"] != asset_id or row is None or row["data_version"] is not None:
                continue
            held = {name: kept[name] for name in ("window_start", "window_end", *_SUCCESS)}
            self._db.cell.put(row | held | {"fence": max(row["fence"], fence)})
            self._db.former_cell.delete(former.id)
            self._append_change(CellRef(asset_id, former.partition))
            back += 1
        return back

    def scheme_spec(self, hash: str) -> Any:
        return next((row["spec"] for row in self._db.scheme.sorted_rows() if row["hash"] == hash), None)

    def derive_cells(self, asset_id: AssetId, cells: Sequence[DerivedCell], fence: Fence) -> int:
        ordered = sorted(cells, key=lambda one: one.partition)
        distinct((one.partition for one in ordered), "derive_cells")
        ids = self.intern(text for one in ordered for text in (one.fingerprint, one.dependency_hash))
        made = 0
        for one in ordered:
            row = self._db.cell.get((asset_id, one.partition))
            if row is None:
                key = {"asset_id": asset_id, "partition": one.partition}
                row = {**key, "fence": 0, **dict.fromkeys((*_SUCCESS, *_ATTEMPT))}
            elif row["data_version"] is not None:
                continue
            self._db.cell.put(
                row
                | dict.fromkeys((*_SUCCESS, *_ATTEMPT))
                | {
                    "window_start": one.window[0],
                    "window_end": one.window[1],
                    "fence": max(row["fence"], fence),
                    "data_version": one.data_version,
                    "fingerprint_id": ids[one.fingerprint],
                    "dependency_hash_id": ids[one.dependency_hash],
                    "consumed_digest": one.consumed_digest,
                    "location": one.location,
                    "metadata": as_stored(one.metadata),
                    "published_at": self._now,
                    "version_at": self._now,
                    "last_outcome": "published",
                }
            )
            self._append_change(CellRef(asset_id, one.partition))
            made += 1
        return made

    def _text(self, fingerprint_id: int | None) -> str | None:
        return None if fingerprint_id is None else str(self._db.fingerprint.rows[fingerprint_id]["text"])

    def _keep(self, row: Row, scheme_id: int | None) -> None:
        if scheme_id is None:
            raise self._violation(f"the scheme of asset {row['asset_id']} is not recorded")
        self._db.former_cell.put(
            {
                "id": self._db.next("former_cell"),
                "moved_at": self._now,
                "scheme_id": scheme_id,
                **{name: row[name] for name in ("asset_id", "partition", "window_start", "window_end", *_SUCCESS)},
            }
        )


def _rows_of(metadata: Any) -> int | None:
    counted = metadata.get("rows") if isinstance(metadata, Mapping) else None
    return counted if type(counted) is int else None


def _window(row: Row) -> Any:
    start, end = row["window_start"], row["window_end"]
    return None if start is None or end is None else (start, end)
