"""Keys that an attempt adds: with the commit that ends its task well, once, or not at all (S-023)."""

from __future__ import annotations

import pytest
from tests.unit.duties.duty_world import World, report, step

from partita.assets import Dynamic
from partita.core.duties.channels import Channel
from partita.core.duties.dynamic import add_keys
from partita.core.duties.retries import wake_retries
from partita.core.duties.values_attempts import AddedKeys, AttemptResult, Claimed
from partita.core.store.values import AssetId, AttemptOutcome

FILES = Dynamic("files", cap=4)


@pytest.fixture
def listing(world: World) -> Claimed:
    world.launch(step(1, retries=1), step(2, 0))
    return world.start()["s1"]


def adding(claimed: Claimed, *keys: str, outcome: AttemptOutcome = AttemptOutcome.SUCCESS) -> AttemptResult:
    return report(claimed, outcome)._replace(added=(AddedKeys(FILES, keys, (AssetId(7),)),))


def there(world: World) -> list[str]:
    rows = [row for row in world.rows("dynamic_key") if row["ended"] is None]
    return [row["key"] for row in sorted(rows, key=lambda row: (row["revision"], row["place"]))]


def test_keys_exist_from_the_commit_that_publishes_and_are_news_for_what_follows(
    world: World, listing: Claimed
) -> None:
    told = world.finish(adding(listing, "b.csv", "a.csv"))
    assert there(world) == ["b.csv", "a.csv"]
    assert [(row["consumer"], row["asset_id"], row["partition"]) for row in world.rows("event_todo")] == [
        ("keys", 7, "b.csv"),
        ("keys", 7, "a.csv"),
    ]
    assert set(told.channels) >= {Channel.TODO, Channel.EVENT}
    assert world.states() == {"s1": "success", "s2": "scheduled"}
    (entry,) = [row for row in world.rows("audit") if row["action"] == "add_keys"]
    assert (entry["who"], entry["detail"]["count"]) == ("s1", 2)


def test_a_report_that_comes_again_or_late_adds_nothing(world: World, listing: Claimed) -> None:
    world.finish(adding(listing, "a.csv"))
    before = world.memory.dump()
    assert world.finish(adding(listing, "a.csv", "z.csv")).refused
    assert world.memory.dump() == before


def test_an_attempt_that_fails_adds_nothing_and_its_retry_adds_once(world: World, listing: Claimed) -> None:
    world.finish(adding(listing, "a.csv", outcome=AttemptOutcome.FAILED))
    assert there(world) == []
    wake_retries(world.store)
    world.finish(adding(world.start()["s1"], "a.csv", "b.csv"))
    assert there(world) == ["a.csv", "b.csv"]


def test_keys_that_are_there_already_are_no_news(world: World, listing: Claimed) -> None:
    add_keys(world.store, FILES, ["a.csv"], who="ann")
    world.finish(adding(listing, "a.csv", "b.csv"))
    assert [row["partition"] for row in world.rows("event_todo")] == ["b.csv"]


def test_beyond_the_cap_of_the_scheme_the_task_fails_for_good_and_nothing_is_published(
    world: World, listing: Claimed
) -> None:
    world.finish(adding(listing, "a", "b", "c", "d", "e"))
    row = world.of_step("s1")
    assert row["state"] == "failed"
    assert row["error"].startswith("dynamic partitions 'files' would have 5 keys")
    assert "the cap is 4" in row["error"]
    assert there(world) == []
    assert not world.events("materialized")


def test_other_reports_of_the_batch_go_on(world: World) -> None:
    world.launch(step(1), step(2), step(3))
    started = world.start()
    too_many = adding(started["s2"], "a", "b", "c", "d", "e")
    world.finish(report(started["s1"]), too_many, adding(started["s3"], "x"))
    assert world.states() == {"s1": "success", "s2": "failed", "s3": "success"}
    assert there(world) == ["x"]
