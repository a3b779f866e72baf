"""What every part of a Postgres transaction shares: running a statement, reading task rows, interning, digests.

Statements are `text()` constants beside the operation that runs them. Arrays cross as one parameter each and are unfolded by
`unnest`, so a set write is one round trip whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from typing import Any, TypeVar

import psycopg

from partita.core.store.encode import pool_set_of, retry_of
from partita.core.store.narrow import narrow
from partita.core.store.port import Conflict, Violation
from partita.core.store.postgres.errors import store_error
from partita.core.store.sql import Statement, text
from partita.core.store.values import CellFact, CellRef, Task, TaskState, WaitReason, WaitStage

K = TypeVar("K")

_U64 = 1 << 64
_I63 = 1 << 63

# The columns of `Task`, in the order of its fields; `t` is the task.
TASK_COLUMNS = """t.id, t.run_id, t.kind, t.step, t.location_id, t.snapshot_id, t.state, t.outcome, t.rule, t.waiting_on,
    t.good_upstream, t.bad_upstream, t.skip_upstream, t.pool_set, t.lane, t.fair_key, t.priority, t.critical_path, t.conditional,
    t.attempt_number, t.user_failures, t.infra_losses, CAST(t.retry AS text), t.timeout_s, t.not_before, t.worker_id,
    t.attempt_id, t.fence, t.cell_count, t.cancel_requested, t.ready_at, t.queued_at, t.reason,
    t.reason_detail, t.waits, t.queue"""

# The order of the tasks of a party (`values.turn`), as the indexes task_scheduled and task_queued have it.
TASK_ORDER = """date_trunc('second', t.ready_at AT TIME ZONE 'UTC') - t.priority * interval '60 seconds',
    t.critical_path DESC, t.id"""

# Terminal states, as the literal list that statements compare with.
TERMINAL = "('success', 'failed', 'upstream_failed', 'skipped', 'removed', 'cancelled')"

_STATES = {state.value: state for state in TaskState}
_REASONS: dict[str | None, WaitReason | None] = {None: None, **{reason.value: reason for reason in WaitReason}}
_STAGES: dict[str | None, WaitStage | None] = {None: None, **{stage.value: stage for stage in WaitStage}}

READ_FINGERPRINTS = text("SELECT text, id FROM fingerprint WHERE text = ANY(CAST(:texts AS text[]))")

# Ids are only drawn for texts that are new: a conflict would burn one each time.
INSERT_FINGERPRINTS = text("""
    INSERT INTO fingerprint (text)
    SELECT u.text FROM unnest(CAST(:texts AS text[])) AS u(text) ORDER BY u.text COLLATE "C"
    ON CONFLICT DO NOTHING
