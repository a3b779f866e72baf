"""The outbox of notices, maintenance windows, and what is forgotten, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from partita.core.store.encode import clean_text, optional_text
from partita.core.store.memory.alerts import alert_of
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row, Table
from partita.core.store.values_alerts import (
    Alert,
    AlertId,
    Maintenance,
    NewNotice,
    Notice,
    NoticeEnd,
    NoticeId,
    NoticeItem,
    NoticeKind,
)


def _notice(row: Row) -> Notice:
    rest = {name: row[name] for name in Notice.__slots__ if name != "kind"}
    return Notice(kind=NoticeKind(row["kind"]), **rest)


class NoticesPart(MemoryPart):
    def told_of(self, ids: Collection[AlertId]) -> Mapping[AlertId, list[tuple[str, str]]]:
        found: dict[AlertId, set[tuple[str, str]]] = {one: set() for one in sorted(set(ids))}
        for item in self._db.notice_item:
            notice = self._db.notice.get(item["notice_id"])
            if notice is None or notice["state"] != "sent" or item["kind"] != "problem":
                continue
            if item["alert_id"] in found:
                found[item["alert_id"]].add((notice["rule"], item["target"]))
        return {one: sorted(lines) for one, lines in found.items()}

    def lock_forming_notices_skip(self, lines: Collection[tuple[str, str]]) -> list[Notice]:
        wanted = set(lines)
        return [
            _notice(row)
            for row in self._db.notice.sorted_rows()
            if (row["rule"], row["target"]) in wanted
            and (row["state"], row["tries"]) == ("pending", 0)
            and row["kind"] != "test"
        ]

    def last_notices(self, lines: Collection[tuple[str, str]]) -> dict[tuple[str, str], datetime]:
        wanted = set(lines)
        return {
            (row["rule"], row["target"]): row["due_at"]
            for row in self._db.notice.sorted_rows()
            if (row["rule"], row["target"]) in wanted and row["kind"] != "test"
        }

    def insert_notices(self, notices: Sequence[NewNotice]) -> list[NoticeId]:
        ids = [NoticeId(self._db.next("notice")) for _ in notices]
        for made, one in zip(ids, notices, strict=True):
            self._db.notice.put(
                {
                    "id": made,
                    "rule": one.rule,
                    "target": one.target,
                    "kind": one.kind.value,
                    "state": "pending",
                    "created_at": self._now,
                    "due_at": one.due_at,
                    "tries": 0,
                    "lease_until": None,
                    "ended_at": None,
                    "error": None,
                }
            )
        return ids

    def insert_notice_items(self, items: Sequence[NoticeItem]) -> None:
        distinct(((one.alert_id, one.target, one.kind, one.round) for one in items), "insert_notice_items")
        for one in items:
            row: Row = {
                "alert_id": one.alert_id,
                "target": one.target,
                "kind": one.kind.value,
                "round": one.round,
                "notice_id": one.notice_id,
            }
            if self._db.notice_item.key_of(row) in self._db.notice_item:
                raise self._violation("an alert is in a notice of this target, kind and round already")
            self._db.notice_item.put(row)

    def claim_notices_skip(self, limit: int, lease_s: float) -> list[Notice]:
        due = [
            row
            for row in self._db.notice
            if row["state"] == "pending"
            and row["due_at"] <= self._now
            and (row["lease_until"] is None or row["lease_until"] <= self._now)
        ]
        claimed = sorted(due, key=lambda row: (row["due_at"], row["id"]))[:limit]
        until = self._now + timedelta(seconds=lease_s)
        for row in claimed:
            self._db.notice.change(row["id"], tries=row["tries"] + 1, lease_until=until)
        return [_notice(self._db.notice.rows[row["id"]]) for row in claimed]

    def alerts_of_notices(self, ids: Collection[NoticeId]) -> Mapping[NoticeId, list[Alert]]:
        found: dict[NoticeId, list[Alert]] = {one: [] for one in sorted(set(ids))}
        for item in self._db.notice_item.sorted_rows():
            if item["notice_id"] in found and item["alert_id"] in self._db.alert:
                found[item["notice_id"]].append(alert_of(self._db.alert.rows[item["alert_id"]]))
        return found

    def end_notices(self, ends: Sequence[NoticeEnd]) -> list[NoticeId]:
        distinct((one.id for one in ends), "end_notices")
        written: list[NoticeId] = []
        for one in sorted(ends, key=lambda one: one.id):
            row = self._db.notice.get(one.id)
            if row is None or (row["state"], row["tries"]) != ("pending", one.tries):
                continue
            self._db.notice.change(
                one.id,
                state=one.state.value,
                due_at=one.due_at,
                error=optional_text(one.error),
                lease_until=None,
                ended_at=None if one.state.value == "pending" else self._now,
            )
            written.append(one.id)
        return written

    # -- maintenance, retention
    def maintenances(self) -> list[Maintenance]:
        return [
            Maintenance(
                row["id"], row["selection"], row["starts_at"], row["ends_at"], row["by_whom"], row["reason"]
            )
            for row in self._db.maintenance.sorted_rows()
            if row["ends_at"] > self._now
        ]  # fmt: skip

    def insert_maintenance(self, selection: str, starts_at: datetime, ends_at: datetime, by: str, reason: str) -> int:
        made = self._db.next("maintenance")
        if ends_at < starts_at:
            raise self._violation("a maintenance window ends before it starts")
        self._db.maintenance.put(
            {
                "id": made,
                "selection": selection,
                "starts_at": starts_at,
                "ends_at": ends_at,
                "by_whom": clean_text(by),
                "reason": clean_text(reason),
            }
        )
        return made

    def end_maintenance(self, maintenance_id: int) -> bool:
        row = self._db.maintenance.get(maintenance_id)
        if row is None or row["ends_at"] <= self._now:
            return False
        self._db.maintenance.change(maintenance_id, ends_at=self._now, starts_at=min(row["starts_at"], self._now))
        return True

    def end_snoozes(self, by: str) -> None:
        for row in self._db.alert:
            snoozed = row["snoozed_until"] is not None and row["snoozed_until"] > self._now
            if snoozed and row["ended_at"] is None and row["snoozed_by"] == by:
                self._db.alert.change(row["id"], snoozed_until=self._now)

    def prune_alerts(self, before: datetime, limit: int) -> int:
        alerts = self._forgotten(self._db.alert, before, limit)
        for item in self._db.notice_item:
            if item["alert_id"] in alerts:
                self._db.notice_item.delete(self._db.notice_item.key_of(item))
        return len(alerts) + len(self._forgotten(self._db.notice, before, limit))

    def _forgotten(self, table: Table, before: datetime, limit: int) -> set[int]:
        told = {item["notice_id"] for item in self._db.notice_item} if table is self._db.notice else set()
        old = [
            row for row in table if row["ended_at"] is not None and row["ended_at"] < before and row["id"] not in told
        ]
        gone = {row["id"] for row in sorted(old, key=lambda row: (row["ended_at"], row["id"]))[:limit]}
        for one in gone:
            table.delete(one)
        return gone
