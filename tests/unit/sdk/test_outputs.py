"""What a function may give back, sorted by asset and partition; what fits no cell is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import AssetKey, PartitaError
from partita.sdk import Output, Skip
from partita.sdk.outputs import sort_outputs
from partita.sdk.runtime import TargetCell


def cells(**partitions: str) -> dict[AssetKey, tuple[TargetCell, ...]]:
    return {AssetKey(key): tuple(TargetCell(key, one) for one in names.split(" ")) for key, names in partitions.items()}


def test_a_plain_value_is_for_all_cells() -> None:
    given = sort_outputs([{"x": 1}], cells(a="p q"), "asset 'a'")[AssetKey("a")]
    assert given.output_of("p").value == given.output_of("q").value == [{"x": 1}]


def test_a_dict_is_by_asset_only_for_groups() -> None:
    assert sort_outputs({"a": 1}, cells(a="p"), "x")[AssetKey("a")].output_of("p").value == {"a": 1}
    found = sort_outputs({"a": 1, "b": Output(2, data_version="v")}, cells(a="p", b="p"), "x")
    assert found[AssetKey("a")].output_of("p").value == 1
    assert found[AssetKey("b")].output_of("p") == Output(2, asset="b", data_version="v")


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([Output(1, partition="r")], "gave partition 'r', which is not of this task"),
        ([Output(1, partition="p")], "gave nothing for 'a' partition 'q'"),
        ([Output(1, partition="p"), Output(1, partition="p")], "twice"),
        ([Output(1), Output(1)], "more than one value"),
        ([Output(1), Output(1, partition="p")], "twice"),
        ([Output(1, asset="b")], "gave 'b', which it was not asked for"),
        ([Skip("x", partition="r")], "gave partition 'r', which is not of this task"),
        ((one for one in [1]), "yielded a int"),
    ],
)
def test_what_fits_no_cell_is_refused(returned: Any, said: str) -> None:
    with pytest.raises(PartitaError) as caught:
        sort_outputs(returned, cells(a="p q"), "asset 'a'")
    assert said in str(caught.value)
    assert "asset 'a'" in str(caught.value)


def test_a_group_must_say_which() -> None:
    with pytest.raises(PartitaError, match="makes 2 assets and returned a int"):
        sort_outputs(3, cells(a="p", b="p"), "group a, b")
    with pytest.raises(PartitaError, match="without asset="):
        sort_outputs(Output(3), cells(a="p", b="p"), "group a, b")
    with pytest.raises(PartitaError, match="gave nothing for 'b'"):
        sort_outputs({"a": 3}, cells(a="p", b="p"), "group a, b")


def test_a_skip_covers_all_members_of_a_group() -> None:
    found = sort_outputs(
        [Skip("no", partition="p"), Output(1, asset="a", partition="q"), Output(2, asset="b", partition="q")],
        cells(a="p q", b="p q"),
        "x",
    )
    assert {key: one.skipped for key, one in found.items()} == {"a": {"p": "no"}, "b": {"p": "no"}}


MEMBERS = [AssetKey("a"), AssetKey("b"), AssetKey("c")]


def test_of_a_group_the_members_that_were_asked_for_are_given_by_name() -> None:
    """One member of three is still a member: a dict is by asset, and a bare value says not which."""
    (given,) = sort_outputs({"b": 1}, cells(b="p"), "group", members=MEMBERS).items()
    assert (given[0], given[1].output_of("p").value) == ("b", 1)
    with pytest.raises(PartitaError, match=r"gave 'c', which it was not asked for; .*context\.assets lists"):
        sort_outputs({"b": 1, "c": 2}, cells(b="p"), "group", members=MEMBERS)
    with pytest.raises(PartitaError, match="gave nothing for 'b'"):
        sort_outputs({}, cells(b="p"), "group", members=MEMBERS)
    with pytest.raises(PartitaError, match="returned a int"):
        sort_outputs(3, cells(b="p"), "group", members=MEMBERS)


def test_a_partition_that_is_asked_of_a_sibling_only_is_passed_over() -> None:
    """Another run makes that cell already: the task keeps the rest of what it was planned for."""
    outputs = [Output(key + day, asset=key, partition=day) for key in "ab" for day in "pq"]
    found = sort_outputs(outputs, cells(a="p q", b="q"), "group", members=MEMBERS)
    assert {key: dict(one.by_partition) for key, one in found.items()} == {
        "a": {"p": outputs[0], "q": outputs[1]},
        "b": {"q": outputs[3]},
    }
