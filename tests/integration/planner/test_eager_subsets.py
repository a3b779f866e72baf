"""Of a subsettable group automation asks for the members that have a reason, each judged by itself; of others for all."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import AnyBatchSpec, AssetKey, Daily, EagerSpec, TimeOverlap
from partita.core.automation.judge import Verdict
from partita.core.automation.tell import tell

DAYS = Daily("2024-01-01", end="2024-01-08")
DAY = "2024-01-02"
BATCH = AnyBatchSpec()
BEFORE = TimeOverlap(-1, -1, edge="clip")


@pytest.fixture
def versions() -> dict[str, str]:
    """Data versions by asset; "v1" where none is given."""
    return {}


@pytest.fixture
def group(stage: Any, asset_of: Any, versions: dict[str, str]) -> Any:
    """Defines up1 and up2, and the eager group m1, m2 over them; `reads` by member."""

    def define(*, subsettable: bool = True, **reads: tuple[str, ...]) -> Any:
        stage.version = lambda key, partition: versions.get(key, "v1")
        members = [
            asset_of(
                key,
                DAYS,
                {up: (DAYS, BEFORE if up == "m1" else None) for up in reads.get(key, ())},
                step="m",
                subsettable=subsettable,
                batch=BATCH,
                automation=EagerSpec(),
            )
            for key in ("m1", "m2")
        ]
        stage.define([asset_of("up1", DAYS), asset_of("up2", DAYS), *members])
        return stage

    return define


def made(stage: Any) -> list[str]:
    """The members that were made since the last call, in order."""
    found = [key for key, _ in stage.attempts if key.startswith("m")]
    stage.attempts.clear()
    return found


def move(stage: Any, versions: dict[str, str], key: str, version: str) -> None:
    versions[key] = version
    stage.request(f'"{key}"', ("all",), partitions=DAY)


def test_only_the_member_whose_input_moved_is_asked_for(group: Any, versions: dict[str, str]) -> None:
    stage = group(m1=("up1",), m2=("up2",))
    stage.request("up1, up2", partitions=DAY)
    stage.settle()
    assert sorted(made(stage)) == ["m1", "m2"]
    move(stage, versions, "up2", "v2")
    stage.settle()
    assert made(stage) == ["m2"]
    assert stage.settle() == 0


def test_of_a_group_that_is_made_together_all_members_are_asked_for(group: Any, versions: dict[str, str]) -> None:
    stage = group(m1=("up1",), m2=("up2",), subsettable=False)
    stage.request("up1, up2", partitions=DAY)
    stage.settle()
    made(stage)
    move(stage, versions, "up2", "v2")
    stage.settle()
    assert sorted(made(stage)) == ["m1", "m2"]


def test_a_member_is_not_kept_waiting_by_what_only_another_reads(group: Any) -> None:
    """The upstream of m1 is missing for good; nobody makes it."""
    stage = group(m1=("up1",), m2=("up2",))
    stage.request("up2", partitions=DAY)
    stage.settle()
    assert made(stage) == ["m2"]
    stage.request("up1", partitions=DAY)
    stage.settle()
    assert made(stage) == ["m1"]


def test_a_member_that_was_made_by_hand_is_not_made_again(group: Any) -> None:
    stage = group(m1=("up1",), m2=("up1",))
    stage.request("up1, m1", partitions=DAY)
    claimed = stage.start()
    stage.end(claimed)
    stage.work()
    made(stage)
    stage.settle()
    assert made(stage) == ["m2"]


def test_an_event_is_not_lost_on_the_member_that_no_open_task_makes(group: Any, versions: dict[str, str]) -> None:
    """A task of m1 alone waits to start; what moves above m2 is m2's reason, though the step has an open task there."""
    stage = group(m1=("up1",), m2=("up2",))
    stage.request("up1, up2", partitions=DAY)
    stage.settle()
    made(stage)
    versions["m1"] = "by hand"
    stage.request("m1", ("all",), partitions=DAY)
    move(stage, versions, "up2", "v2")
    stage.end([one for one in stage.start() if one.task.step == "up2"])
    assert stage.automate().requested == 1
    stage.settle()
    assert made(stage).count("m2") == 1


def test_a_member_that_reads_what_another_made_before_waits_for_it_alone(group: Any, versions: dict[str, str]) -> None:
    """m2 of a day reads m1 of the day before."""
    stage = group(m1=("up1",), m2=("m1", "up2"))
    stage.request("up2", partitions=DAY)
    stage.settle()
    assert made(stage) == []  # m1 of the day before is missing
    stage.request("up1", partitions=f"2024-01-01..{DAY}")
    stage.settle()
    assert sorted(made(stage)) == ["m1", "m1", "m2"]
    versions |= {"up1": "v2", "m1": "v2"}
    stage.request("up1", ("all",), partitions="2024-01-01")
    stage.settle()
    assert made(stage) == ["m1", "m2"]
    assert stage.settle() == 0


def test_people_are_told_of_the_member_they_ask_about(group: Any, versions: dict[str, str]) -> None:
    stage = group(m1=("up1",), m2=("up2",))
    stage.request("up1, up2", partitions=DAY)
    stage.settle()
    move(stage, versions, "up2", "v2")
    stage.work()
    with stage.store.begin() as tx:
        now = tx.now()
        at = stage.catalog.space("m1", now).find(DAY)
        told = {key: tell(tx, stage.catalog, AssetKey(key), [at], now)[0].verdict for key in ("m1", "m2")}
    assert told == {"m1": Verdict.REST, "m2": Verdict.ASK}
