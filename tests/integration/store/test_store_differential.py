"""The in-memory store is accepted only by this: the same operations on it and on real Postgres (DESIGN section 2).

Equal results, equal refusals, equal final tables, over seeded sequences of transactions of which some are rolled back. A
failure names its seed; run one with `-k seed-N`.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from random import Random
from typing import Any

import psycopg
import pytest
from tests.integration.store.differential_ops import OPS, REFUSED
from tests.integration.store.differential_world import Op, World

from partita.core.store import narrow
from partita.core.store.memory import MemoryStore
from partita.core.store.open import open_store
from partita.core.store.port import Conflict, Store, Tx, Violation
from partita.core.store.port_actions import ActionsTx
from partita.core.store.port_alerts import AlertsTx
from partita.core.store.port_clocks import ClocksTx
from partita.core.store.port_deadlines import DeadlinesTx
from partita.core.store.port_definitions import DefinitionsTx
from partita.core.store.port_doomed import DoomedTx
from partita.core.store.port_evaluators import EvaluatorsTx
from partita.core.store.port_fan_out import FanOutTx
from partita.core.store.port_freshness import FreshnessTx
from partita.core.store.port_jobs import JobsTx
from partita.core.store.port_limits import LimitsTx
from partita.core.store.port_reports import ReportsTx
from partita.core.store.port_requests import RequestsTx
from partita.core.store.port_retention import RetentionTx
from partita.core.store.port_waits import WaitsTx
from partita.core.store.values import LocationId

_SEEDS = range(13)
_TRANSACTIONS = 60
_UNSIGNED = {"consumed_digest", "was_digest", "state_digest", "sum_hash"}


class _RolledBack(Exception):
    """Ends a transaction that is not to be committed."""


class _Recording:
    """Notes which operations were used, so that none of the port escapes the comparison."""

    def __init__(self, tx: Tx, used: set[str]) -> None:
        self._tx = tx
        self._used = used

    def __getattr__(self, name: str) -> Any:
        self._used.add(name)
        return getattr(self._tx, name)


def _outcome(op: Op, tx: Any) -> tuple[str, Any]:
    try:
        return "result", op(tx)
    except (Conflict, Violation, ValueError) as refusal:
        return type(refusal).__name__, None
    except Exception as error:
        raise AssertionError(f"neither a result nor a refusal: {error!r}") from error


class _Pair:
    """Both stores, driven in step: the memory store's clock is Postgres' transaction instant."""

    def __init__(self, postgres: Store, random: Random) -> None:
        self.postgres = postgres
        self.random = random
        self.now = datetime.now(UTC)
        self.memory = MemoryStore(clock=lambda: self.now)
        self.log: list[str] = []
        self.used: set[str] = set()

    def transaction(self) -> None:
        try:
            with ExitStack() as stack:
                durable = self.random.random() < 0.5
                one = stack.enter_context(self.postgres.begin(durable=durable))
                self.now = one.now()
                two = stack.enter_context(self.memory.begin(durable=durable))
                for _ in range(self.random.randint(1, 6)):
                    self._step(_Recording(one, self.used), two)
                if self.random.random() < 0.15:
                    raise _RolledBack
        except _RolledBack:
            self.log.append("-- rolled back")

    def assert_equal_tables(self, url: str) -> None:
        expected = ranked(self.memory.dump())
        found = ranked(dump_postgres(url, self.memory.database.tables()))
        for name, rows in expected.items():
            assert found[name] == rows, f"{name} after {self.log[-30:]}"

    def _step(self, one: Any, two: Tx) -> None:
        makers = list(OPS)
        maker = self.random.choices(makers, [OPS[maker] for maker in makers])[0]
        if self.random.random() < 0.01:
            maker = self.random.choice(REFUSED)
        op = maker(World(self.random, self.memory.database))
        self.log.append(maker.__name__)
        # The twin first: what the operation looks up in the tables must be what Postgres holds before it, too.
        expected, found = _both(op, one, two)
        assert found == expected, f"{maker.__name__} after {self.log[-30:]}"
        if found[0] in ("Conflict", "Violation"):
            raise _RolledBack  # the transaction cannot commit


def _both(op: Op, one: Any, two: Tx) -> tuple[tuple[str, Any], tuple[str, Any]]:
    found = _outcome(op, one)
    return _outcome(op, two), found


def dump_postgres(url: str, tables: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All tables as the memory store dumps them: rows by primary key, digests unsigned, no transaction ids."""
    dumped: dict[str, list[dict[str, Any]]] = {}
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        for name, table in tables.items():
            rows = connection.execute(f"SELECT * FROM {name}".encode()).fetchall()  # a name of ours
            dumped[name] = sorted((_normalised(row) for row in rows), key=table.key_of)
    return dumped


