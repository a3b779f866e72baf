"""Why nothing runs, as people ask: one reason per waiting task, with the cells, holders and instants that it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import Daily, InputSpec, PoolUse, TimeOverlap, asset_key, dependency_hash, to_spec
from partita.assets.wait_specs import WaitSpec
from partita.core.duties.admit import admit
from partita.core.duties.explain import explain
from partita.core.store.values import Pool
from partita.core.store.values_waits import TriggererId

DAYS = Daily("2013-01-01", end="2013-01-11")


def get(client: httpx.Client, path: str, **params: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def waiting(client: httpx.Client, key: str, partition: str) -> Any:
    """The reason of the open task of a cell, the same in `why`, on the cell and on its task."""
    told = get(client, "/why", key=key, partition=partition)
    task = told["open_task"]
    assert task == get(client, "/asset/cell", key=key, partition=partition)["open_task"]
    reason = get(client, f"/tasks/{task['id']}")["reason"]
    assert reason == task["reason"]
    if reason is not None:
        assert reason["text"] in told["sentence"]
    return reason


def ready(world: Any) -> None:
    while admit(world.store).more:
        pass
    explain(world.store)


@pytest.fixture
def shop(world: Any) -> Any:
    """orders (one slot of pool desk), sums which reads them, balance which reads its own day before."""
    balance = world.spec("balance", DAYS, {"orders": DAYS})
    own = InputSpec(
        name="balance", upstream=asset_key("balance"), mapping=to_spec(TimeOverlap(-1, -1, "downstream", "clip"))
    )
    inputs = (*balance.inputs, own)
    world.activate(
        [
            world.spec("orders", DAYS, pools=(PoolUse(name="desk", slots=1),)),
            world.spec("sums", DAYS, {"orders": DAYS}),
            balance.model_copy(update={"inputs": inputs, "dependency_hash": dependency_hash(inputs)}),
        ],
        checks=(),
    )
    with world.store.begin() as tx:
        tx.set_pool(Pool("desk", 1))
    return world


def test_who_waits_for_a_pool_names_the_pool_and_who_holds_it(shop: Any, client: httpx.Client) -> None:
    """S-245."""
    run = shop.launch("orders", partitions="2013-01-01..2013-01-03")
    ready(shop)
    [holder] = shop.claim()
    held = holder.cells[0].cell.partition
    waits = [day for day in ("2013-01-01", "2013-01-02", "2013-01-03") if day != held]
    for day in waits:
        reason = waiting(client, "orders", day)
        assert (reason["code"], reason["evidence"]["side"], reason["evidence"]["pool"]) == (
            "pool_full",
            "limits",
            "desk",
        )
        assert [one["task"] for one in reason["evidence"]["holders"]] == [holder.task.id]
        assert reason["text"].endswith(f"held by orders {held} (running, run {run})")
    [wait] = [one for one in get(client, f"/runs/{run}")["waits"] if one["side"] == "limits"]
    assert (wait["code"], wait["tasks"], wait["text"]) == ("pool_full", 2, "2 tasks wait for slots of a pool")
    shop.finish([shop.written(holder)])
    ready(shop)
    assert sum(waiting(client, "orders", day) is None for day in waits) == 1, "the slot is another's now"


def test_partita_pools_names_the_holders(shop: Any, partita: Callable[..., tuple[int, str, str]]) -> None:
    shop.launch("orders", partitions="2013-01-01..2013-01-03")
    ready(shop)
    [holder] = shop.claim()
    code, told, _ = partita("pools")
    assert code == 0
    [line] = [line for line in told.splitlines() if line.startswith("desk")]
    assert line.split() == ["desk", "1", "1", "2", "orders", "(task", f"{holder.task.id},", "interactive)"]
    code, _, error = partita("pools", "set", "one", "-1", "--yes")
    assert (code, "greater than or equal to 0" in error) == (2, True), "a number, and no option"
    code, _, error = partita("pools", "set", "backfill:7", "2")
    assert (code, "partita backfill set 7 --max-active N" in error) == (2, True)


def test_who_waits_for_upstream_names_the_cells(shop: Any, client: httpx.Client) -> None:
    run = shop.launch("orders or sums", partitions="2013-01-01")
    reason = waiting(client, "sums", "2013-01-01")
    assert (reason["code"], reason["evidence"]["side"], reason["evidence"]["waiting_on"]) == ("upstream", "upstream", 1)
    assert reason["text"] == f"waits for 1 upstream task: orders 2013-01-01 (scheduled, run {run})"
    shop.finish([shop.written(one) for one in shop.claim()])
    ready(shop)
    assert (waiting(client, "sums", "2013-01-01") or {"code": None})["code"] != "upstream"


def test_who_waits_only_for_its_own_past_says_so(shop: Any, client: httpx.Client) -> None:
    """S-163: a chain that stands looks idle; it is told apart from work that waits for others."""
    run = shop.launch("orders or balance", partitions="2013-01-01..2013-01-03")
    first = waiting(client, "balance", "2013-01-02")
    assert (first["code"], first["evidence"]["waiting_on"], first["evidence"]["past"]) == ("upstream", 2, 1)
    balance = []
    while claimed := shop.claim(10):
        shop.finish([shop.written(one) for one in claimed if one.task.step == "orders"])
        balance += [one for one in claimed if one.task.step == "balance"]
    assert [one.cells[0].cell.partition for one in balance] == ["2013-01-01"]
    blocked = waiting(client, "balance", "2013-01-02")
    assert blocked["code"] == "blocked_by_past"
    assert blocked["text"].startswith(
        "waits for 1 earlier partition of itself, and for nothing else: balance 2013-01-01"
    )
    assert {wait["code"] for wait in get(client, f"/runs/{run}")["waits"]} >= {"blocked_by_past"}
    shop.finish([shop.written(one) for one in balance])
    shop.work()
    assert get(client, f"/runs/{run}")["waits"] == []


def test_a_missing_earlier_partition_is_told_where_nothing_runs(shop: Any, client: httpx.Client) -> None:
    shop.launch("orders", partitions="2013-01-01..2013-01-03")
    shop.work()
    told = get(client, "/why", key="balance", partition="2013-01-03")
    assert [(one["code"], one["upstream"]) for one in told["reasons"] if one["upstream"]] == [
        ("blocked_by_past", {"key": "balance", "partition": "2013-01-02"})
    ]
    first = get(client, "/why", key="balance", partition="2013-01-01")
    assert [one["code"] for one in first["reasons"]] == ["missing"], "the first has no past (S-165)"


def test_who_is_queued_says_who_is_lacking_and_since_when(shop: Any, client: httpx.Client) -> None:
    """S-246."""
    run = shop.launch("orders", partitions="2013-01-01")
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute("UPDATE code_server SET lease_expires_at = now() - interval '1 minute'")
        ready(shop)
        reason = waiting(client, "orders", "2013-01-01")
        assert (reason["code"], reason["evidence"]["side"]) == ("no_server", "workers")
        assert reason["evidence"]["since"] in {
            one[0].isoformat() for one in connection.execute("SELECT lease_expires_at FROM code_server").fetchall()
        }
        connection.execute(
            "UPDATE code_server SET lease_expires_at = now() + interval '1 minute', versions = '[\"other\"]'"
        )
        ready(shop)
        assert waiting(client, "orders", "2013-01-01")["code"] == "version_gone"
        connection.execute("UPDATE code_server SET versions = (SELECT to_jsonb(array_agg(hash)) FROM snapshot)")
        ready(shop)
        assert waiting(client, "orders", "2013-01-01")["code"] == "no_worker"
    [wait] = get(client, f"/runs/{run}")["waits"]
    assert (wait["side"], wait["text"]) == ("workers", "1 task waits for a worker: none of the queue is alive")


def test_what_stands_behind_in_a_line_has_the_reason_of_its_line(shop: Any, client: httpx.Client) -> None:
    shop.launch("orders", partitions="2013-01-01..2013-01-03")
    ready(shop)
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE task SET reason = NULL, reason_detail = NULL WHERE id = (SELECT max(id) FROM task WHERE state = 'scheduled')"
        )
    reasons = [waiting(client, "orders", f"2013-01-0{day}") for day in (1, 2, 3)]
    told = [one for one in reasons if one is not None]
    assert [one["code"] for one in told if one["code"] == "pool_full"] == ["pool_full", "pool_full"]
    assert [one["evidence"].get("in_line") for one in told if one["code"] == "pool_full"].count(True) == 1


def test_a_run_whose_cells_another_makes_says_which(shop: Any, client: httpx.Client) -> None:
    """It began before the request, so it may have read older inputs: planned again at its end."""
    first = shop.launch("orders", partitions="2013-01-01")
    [claimed] = shop.claim()
    second = shop.launch("orders", partitions="2013-01-01..2013-01-02", mode=("all",))
    told = [one for one in get(client, f"/runs/{second}")["waits"] if one["state"] == "in_progress"]
    assert [(one["code"], one["run"], one["tasks"]) for one in told] == [("in_progress", first, 1)]
    assert told[0]["text"] == f"1 cell of it is being made by run {first}; planned again when that ends"
    shop.finish([shop.written(claimed)])
    assert all(one["state"] != "in_progress" for one in get(client, f"/runs/{second}")["waits"])


def test_the_command_line_tells_both_questions_apart(
    shop: Any, client: httpx.Client, partita: Callable[..., tuple[int, str, str]]
) -> None:
    """S-247."""
    run = shop.launch("orders", partitions="2013-01-01..2013-01-03")
    ready(shop)
    code, told, _ = partita("runs", "show", str(run))
    text = " ".join(told.split())
    assert code == 0
    assert "limits: 2 tasks wait for slots of a pool" in text
    assert "workers: 1 task waits for a worker: none of the queue is alive" in text


def test_what_nobody_watches_says_what_is_lacking(world: Any, client: httpx.Client) -> None:
    """First a triggerer, then a server of its location, then the version, then nothing but a moment."""
    file = WaitSpec(trigger="m:File", args={}, label="file /in/{partition}.csv", deadline_s=3600.0)
    world.activate([world.spec("orders", DAYS, wait_for=(file,))], checks=())
    world.launch("orders", partitions="2013-01-01")

    def text() -> str:
        return str(waiting(client, "orders", "2013-01-01")["text"])

    def sql(statement: str) -> None:
        with psycopg.connect(world.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    assert text().startswith("waits for file /in/2013-01-01.csv since ")
    assert text().endswith("nobody watches it: no triggerer runs; start `partita triggerer`")
    with world.store.begin() as tx:
        tx.put_triggerer(TriggererId("host-7"), "host", 7, 3600.0)
    sql("UPDATE code_server SET lease_expires_at = now() - interval '1 s'")
    assert text().endswith("nobody watches it: no server of its code location is up")
    sql("UPDATE code_server SET lease_expires_at = now() + interval '1 h', versions = '[]'")
    explain(world.store)
    assert "no server has had the version of its run since" in text()
    assert text().endswith("it is `removed` and planned again on the code of now")
    sql("DELETE FROM version_gone")
    assert text().endswith("nobody watches it yet: a triggerer will in a moment")
    sql("UPDATE wait SET triggerer_id = 'host-7'")
    assert text().endswith("watched by host-7")
