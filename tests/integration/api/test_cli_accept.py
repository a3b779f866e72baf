"""Accepting changed code instead of rebuilding history: previewed, recorded, undoable (S-055, law 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Partita = Callable[..., tuple[int, Any, str]]
DAYS = "2013-01-01..2013-01-04"


@pytest.fixture
def partita(partita: Callable[..., tuple[int, str, str]]) -> Partita:
    """Runs one command line with --json; gives exit code, the value and stderr."""

    def command(*arguments: str) -> tuple[int, Any, str]:
        code, out, err = partita(*arguments, "--json")
        return code, json.loads(out), err

    return command


def specs(world: Any, **codes: str) -> list[Any]:
    """The definitions of the world, some with other code."""
    return [
        one.model_copy(update={"fingerprint": f"{one.key}-{codes[one.key]}"}) if one.key in codes else one
        for one in world.assets
    ]


@pytest.fixture
def made(world: Any) -> Any:
    """Four days of delays and what they read; then the code of `delays` changes."""
    world.activate()
    world.launch("+delays", partitions=DAYS, upstream=True)
    world.work()
    world.activate(specs(world, delays="2"))
    assert counts(world) == {"stale": 4, "missing": 27}
    return world


def counts(world: Any, key: str = "delays") -> dict[str, int]:
    [found] = world.new_services().assets.find(select=key).assets
    told: dict[str, int] = found.counts
    return told


def test_accepted_cells_are_fresh_and_hold_what_they_held(made: Any, partita: Partita) -> None:
    before = made.services.assets.partitions("delays", state="stale", offset=0, limit=10, partitions=None).items
    code, told, _ = partita("accept", "delays", "--partitions", DAYS, "--reason", "only a log line", "--yes")
    assert (code, told["cells"], told["passed_over"]) == (0, 4, 0)
    assert told["preview"] == [
        {"asset": "delays", "cells": 4, "partitions": DAYS, "code": 4, "dependencies": 0, "still_stale": 0}
    ]
    assert counts(made) == {"fresh": 4, "missing": 27}
    after = made.new_services().assets.partitions("delays", state="fresh", offset=0, limit=10, partitions=None).items
    assert [(one.partition, one.data_version, one.published_at) for one in after] == [
        (one.partition, one.data_version, one.published_at) for one in before
    ]
    [listed] = partita("accept", "--list")[1]
    assert (listed["id"], listed["cells"], listed["reason"]) == (told["acceptance"], 4, "only a log line")
    with made.store.read() as reader:
        audited = reader._connection.execute("SELECT action, reason FROM audit WHERE action = 'accept'").fetchall()
    assert audited[0][1] == "only a log line"


def test_only_what_was_selected_is_accepted(made: Any, partita: Partita) -> None:
    _, told, _ = partita("accept", "delays", "--partition", "2013-01-02", "--reason", "checked", "--yes")
    assert told["cells"] == 1
    assert counts(made) == {"stale": 3, "fresh": 1, "missing": 27}
    assert partita("accept", "delays", "--partition", "2013-01-02", "--reason", "again", "--yes")[1]["preview"] == []


def test_undo_restores_and_leaves_what_was_made_since(made: Any, partita: Partita) -> None:
    _, told, _ = partita("accept", "delays", "--partitions", "all", "--reason", "checked", "--yes")
    made.launch("delays", partitions="2013-01-03", mode=["all"])
    assert made.work() == 1
    # The day was made again with the present code, and came out the same: it is not stale, whatever is taken back.
    code, undone, _ = partita("accept", "--undo", str(told["acceptance"]), "--yes")
    assert (code, undone["cells"], undone["passed_over"]) == (0, 3, 1)
    assert counts(made) == {"stale": 3, "fresh": 1, "missing": 27}
    assert partita("accept", "--undo", str(told["acceptance"]), "--yes")[0] == 2


def test_code_that_is_accepted_hides_no_data_that_moved(made: Any, partita: Partita) -> None:
    made.launch("raw/flights", partitions="2013-01-01", mode=["all"])
    made.work(result=lambda claimed: made.written(claimed, version="v2"))
    _, told, _ = partita("accept", "delays", "--partitions", "all", "--reason", "checked", "--yes")
    assert told["preview"][0]["still_stale"] == 1
    assert counts(made) == {"fresh": 3, "stale": 1, "missing": 27}


def test_changed_dependencies_are_accepted_with_what_the_inputs_hold_now(made: Any, partita: Partita) -> None:
    days = made.catalog.definition("delays")
    alone = [made.spec("delays", days, {"raw/flights": days}) if one.key == "delays" else one for one in made.assets]
    made.activate(alone)
    assert counts(made) == {"stale": 4, "missing": 27}
    _, told, _ = partita("accept", "delays", "--partitions", "all", "--reason", "weather was never used", "--yes")
    assert (told["preview"][0]["code"], told["preview"][0]["dependencies"]) == (0, 4)
    assert counts(made) == {"fresh": 4, "missing": 27}
    partita("accept", "--undo", str(told["acceptance"]), "--yes")
    assert counts(made) == {"stale": 4, "missing": 27}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["delays", "--reason", "x"], "for which partitions"),
        (["delays", "--partitions", "all"], "accept says why"),
        (["delays", "--partitions", "all", "--reason", " "], "accept says why"),
        ([], "accept what?"),
        (["delays", "--undo", "1"], "are given together"),
        (["--undo", "77", "--yes"], "there is no acceptance 77"),
        (["delayss", "--partitions", "all", "--reason", "x"], "delayss"),
        (["delays", "--partitions", "all", "--reason", "x"], "nobody confirmed it"),
    ],
)
def test_refusals_change_nothing(made: Any, partita: Partita, arguments: list[str], expected: str) -> None:
    code, told, _ = partita("accept", *arguments)
    assert code == 2
    assert expected in told["error"]["what"]
    assert counts(made) == {"stale": 4, "missing": 27}