def _normalised(row: dict[str, Any]) -> dict[str, Any]:
    return {
        column: value % (1 << 64) if column in _UNSIGNED and value is not None else value
        for column, value in row.items()
        if column != "xid"
    }


def empty(url: str) -> None:
    """All tables and sequences as after the migration."""
    names = ", ".join(MemoryStore().database.tables())
    with psycopg.connect(url) as connection:
        connection.execute(f"TRUNCATE {names} RESTART IDENTITY CASCADE".encode())
        for sequence in ("fence_seq", "task_id_seq", "attempt_id_seq", "event_id_seq"):
            connection.execute(f"ALTER SEQUENCE {sequence} RESTART".encode())
        connection.execute(
            "INSERT INTO pool (name, slots, description) VALUES ('default', 128, 'Tasks that name no pool (S-022)')"
        )
        connection.execute("INSERT INTO db_pulse VALUES (1, now())")
        connection.execute("INSERT INTO dynamic_revision VALUES (1, 0)")


def ranked(dump: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """`seq` only orders rows, and a refused write draws more or fewer of them: compared by rank."""
    return dump | {
        name: [row | {"seq": rank} for rank, row in enumerate(dump[name])] for name in ("cell_change", "run_tally")
    }


def _start_pulse_alike(pair: _Pair) -> None:
    """The pulse row and the `default` pool come with the schema; here they get one instant."""
    with pair.postgres.begin() as one:
        pair.now = one.now()
        one.set_pulse()
        with pair.memory.begin() as two:
            two.set_pulse()


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(1000, 1300), ids=lambda seed: f"seed-{seed}")
def test_memory_and_postgres_do_the_same_at_length(pg_url: str, seed: int) -> None:
    compare(pg_url, seed)


@pytest.mark.parametrize("seed", _SEEDS, ids=lambda seed: f"seed-{seed}")
def test_memory_and_postgres_do_the_same(pg_url: str, seed: int) -> None:
    compare(pg_url, seed)


def compare(pg_url: str, seed: int) -> None:
    """One seeded sequence on the empty database and on a new twin; raises AssertionError at the first difference.

    Every other seed sends what all rows of a write agree in once, as writes of many rows do."""
    postgres = open_store(pg_url)
    pair = _Pair(postgres, Random(seed))
    _start_pulse_alike(pair)
    many = narrow.MANY_ROWS
    try:
        narrow.MANY_ROWS = 1 if seed % 2 else many
        for _ in range(_TRANSACTIONS):
            pair.transaction()
            if pair.random.random() < 0.1:
                pair.assert_equal_tables(pg_url)
        pair.assert_equal_tables(pg_url)
    finally:
        narrow.MANY_ROWS = many
        postgres.close()


def test_the_seeds_reach_every_operation_of_the_port() -> None:
    """Two twins in step make the same choices as a twin and Postgres; so this needs no other test to have run before."""
    parts = (
        Tx,
        FreshnessTx,
        DefinitionsTx,
        RequestsTx,
        DeadlinesTx,
        ActionsTx,
        DoomedTx,
        FanOutTx,
        JobsTx,
        LimitsTx,
        AlertsTx,
        WaitsTx,
        ClocksTx,
        ReportsTx,
        EvaluatorsTx,
        RetentionTx,
    )
    port = {name for protocol in parts for name in vars(protocol) if not name.startswith("_")}
    used: set[str] = set()
    for seed in _SEEDS:
        pair = _Pair(MemoryStore(), Random(seed))
        _start_pulse_alike(pair)
        for _ in range(_TRANSACTIONS):
            pair.transaction()
        used |= pair.used
    assert used >= port - {"now"}, f"not compared: {sorted(port - used)}"


def test_ids_of_rolled_back_rows_are_not_reused(pg_url: str) -> None:
    """Sequences do not roll back, in neither store: an id that was seen outside never means something else later."""
    postgres = open_store(pg_url)
    memory = MemoryStore()
    seen: list[list[LocationId]] = []
    for store in (postgres, memory):
        ids: list[LocationId] = []

        def put_and_fail(tx: Tx, ids: list[LocationId] = ids) -> None:
            ids.append(tx.put_location("flights"))
            raise _RolledBack

        for _ in range(2):
            with pytest.raises(_RolledBack):
                store.run(put_and_fail)
        seen.append(ids)
    postgres.close()
    assert seen == [[1, 2], [1, 2]]
