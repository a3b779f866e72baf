"""Tables of dict rows with an undo journal, and the sequences beside them.

Rows carry the column names of the Postgres tables and are never changed in place: a write puts a new row and journals the
old one. Sequences do not roll back, as in Postgres. Owns no semantics of any operation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

Row = dict[str, Any]
Undo = Callable[[], None]


class Table:
    """Rows by primary key, with secondary indexes (`name -> function of the row`; None is not indexed)."""

    __slots__ = ("_indexes", "_journal", "_keys", "columns", "rows")

    def __init__(
        self,
        journal: list[Undo],
        columns: tuple[str, ...],
        indexes: Mapping[str, Callable[[Row], Hashable]] | None = None,
    ) -> None:
        self.columns = columns
        self.rows: dict[Any, Row] = {}
        self._journal = journal
        self._keys = dict(indexes or {})
        self._indexes: dict[str, dict[Hashable, set[Any]]] = {name: {} for name in self._keys}

    def key_of(self, row: Row) -> Any:
        if len(self.columns) == 1:
            return row[self.columns[0]]
        return tuple(row[column] for column in self.columns)

    def __contains__(self, key: Any) -> bool:
        return key in self.rows

    def __iter__(self) -> Iterator[Row]:
        return iter(list(self.rows.values()))

    def get(self, key: Any) -> Row | None:
        return self.rows.get(key)

    def put(self, row: Row) -> None:
        key = self.key_of(row)
        before = self.rows.get(key)
        self._journal.append(lambda: self._set(key, before))
        self._set(key, row)

    def change(self, key: Any, **columns: Any) -> None:
        self.put({**self.rows[key], **columns})

    def delete(self, key: Any) -> Row:
        before = self.rows[key]
        self._journal.append(lambda: self._set(key, before))
        self._set(key, None)
        return before

    def find(self, index: str, value: Hashable) -> list[Row]:
        """The rows with `value` in this index, by primary key."""
        return [self.rows[key] for key in sorted(self._indexes[index].get(value, ()))]

    def values_of(self, index: str) -> list[Any]:
        return sorted(value for value, keys in self._indexes[index].items() if keys)

    def sorted_rows(self) -> list[Row]:
        return [self.rows[key] for key in sorted(self.rows)]

    def _set(self, key: Any, row: Row | None) -> None:
        before = self.rows.pop(key, None)
        for name, of in self._keys.items():
            index = self._indexes[name]
            if before is not None and (old := of(before)) is not None:
                index[old].discard(key)
            if row is not None and (new := of(row)) is not None:
                index.setdefault(new, set()).add(key)
        if row is not None:
            self.rows[key] = row


def _state(row: Row) -> str | None:
    state: str | None = row["state"]
    return state


def _task(row: Row) -> int | None:
    task_id: int | None = row["task_id"]
    return task_id


class Database:
    """All tables and sequences."""

    def __init__(self) -> None:
        self.journal: list[Undo] = []
        self._sequences: dict[str, int] = {}

        def table(*columns: str, **indexes: Callable[[Row], Hashable]) -> Table:
            return Table(self.journal, columns, indexes)

        self.location = table("id")
        self.snapshot = table("id")
        self.code_server = table("server_id")
        self.asset = table("id")
        self.identity_change = table("id")
        self.scheme = table("id")
        self.former_cell = table("id")
        self.fingerprint = table("id", text=lambda row: row["text"])
        self.cell = table("asset_id", "partition", asset=lambda row: row["asset_id"])
        self.acceptance = table("id")
        self.accepted_cell = table(
            "acceptance_id", "asset_id", "partition", acceptance=lambda row: row["acceptance_id"]
        )
        self.version_gone = table("snapshot_id")
        self.dynamic_key = table(
            "scheme", "key", "revision", there=lambda row: row["scheme"] if row["ended"] is None else None
        )
        self.dynamic_revision = table("id")
        self.cell_change = table("seq")
        self.cell_page = table("asset_id", "first_key")
        self.plan = table("id")
        self.backfill = table("id")
        self.run = table(
            "id",
            state=_state,
            backfill=lambda row: row["backfill_id"],
            cancelling=lambda row: True if row["cancelled_from"] is not None else None,
        )
        self.run_pin = table("run_id", "location_id")
        self.run_tally = table("seq")
        self.task = table(
            "id",
            state=_state,
            run=lambda row: row["run_id"],
            scheduled=lambda row: (row["pool_set"], row["queue"]) if row["state"] == "scheduled" else None,
            running=lambda row: row["worker_id"] if row["state"] == "running" else None,
        )
        self.task_edge = table("upstream_id", "downstream_id", upstream=lambda row: row["upstream_id"])
        self.task_cell = table("task_id", "asset_id", "partition", task=_task)
        self.open_cell = table("asset_id", "partition", task=_task)
        self.deadline = table("asset_id", "partition", "task_id")
        self.cell_cause = table("task_id", "asset_id", "partition", "run_id", task=_task)
        self.lane = table("name")
        self.pool = table("name")
        self.pool_slot = table("pool", "task_id", task=_task, pool=lambda row: row["pool"])
        self.wait = table("task_id", "place", task=_task, state=_state, triggerer=lambda row: row["triggerer_id"])
        self.triggerer = table("id")
        self.evaluator = table("id")
        self.evaluation = table("evaluator_id", "token")
        self.asked = table("id")
        self.worker = table("id")
        self.attempt = table("id")
        self.check_result = table("attempt_id", "asset_id", "partition", "name")
        self.event = table("id")
        self.event_todo = table("consumer", "event_id")
        self.automation_request = table("asset_id", "partition", "state_digest")
        self.held_request = table("id")
        self.caused_cells = table("run_id", "asset_id")
        self.automation_fault = table("kind", "id")
        self.automation_clock = table("asset_id")
        self.freshness = table("asset_id")
        self.late_span = table("asset_id", "from_at")
        self.alert_signal = table("id")
        self.alert = table("id")
        self.notice = table("id")
        self.notice_item = table("alert_id", "target", "kind", "round")
        self.maintenance = table("id")
        self.duty = table("name")
        self.component = table("id")
        self.db_pulse = table("id")
        self.kept_cell = table("audit_id", "asset_id", "partition")
        self.run_tag = table("run_id", "name")
        self.doomed_file = table("file")
        self.fan_out = table("task_id")
        self.job = table("name")
        self.report = table("scope", "key")
        self.archive_day = table("day")
        self.pause = table("asset_id")
        self.audit = table("id", undo_of=lambda row: row["undo_of"])

    def next(self, sequence: str) -> int:
        """The next number of a sequence; survives a rollback, as in Postgres."""
        value = self._sequences.get(sequence, 0) + 1
        self._sequences[sequence] = value
        return value

    def last(self, sequence: str) -> int:
        """The last number that was given."""
        return self._sequences.get(sequence, 0)

    def commit(self) -> None:
        self.journal.clear()

    def roll_back(self) -> None:
        for undo in reversed(self.journal):
            undo()
        self.journal.clear()

    def tables(self) -> dict[str, Table]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Table)}
