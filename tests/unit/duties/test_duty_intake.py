"""Taking reports in: all of a batch or nothing, repeats, keys that are forgotten, two at once (S-174)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from tests.simulation.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import Clock, cell

from partita.assets import UnknownPartition
from partita.core.decide.intake import Report, ReportContradicts, ReportRefused
from partita.core.decide.observe import Observation
from partita.core.duties.intake import TakenIn, forget_reports, take_in
from partita.core.store.memory import MemoryStore
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import AssetId
from partita.core.store.values_reports import ReportKey


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


def report(partition: str, version: str = "v1", key: str | None = None, **more: Any) -> Report:
    return Report("orders", partition, version, None if key is None else ReportKey("", key), **more)


def observation_of(one: Report, now: datetime) -> Observation:
    if one.partition == "never":
        raise UnknownPartition("partition 'never' does not exist", fix="did you mean 'nevers'?")
    return Observation(cell(1, one.partition), one.data_version, None, one.noted)


def take(store: MemoryStore, *reports: Report) -> TakenIn:
    return take_in(store, reports, observation_of, by="till", followed={AssetId(1)})


def test_a_report_is_a_fact_an_event_and_work_for_automation_in_one_commit(store: MemoryStore, clock: Clock) -> None:
    taken = take(store, report("a", metadata={"rows": 7}, data_time=clock.now, key="1"), report("b", key="2"))
    assert [one["outcome"] for one in taken.answers] == ["observed", "observed"]
    assert [row["data_version"] for row in store.rows("cell")] == ["v1", "v1"]
    assert store.rows("cell")[0]["metadata"] == {"rows": 7, "data_time": clock.now.isoformat(), "observed_by": "till"}
    assert [(row["kind"], row["partition"]) for row in store.rows("event")] == [("observed", "a"), ("observed", "b")]
    assert len(store.rows("event_todo")) == 2
    assert take(store, report("a", key="3")).answers[0]["outcome"] == "unchanged", (
        "a version that did not move wakes nobody"
    )
    assert len(store.rows("event_todo")) == 2


def test_a_repeat_changes_nothing_and_gets_the_first_answer(store: MemoryStore, clock: Clock) -> None:
    first = take(store, report("a", key="1"))
    take(store, report("a", "v2", key="2"))
    before = store.dump()
    clock.forward(3600)
    again = take(store, report("a", key="1"), report("a", key="1"))
    assert again.answers == first.answers * 2
    assert (again.news, again.channels) == (0, ())
    assert store.dump() == before, "also when the cell holds something else by now"


def test_a_bad_report_in_a_batch_leaves_everything_as_it_was(store: MemoryStore) -> None:
    take(store, report("a", key="1"))
    before = store.dump()
    with pytest.raises(UnknownPartition) as refused:
        take(store, report("b", key="2"), report("never", key="3"), report("never", key="4"))
    assert refused.value.what == (
        "event 2 of 3 (orders never at version 'v1'): partition 'never' does not exist (1 more cannot be taken either); "
        "nothing of the batch was taken"
    )
    assert refused.value.fix == "did you mean 'nevers'?"
    with pytest.raises(ReportContradicts):
        take(store, report("b", key="2"), report("a", "v9", key="1"))
    with pytest.raises(ReportRefused, match="1,001 events at once"):
        take(store, *[report("b")] * 1_001)
    assert store.dump() == before


def test_a_key_is_free_again_when_its_time_is_over(store: MemoryStore, clock: Clock) -> None:
    take(store, report("a", key="1", keep=timedelta(hours=1)), report("a", key="2"))
    clock.forward(3601)
    assert take(store, report("a", "v2", key="1")).answers[0]["outcome"] == "observed"
    take(store, report("b", key="3", keep=timedelta(hours=1)))
    clock.forward(3601)
    assert not forget_reports(store), "few were over"
    assert [row["key"] for row in store.rows("report")] == ["1", "2"]


class Racing(MemoryStore):
    """Somebody else commits the same key between this transaction's look and its insert."""

    raced = True

    @contextmanager
    def begin(self, *, durable: bool = True) -> Iterator[MemoryTx]:
        with super().begin(durable=durable) as tx:
            if not self.raced:
                self.raced = True
                tx.read_reports = lambda ids: {}  # type: ignore[method-assign]
            yield tx


def test_two_at_once_with_one_key_are_one_report(clock: Clock) -> None:
    store = Racing(clock)
    first = take(store, report("a", key="1"))
    store.raced = False
    clock.forward(1)
    assert take(store, report("a", key="1")).answers == first.answers
    assert len(store.rows("event")) == 1


@pytest.mark.parametrize("seed", range(30))
def test_however_often_the_api_dies_each_report_counts_once(seed: int, clock: Clock) -> None:
    """A producer says a batch again until it is answered; the API dies inside its transaction, or after it and before the
    answer. What is there in the end is what one that never dies leaves."""
    random, store, calm = Random(seed), MemoryStore(clock), MemoryStore(clock)
    cells = ("a", "b", "c")
    batches = [
        [
            report(random.choice(cells), f"v{random.randint(1, 3)}", key=f"{n}/{at}")
            for at in range(random.randint(1, 4))
        ]
        for n in range(8)
    ]
    for batch in batches:
        expected = take(calm, *batch).answers
        told: list[TakenIn] = []
        while not told or random.random() < 0.3:  # answered, and perhaps sent once more all the same
            with suppress(Crash):
                if random.random() < 0.4:
                    dying: Any = CrashingStore(store, transactions=0, operations=random.randint(0, 12))
                    take(dying, *batch)
                done = take(store, *batch)
                if random.random() < 0.3:
                    raise Crash  # committed, and nobody heard of it
                told.append(done)
        assert all(one.answers == expected for one in told)
    for table in ("report", "event_todo", "event"):
        assert len(store.rows(table)) == len(calm.rows(table))
    held = [[(row["partition"], row["data_version"]) for row in each.rows("cell")] for each in (store, calm)]
    assert held[0] == held[1]
