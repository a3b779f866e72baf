"""Data that were wiped with their cells, on real Postgres and real files: collected once nothing refers to them, never before."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from partita.assets import Daily
from partita.core.decide.by_hand import ByHandRefused
from partita.core.duties.collect import file_of, files_of
from partita.core.duties.leases import pulse
from partita.sdk.io.lake import parse_location, remove_file
from partita.ui.api.models.by_hand import ByHandConfirm, ByHandRequest

Partita = Callable[..., tuple[int, str, str]]
DAY_S = 86_400.0
DAYS = tuple(f"2013-01-0{day}" for day in range(1, 6))


class Lake:
    """A deployment whose attempts leave real files, one for all cells of an attempt."""

    def __init__(self, world: Any, root: Path) -> None:
        self.world = world
        self.root = root
        days = Daily("2013-01-01", end="2013-01-06")
        world.activate([world.spec("orders", days), world.spec("sums", days)], checks=())

    def make(self, key: str, partitions: str) -> None:
        self.world.launch(key, partitions=partitions, mode=("all",))
        self.world.work(result=self.written)

    def written(self, claimed: Any) -> Any:
        file = self.root / claimed.task.step / f"{claimed.attempt_id}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("rows")
        result = self.world.written(claimed, version=f"v{claimed.attempt_id}")
        at = f"lake:{file.as_uri()}"
        return result._replace(cells=tuple(cell._replace(location=at) for cell in result.cells))

    def do(self, verb: str, partitions: str, key: str = "orders", **more: Any) -> Any:
        asked = {"verb": verb, "selection": key, "partitions": partitions, **more}
        shown = self.world.services.by_hand.preview(ByHandRequest.model_validate(asked))
        confirm = {**asked, "reason": "wrong", "confirm_cells": shown.cells}
        return self.world.services.by_hand.apply(ByHandConfirm.model_validate(confirm))

    def sql(self, statement: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.world.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def locations(self, key: str = "orders") -> dict[str, str]:
        found = self.sql(
            "SELECT partition, location FROM cell WHERE asset_id = %s AND location IS NOT NULL",
            self.world.asset_id(key),
        )
        return dict(found)

    def share(self, partitions: tuple[str, ...]) -> Path:
        """These cells of orders are in one file."""
        file = self.root / "orders" / f"shared-{partitions[0]}.parquet"
        file.write_text("rows")
        for number, one in enumerate(partitions):
            self.sql(
                "UPDATE cell SET location = %s WHERE asset_id = %s AND partition = %s",
                f"lake:{file.as_uri()}#cell={number}", self.world.asset_id("orders"), one,
            )  # fmt: skip
        return file

    def age(self) -> None:
        """Two days pass over what is doomed."""
        self.sql("UPDATE doomed_file SET since = since - interval '2 days' WHERE taken_at IS NULL")

    def collect(self, remove: Callable[[str], bool] = remove_file) -> Any:
        service = self.world.services.collections
        return service.collect(service.preview(DAY_S, 500).files, DAY_S, remove)


@pytest.fixture
def lake(world: Any, tmp_path: Path) -> Lake:
    lake = Lake(world, tmp_path / "lake")
    lake.make("orders", "all")
    return lake


def path_of(location: str) -> Path:
    return parse_location(location)[0]


def test_wiped_data_go_after_the_grace_and_nothing_else_does(lake: Lake, partita: Partita) -> None:
    gone, *others = (path_of(lake.locations()[day]) for day in DAYS)
    done = lake.do("wipe", DAYS[0], data=True)
    code, out, _ = partita("collect", "--dry-run")
    assert (code, out.strip()) == (0, "0 files to remove; 1 wiped too lately, 0 still referred to.")
    assert lake.collect().removed == 0
    lake.age()
    code, out, _ = partita("collect", "--dry-run", "--json")
    assert [file_of(one) for one in json.loads(out)["files"]] == [f"lake:{gone.as_uri()}"]
    assert gone.exists(), "a dry run removes nothing"
    code, out, err = partita("collect", "--yes")
    assert (code, "Removed 1 file." in out) == (0, True), err
    assert not gone.exists()
    assert all(file.exists() for file in others)
    with pytest.raises(ByHandRefused, match="the data are gone"):
        lake.world.services.by_hand.undo(done.entry)
    with pytest.raises(ByHandRefused, match="the data are gone"):
        lake.do("materialized", DAYS[0], location=f"lake:{gone.as_uri()}")
    assert [one.text for one in lake.world.services.audit.page(limit=2).entries] == [
        "collected 1 file",
        f"wiped 1 cell of orders {DAYS[0]} with their data",
    ]


def test_an_undo_and_a_mark_spare_the_data(lake: Lake) -> None:
    before = lake.locations()
    first = lake.do("wipe", DAYS[0], data=True)
    lake.do("wipe", DAYS[1], data=True)
    lake.world.services.by_hand.undo(first.entry)
    lake.do("materialized", DAYS[1], location=before[DAYS[1]])
    lake.age()
    assert lake.collect().removed == 0
    assert lake.locations() == before
    assert all(path_of(one).exists() for one in before.values())


def test_a_file_that_another_cell_or_an_undo_refers_to_stays(lake: Lake) -> None:
    file = lake.share(DAYS[:3])
    lake.do("wipe", DAYS[0], data=True)
    lake.age()
    done = lake.collect()
    assert (done.removed, done.wanted, file.exists()) == (0, 0, True), "it is not even shown"
    # The second cell points elsewhere by a mark that can be taken back, the third is wiped with its data.
    marked = lake.do("materialized", DAYS[1], location=f"lake:{(lake.root / 'elsewhere').as_uri()}")
    lake.do("wipe", DAYS[2], data=True)
    lake.age()
    assert lake.collect().removed == 0
    assert file.exists(), "an undo gives it back"
    lake.world.services.by_hand.undo(marked.entry)
    lake.do("wipe", DAYS[1], data=True)
    lake.age()
    assert lake.collect().removed == 1
    assert not file.exists()


def test_what_an_attempt_may_be_reading_stays_until_it_has_ended(lake: Lake) -> None:
    lake.world.launch("sums", partitions=DAYS[0])
    [claimed] = lake.world.claim()
    file = path_of(lake.locations()[DAYS[0]])
    lake.do("wipe", DAYS[0], data=True)
    lake.sql("UPDATE task SET started_at = started_at - interval '9 days' WHERE state = 'running'")
    lake.age()
    assert lake.collect().removed == 0
    assert file.exists()
    lake.world.finish([lake.written(claimed)])
    assert lake.collect().removed == 1
    assert not file.exists()


def test_a_collector_that_dies_is_followed_by_one_that_goes_on(lake: Lake) -> None:
    first, second = (path_of(lake.locations()[day]) for day in DAYS[:2])
    lake.do("wipe", f"{DAYS[0]}, {DAYS[1]}", data=True)
    lake.age()

    def dies_after_one(location: str) -> bool:
        remove_file(location)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.collect(dies_after_one)
    assert first.exists() is not second.exists()
    assert lake.collect().removed == 2
    assert [first.exists(), second.exists()] == [False, False]
    assert lake.collect().removed == 0


def test_data_that_are_not_there_or_not_the_lakes_are_left(lake: Lake) -> None:
    lake.do("wipe", DAYS[0], data=True)
    lake.age()
    lake.root.rename(lake.root.with_name("away"))
    done = lake.collect()
    assert (done.removed, done.left[0].endswith("its folder is not there: collect where the data are")) == (0, True)
    lake.root.with_name("away").rename(lake.root)
    assert lake.collect().removed == 1
    lake.sql("UPDATE cell SET location = 'duckdb:file:///db#t' WHERE partition = %s", DAYS[1])
    with pytest.raises(ByHandRefused, match="are not collected"):
        lake.do("wipe", DAYS[1], data=True)
    assert DAYS[1] in lake.locations(), "nothing of it was done"


@pytest.mark.parametrize("seed", range(3))
def test_whatever_people_do_no_pointer_ever_leads_nowhere(lake: Lake, seed: int) -> None:
    random = Random(seed)
    entries: list[int] = []
    removed = 0
    for _ in range(60):
        days = ", ".join(sorted(random.sample(DAYS, random.randint(1, 3))))
        act = random.choice(["make", "share", "wipe", "data", "data", "mark", "undo", "collect", "collect"])
        pulse(lake.world.store)
        if act == "make":
            lake.make("orders", days)
        elif act == "share":
            there = sorted(lake.locations())
            if len(there) > 1:
                lake.share(tuple(random.sample(there, 2)))
        elif act in ("wipe", "data") and set(days.split(", ")) & lake.locations().keys():
            entries.append(lake.do("wipe", days, data=act == "data").entry)
        elif act == "mark" and lake.locations():
            with suppress(ByHandRefused):
                location = random.choice(sorted(lake.locations().values()))
                entries.append(lake.do("materialized", random.choice(DAYS), location=location).entry)
        elif act == "undo" and entries:
            with suppress(ByHandRefused):
                lake.world.services.by_hand.undo(entries.pop(random.randrange(len(entries))))
        elif act == "collect":
            lake.age()
            removed += lake.collect().removed
        lost = [one for one in files_of(lake.locations().values()) if not path_of(one).exists()]
        assert not lost, f"seed {seed}: after {act} of {days}"
    assert removed, "it collected something"
