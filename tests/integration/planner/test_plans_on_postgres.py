"""Plans, statuses and pages over real Postgres: what readers see, and that pages equal the rows they are made of."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from partita.assets import AssetKey, Daily, EagerSpec, Hourly, Identity, Monthly, Multi, Static, TimeOverlap
from partita.core.catalog import CatalogCache
from partita.core.cells import Statuses, counts, fold_pages, why
from partita.core.cells.pages import joined, rows_equal, unpack
from partita.core.planner import PlanChanged, PlanRequest, decode_plan, encode_plan, plan, replan, sentence
from partita.core.planner.memory import MemoryCells
from partita.core.store.values import AssetId
from partita.core.store.values_definitions import PageRef

DAYS = Daily("2024-01-01", end="2024-03-01")
HOURS = Multi(hour=Hourly("2024-01-01", end="2024-03-01"), origin=Static("EWR", "JFK", "LGA"))
MONTHS = Monthly("2024-01-01", end="2024-03-01")


@pytest.fixture
def flights(pg_stage: Any, asset_of: Any) -> Any:
    """A shape like the flights example."""
    pg_stage.define(
        [
            asset_of("source", DAYS, kind="external"),
            asset_of("flights", DAYS, {"source": (DAYS, None)}),
            asset_of(
                "weather",
                HOURS,
                batch={"type": "per", "dims": {"hour": "1d", "origin": "all"}},
                pools=({"name": "wh"},),
            ),
            asset_of("airlines"),
            asset_of("delays", DAYS, {"flights": (DAYS, None), "weather": (HOURS, None), "airlines": (None, None)}),
            asset_of("month", MONTHS, {"delays": (DAYS, None)}),
        ]
    )
    return pg_stage


def test_a_backfill_runs_and_a_second_plan_has_nothing_to_do(flights: Any) -> None:
    """S-006, S-080: what exists is compared with what should; nothing is left afterwards."""
    catalogs = CatalogCache(flights.store.read)
    with flights.store.read() as reader:
        catalog = catalogs.active()
        request = PlanRequest(selection="*", as_of=reader.now(), from_key="2024-01-01", to_key="2024-01-31")
        found = plan(catalog, reader, request)
    tasks = {step.step.id: len(step.batches) for step in found.steps}
    assert tasks == {"flights": 31, "weather": 31, "airlines": 1, "delays": 31, "month": 1}
    assert found.cell_count == 31 + 31 * 24 * 3 + 1 + 31 + 1
    assert {one.name: one.wanted for one in found.pools} == {"default": 64, "wh": 31}
    assert not found.blocked
    flights.request("*", from_key="2024-01-01", to_key="2024-01-31")
    assert flights.work() == 95
    fold_pages(flights.store)
    with flights.store.read() as reader:
        assert plan(catalogs.active(), reader, request).empty
        statuses = Statuses(catalog, reader, reader.now())
        assert counts(statuses.status(AssetKey("weather"))) == {"fresh": 31 * 72, "missing": 29 * 72}
        step = catalog.asset("flights").step
        assert reader.durations([step])[step].n == 31


def test_a_stored_plan_is_refused_when_the_world_moved(flights: Any) -> None:
    with flights.store.read() as reader:
        shown = plan(flights.catalog, reader, PlanRequest(selection="flights", as_of=reader.now(), to_key="2024-01-03"))
    with flights.store.begin() as tx:
        plan_id = tx.save_plan(
            shown.hash, request=shown.request.to_json(), as_of=shown.as_of, body=encode_plan(shown), keep_s=3600
        )
    with flights.store.begin() as tx:
        stored = tx.load_plan(plan_id)
    confirmed = decode_plan(stored.body)
    assert confirmed == shown
    with flights.store.read() as reader:
        assert replan(flights.catalog, reader, confirmed).hash == shown.hash
    flights.request("flights", partitions="2024-01-02")
    flights.work()
    with (
        flights.store.read() as reader,
        pytest.raises(PlanChanged, match=r"1 cell of flights \(.+\) dropped out") as refused,
    ):
        replan(flights.catalog, reader, confirmed)
    assert refused.value.fresh is not None
    assert refused.value.fresh.cell_count == 2


def test_why_names_the_upstream_that_moved(flights: Any) -> None:
    flights.request("*", from_key="2024-01-01", to_key="2024-01-02")
    flights.work()
    flights.version = lambda key, partition: "v2"
    flights.request("flights", ("all",), partitions="2024-01-02")
    flights.work()
    with flights.store.read() as reader:
        found = why(flights.catalog, reader, reader.now(), "delays", "2024-01-02")
        assert (found.state, found.reasons[0].code) == ("stale", "stale_data")
        assert (found.reasons[0].upstream, found.reasons[0].partition) == ("flights", "2024-01-02")
        assert found.sentence == "delays 2024-01-02 is stale: flights 2024-01-02 changed"
        now = plan(flights.catalog, reader, PlanRequest(selection="delays", as_of=reader.now(), to_key="2024-01-02"))
    assert sentence(now) == "Materialize 1 cell of 1 asset: 1 stale because flights changed"


def test_pages_equal_the_rows_that_they_are_made_of(flights: Any) -> None:
    """Random publications, failures and folds by several at once; then every page against every row."""
    rng = random.Random(20240229)
    versions = iter(range(10_000))
    flights.version = lambda key, partition: None if rng.random() < 0.1 else f"v{next(versions) % 7}"
    assets = [asset.id for asset in flights.catalog.assets.values()]
    for _ in range(4):
        day = rng.randrange(1, 25)
        flights.request(
            "flights, weather, airlines, delays", ("all",), from_key=f"2024-01-{day:02}", to_key=f"2024-01-{day + 4:02}"
        )
        flights.work()
        _compare(flights, assets, folded=False)
        with ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(fold_pages, flights.store, rng.choice([7, 100, 5000])) for _ in range(6)]:
                done.result()
        _compare(flights, assets, folded=False)
    while fold_pages(flights.store):
        pass
    _compare(flights, assets, folded=True)


def _compare(stage: Any, assets: list[AssetId], *, folded: bool) -> None:
    """What a reader sees, pages and what is not folded yet, is what the rows of `cell` hold."""
    with stage.store.read() as reader:
        blocks, rebuilt = reader.blocks(assets), reader.rebuilt(assets)
    assert blocks.keys() == rebuilt.keys()
    for asset_id, rows in rebuilt.items():
        seen: dict[str, tuple[Any, ...]] = {}
        for block in blocks[asset_id]:
            columns = (block.hash, block.digest, block.fingerprint, block.dependency, block.flags)
            seen.update((key, tuple(int(column[i]) for column in columns)) for i, key in enumerate(block.keys))
        columns = (rows.hash, rows.digest, rows.fingerprint, rows.dependency, rows.flags)
        assert seen == {key: tuple(int(column[i]) for column in columns) for i, key in enumerate(rows.keys)}
        if folded:
            assert rows_equal(joined(blocks[asset_id]), rows)
    with stage.store.begin() as tx:
        for asset_id, first_keys in tx.lock_pages(assets).items():
            assert first_keys == sorted(first_keys)
            pages = tx.read_pages(PageRef(asset_id, key) for key in first_keys)
            assert len(pages) == len(first_keys)
            for page in pages.values():
                block = unpack(page.packed)
                assert (page.n, page.first_key) == (len(block.keys), block.keys[0])
                assert page.sum_hash == int(block.hash.sum(dtype="uint64"))


@pytest.mark.parametrize("round_", range(8))
def test_two_producers_in_the_same_second_give_one_attempt_under_three_schedulers(
    pg_stage: Any, asset_of: Any, round_: int
) -> None:
    """Once per cause: the short form of the proof with 200 rounds on the deployed path."""
    days = Daily("2024-01-01", end="2024-01-04")
    pg_stage.define(
        [
            asset_of("a", days),
            asset_of("b", days),
            asset_of("c", days, {"a": (days, Identity()), "b": (days, TimeOverlap())}, automation=EagerSpec()),
        ]
    )
    pg_stage.request("a, b")
    running = pg_stage.start()
    random.Random(round_).shuffle(running)
    with ThreadPoolExecutor(5) as pool:
        ends = [pool.submit(pg_stage.end, [one]) for one in running]
        scheduled = [pool.submit(pg_stage.automate) for _ in range(9)]
        for done in [*ends, *scheduled]:
            done.result()
    pg_stage.settle()
    made = sorted(partition for key, partition in pg_stage.attempts if key == "c")
    assert made == ["2024-01-01", "2024-01-02", "2024-01-03"]


@pytest.mark.parametrize("folded", [False, True])
def test_plans_read_from_postgres_equal_plans_from_the_rows(flights: Any, folded: bool) -> None:
    """The in-memory reader and the reader of pages give one plan, whatever is folded."""
    versions = iter(range(1000))
    flights.version = lambda key, partition: (
        None if (key, partition) == ("flights", "2024-01-03") else f"v{next(versions) % 3}"
    )
    flights.request("*", from_key="2024-01-01", to_key="2024-01-05")
    flights.work()
    flights.request("weather", ("all",), partitions="hour=2024-01-02; origin=JFK")
    flights.work()
    if folded:
        fold_pages(flights.store)
    with flights.store.read() as reader:
        request = PlanRequest(selection="*", as_of=reader.now(), to_key="2024-01-06")
        read = plan(flights.catalog, reader, request)
    memory = MemoryCells()
    with flights.store.begin() as tx:
        facts = tx.read_cells([flights.ref(key, str(partition)) for key, partition in _every_cell(flights, request)])
    for cell, fact in facts.items():
        if fact.data_version is not None:
            memory.publish(
                cell,
                fact.data_version,
                fingerprint=fact.fingerprint or "",
                dependency_hash=fact.dependency_hash or "",
                digest=fact.consumed_digest or 0,
            )
        if fact.last_outcome is not None:
            memory.note(cell, fact.last_outcome)
    assert plan(flights.catalog, memory, request).hash == read.hash
    assert {reason.value for reason in read.counts()} == {"missing", "failed", "stale_data"}


def _every_cell(stage: Any, request: PlanRequest) -> list[tuple[str, str]]:
    found = []
    for key in stage.catalog.assets:
        space = stage.catalog.space(key, request.as_of)
        found += [(key, str(partition)) for partition in space.keys(space.all())]
    return found
