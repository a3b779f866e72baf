"""Automatic requests that wait for a person, and faults of automation, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from partita.core.store.encode import as_stored, clean_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values_ids import AssetId, RunId
from partita.core.store.values_requests import Fault, FaultKind, HeldContent, HeldRequest, RequestId, RequestState

_WAITING = RequestState.AWAITING_INPUT.value


class RequestsPart(MemoryPart):
    def lock_requests(self) -> None:
        """Transactions are serial here."""

    def held_requests(self, assets: Collection[AssetId]) -> list[HeldRequest]:
        wanted = set(assets)
        rows = self._db.held_request.sorted_rows()
        return [_held(row) for row in rows if row["state"] == _WAITING and wanted & set(row["assets"])]

    def read_held_request(self, request_id: RequestId) -> HeldRequest | None:
        row = self._db.held_request.get(request_id)
        return None if row is None else _held(row)

    def insert_held_request(self, content: HeldContent, keep_s: float) -> RequestId:
        made = RequestId(self._db.next("held_request"))
        self._db.held_request.put(
            {
                "id": made,
                "state": _WAITING,
                "revision": 1,
                "created_at": self._now,
                "updated_at": self._now,
                "expires_at": self._now + timedelta(seconds=keep_s),
                "ended_at": None,
                "ended_by": None,
                "end_reason": None,
                "run_id": None,
                **_columns(content),
            }
        )
        return made

    def replace_held_request(self, request_id: RequestId, content: HeldContent, keep_s: float) -> None:
        row = self._waiting(request_id)
        self._db.held_request.change(
            request_id,
            revision=row["revision"] + 1,
            updated_at=self._now,
            expires_at=self._now + timedelta(seconds=keep_s),
            **_columns(content),
        )

    def end_held_request(
        self, request_id: RequestId, state: RequestState, *, by: str, reason: str, run_id: RunId | None = None
    ) -> None:
        self._waiting(request_id)
        if state is _AWAITING or (state is RequestState.REJECTED and not clean_text(reason)):
            raise self._violation(f"request {request_id} ends as {state.value} with the reason {reason!r}")
        self._db.held_request.change(
            request_id,
            state=state.value,
            body=None,
            ended_at=self._now,
            ended_by=clean_text(by),
            end_reason=clean_text(reason),
            run_id=run_id,
        )

    def overdue_held_requests(self) -> list[HeldRequest]:
        rows = self._db.held_request.sorted_rows()
        return [_held(row) for row in rows if row["state"] == _WAITING and row["expires_at"] <= self._now]

    def forget_held_requests(self, keep_s: float) -> int:
        until = self._now - timedelta(seconds=keep_s)
        old = [row["id"] for row in self._db.held_request if row["ended_at"] is not None and row["ended_at"] < until]
        for one in old:
            self._db.held_request.delete(one)
        return len(old)

    def caused_cells(self, of: Collection[tuple[RunId, AssetId]]) -> dict[tuple[RunId, AssetId], int]:
        found = {one: self._db.caused_cells.get(one) for one in sorted(set(of))}
        return {one: row["cells"] for one, row in found.items() if row is not None}

    def add_caused_cells(self, counts: Mapping[tuple[RunId, AssetId], int]) -> dict[tuple[RunId, AssetId], int]:
        known = self.caused_cells(counts)
        made = {one: known.get(one, 0) + counts[one] for one in sorted(counts)}
        for (run, asset), cells in made.items():
            self._db.caused_cells.put({"run_id": run, "asset_id": asset, "cells": cells, "at": self._now})
        return made

    def forget_caused_cells(self, keep_s: float) -> int:
        until = self._now - timedelta(seconds=keep_s)
        old = [(row["run_id"], row["asset_id"]) for row in self._db.caused_cells if row["at"] < until]
        for one in old:
            self._db.caused_cells.delete(one)
        return len(old)

    def faults(self) -> list[Fault]:
        return [Fault(**{**row, "kind": FaultKind(row["kind"])}) for row in self._db.automation_fault.sorted_rows()]

    def write_faults(self, faults: Sequence[Fault]) -> None:
        distinct(((fault.kind, fault.id) for fault in faults), "write_faults")
        for fault in faults:
            self._db.automation_fault.put(
                {
                    "kind": fault.kind.value,
                    "id": fault.id,
                    "error": clean_text(fault.error),
                    "tries": fault.tries,
                    "since": fault.since,
                    "last_at": fault.last_at,
                    "next_at": fault.next_at,
                }
            )

    def clear_faults(self, keys: Collection[tuple[FaultKind, int]]) -> None:
        for kind, one in set(keys):
            if (kind.value, one) in self._db.automation_fault:
                self._db.automation_fault.delete((kind.value, one))

    def release_faults(self) -> None:
        for row in self._db.automation_fault:
            if row["next_at"] > self._now:
                self._db.automation_fault.put(row | {"next_at": self._now})
        for row in self._db.event_todo:
            if row["consumer"] in ("automation", "keys", "rebuild", "replan") and row["created_at"] > self._now:
                self._db.event_todo.put(row | {"created_at": self._now})

    def _waiting(self, request_id: RequestId) -> Row:
        row = self._db.held_request.get(request_id)
        if row is None or row["state"] != _WAITING:
            raise self._conflict(f"request {request_id} does not wait")
        return row


_AWAITING = RequestState.AWAITING_INPUT


def _columns(content: HeldContent) -> dict[str, Any]:
    return {
        "assets": sorted(content.assets),
        "cells": content.cells,
        "cell_limit": content.cell_limit,
        "preview": as_stored(list(content.preview)),
        "cause": as_stored(content.cause),
        "merged": content.merged,
        "body": content.body,
    }


def _held(row: Row) -> HeldRequest:
    return HeldRequest(**{**row, "state": RequestState(row["state"]), "assets": tuple(row["assets"])})
