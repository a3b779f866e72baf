"""Identity in memory: keys, homes and retirement of assets, and the journal of their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from partita.core.store.encode import clean_text
from partita.core.store.memory.base import MemoryPart
from partita.core.store.values import AssetId, LocationId
from partita.core.store.values_identity import AssetRow, FormerKey


class IdentityPart(MemoryPart):
    def read_assets(self) -> list[AssetRow]:
        return [
            AssetRow(
                row["id"],
                row["key"],
                row["location_id"],
                row["home_id"],
                row["retired_at"],
                None if row["scheme_id"] is None else self._db.scheme.rows[row["scheme_id"]]["hash"],
            )
            for row in self._db.asset.sorted_rows()
        ]

    def former_keys(self) -> list[FormerKey]:
        return [
            FormerKey(row["id"], row["asset_id"], row["was"], row["at"])
            for row in self._db.identity_change.sorted_rows()
            if row["kind"] == "rename"
        ]

    def published_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        return {
            one: sum(1 for row in self._db.cell.find("asset", one) if row["data_version"] is not None)
            for one in sorted(set(ids))
        }

    def open_counts(self, ids: Iterable[AssetId]) -> dict[AssetId, int]:
        return {one: sum(1 for row in self._db.open_cell if row["asset_id"] == one) for one in sorted(set(ids))}

    def rename_assets(self, keys: Mapping[AssetId, str], who: str) -> None:
        if len(set(keys.values())) != len(keys):
            raise self._violation(f"two assets cannot have one key: {sorted(keys.values())}")
        rows = [self._db.asset.get(one) for one in sorted(keys)]
        known = [row for row in rows if row is not None]
        for row in known:
            if row["key"] != keys[row["id"]]:
                self._journal(who, "rename", row["id"], row["key"], keys[row["id"]])
        if len(known) != len(keys):
            raise self._violation(f"of the assets {sorted(keys)} some are unknown")
        taken = {row["key"] for row in self._db.asset if row["id"] not in keys}
        if taken & set(keys.values()):
            raise self._violation(f"of the keys {sorted(keys.values())} some belong to other assets")
        for row in known:
            self._db.asset.put(row | {"key": keys[row["id"]]})

    def set_home(self, asset_id: AssetId, location_id: LocationId, who: str) -> None:
        row = self._db.asset.get(asset_id)
        if row is None or row["home_id"] == location_id:
            return
        if self._db.location.get(location_id) is None:
            self._db.next("identity_change")  # Postgres has drawn one when the constraint refuses the row
            raise self._violation(f"there is no location {location_id}")
        self._db.asset.change(asset_id, home_id=location_id)
        self._journal(who, "move", asset_id, self._name(row["location_id"]), self._name(location_id))

    def retire_by_hand(self, ids: Iterable[AssetId], who: str) -> list[AssetId]:
        rows = (self._db.asset.get(one) for one in sorted(set(ids)))
        retired = [row for row in rows if row is not None and row["retired_at"] is None]
        for row in retired:
            self._db.asset.change(row["id"], retired_at=self._now)
            self._journal(who, "retire", row["id"], row["key"], "")
        return [AssetId(row["id"]) for row in retired]

    def _name(self, location_id: LocationId | None) -> str:
        row = None if location_id is None else self._db.location.get(location_id)
        return "" if row is None else str(row["name"])

    def _journal(self, who: str, kind: str, asset_id: AssetId, was: str, became: str) -> None:
        self._db.identity_change.put(
            {
                "id": self._db.next("identity_change"),
                "at": self._now,
                "who": clean_text(who),
                "kind": kind,
                "asset_id": asset_id,
                "was": was,
                "became": became,
            }
        )

    def forget_assets(self, ids: Iterable[AssetId]) -> None:
        wanted = set(ids)
        db = self._db
        alerts = {row["id"] for row in db.alert if row["asset_id"] in wanted}
        for item in db.notice_item:
            if item["alert_id"] in alerts:
                db.notice_item.delete(db.notice_item.key_of(item))
        for table in (
            db.cell, db.cell_page, db.cell_change, db.former_cell, db.kept_cell, db.accepted_cell, db.check_result,
            db.automation_request, db.automation_clock, db.deadline, db.event_todo, db.pause,
            db.alert_signal, db.alert, db.freshness, db.late_span,
        ):  # fmt: skip
            for row in table:
                if row["asset_id"] in wanted:
                    table.delete(table.key_of(row))