""")


def to_signed(digest: int) -> int:
    """An unsigned 64 bit digest as the bigint of the same bits."""
    if not 0 <= digest < _U64:
        raise ValueError(f"a digest is an unsigned 64 bit number, not {digest}")
    return digest - _U64 if digest >= _I63 else digest


def to_unsigned(stored: int | None) -> int | None:
    return None if stored is None else stored % _U64


def task_of(row: Any) -> Task:
    fields = list(row)
    fields[6] = _STATES[fields[6]]
    fields[13] = pool_set_of(fields[13])
    fields[22] = retry_of(fields[22])
    fields[32] = _REASONS[fields[32]]
    fields[34] = _STAGES[fields[34]]
    return Task._make(fields)


def fact_of(row: Any) -> CellFact:
    (
        asset_id,
        partition,
        fence,
        version,
        fingerprint,
        dependency_hash,
        digest,
        location,
        outcome,
        published,
        moved,
        tried,
    ) = row
    return CellFact(
        CellRef(asset_id, partition),
        fence,
        version,
        fingerprint,
        dependency_hash,
        to_unsigned(digest),
        location,
        outcome,
        published,
        moved,
        tried,
    )


def ordered(items: Iterable[Any], key: Callable[[Any], K], what: str) -> list[Any]:
    """`items` in the order of their keys (the lock order); refuses a key that comes twice."""
    keyed = sorted([(key(item), item) for item in items], key=itemgetter(0))
    keys = [one for one, _ in keyed]
    if len(set(keys)) < len(keys):
        twice = next(one for one, two in pairwise(keys) if one == two)
        raise ValueError(f"{what} names {twice!r} twice in one write: merge the two before writing")
    return [item for _, item in keyed]


def cell_arrays(cells: Sequence[CellRef]) -> dict[str, list[Any]]:
    return {"assets": [cell.asset_id for cell in cells], "partitions": [cell.partition for cell in cells]}


class PostgresPart:
    """The base of the parts of `PostgresTx`. `interned` is the store's map of fingerprint ids, read here and never written:
    what this transaction interns is in `interned_here` and joins the map after the commit."""

    def __init__(self, cursor: psycopg.Cursor[Any], now: datetime, interned: dict[str, int]) -> None:
        self._cursor = cursor
        self._now = now
        self._interned = interned
        self.interned_here: dict[str, int] = {}
        self.poisoned: str | None = None

    def now(self) -> datetime:
        return self._now

    def _execute(self, statement: Statement, **parameters: Any) -> int:
        """Runs a statement; returns how many rows it touched."""
        return self._run(statement, parameters, binary=False)

    def _set_rows(self, statement: Statement, **columns: Sequence[Any]) -> int:
        """Runs a statement whose parameters are columns of rows, and nothing else; returns how many rows it touched."""
        statement, parameters = narrow(statement, columns)
        return self._run(statement, parameters, binary=False)

    def _wide_rows(self, statement: Statement, **parameters: Any) -> Sequence[Any]:
        """The rows of a statement that answers with large bytes: in binary form they take half the way."""
        self._run(statement, parameters, binary=True)
        return self._cursor.fetchall()

    def _run(self, statement: Statement, parameters: Mapping[str, Any], *, binary: bool) -> int:
        try:
            return self._cursor.execute(statement.driver, parameters, binary=binary).rowcount
        except psycopg.Error as error:
            ours = store_error(error)
            if ours is None:
                raise
            self.poisoned = str(ours)
            raise ours from error

    def _rows(self, statement: Statement, **parameters: Any) -> Sequence[Any]:
        self._execute(statement, **parameters)
        return self._cursor.fetchall()

    def _tasks(self, statement: Statement, **parameters: Any) -> list[Task]:
        return [task_of(row) for row in self._rows(statement, **parameters)]

    def _expect(self, written: int, wanted: int, what: str) -> None:
        """Raises Conflict when a compare-and-set wrote fewer rows than it was asked to."""
        if written != wanted:
            self.poisoned = f"{what}: {wanted - written} of {wanted} rows are not in the expected state"
            raise Conflict(self.poisoned)

    def _conflict(self, what: str) -> Conflict:
        self.poisoned = what
        return Conflict(what)

    def _violation(self, what: str) -> Violation:
        self.poisoned = what
        return Violation(what)

    def intern(self, texts: Iterable[str]) -> dict[str, int]:
        wanted = set(texts)
        ids = {one: found for one in wanted if (found := self._known(one)) is not None}
        missing = sorted(wanted - ids.keys())
        if missing:
            found_ids = self._read_fingerprints(missing)
            new = [one for one in missing if one not in found_ids]
            if new:
                self._execute(INSERT_FINGERPRINTS, texts=new)
                found_ids |= self._read_fingerprints(new)
            self.interned_here |= found_ids
            ids |= found_ids
        return ids

    def _known(self, one: str) -> int | None:
        found = self._interned.get(one)
        return self.interned_here.get(one) if found is None else found

    def _read_fingerprints(self, texts: Sequence[str]) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows(READ_FINGERPRINTS, texts=list(texts))}
