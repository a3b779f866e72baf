"""context.add_partitions: what an attempt may add, and the cap (S-023)."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import DefinitionError, PartitaError
from partita.sdk import Daily, Dynamic, asset
from partita.sdk.testing import definitions, make_context

FILES = Dynamic("files")


def test_keys_are_collected_once_in_their_order() -> None:
    context = make_context()
    context.add_partitions(FILES, ["b", "a", "b"])
    context.add_partitions(FILES, iter(["c", "a"]))
    context.add_partitions(Dynamic("days"), [])
    assert context.added_partitions == {"files": ("b", "a", "c"), "days": ()}


def test_a_list_above_the_cap_is_an_error_that_names_it_also_in_parts() -> None:
    context = make_context()
    context.add_partitions(FILES, [f"{n}" for n in range(1_024)])
    with pytest.raises(DefinitionError) as refused:
        context.add_partitions(FILES, ["one too many"])
    assert str(refused.value) == (
        "1,025 keys for dynamic partitions 'files' in one attempt; the cap of fan-out is 1,024; "
        "add fewer, or raise it with @asset(fan_out=...)"
    )
    assert len(context.added_partitions["files"]) == 1_024


def test_bad_keys_are_all_named_and_nothing_is_added() -> None:
    context = make_context()
    with pytest.raises(DefinitionError, match="2 of 3 keys"):
        context.add_partitions(FILES, ["", "fine", "line\nbreak"])
    assert context.added_partitions == {}


@pytest.mark.parametrize("scheme", ["files", Daily("2026-03-01")])
def test_what_is_no_dynamic_scheme_is_refused(scheme: Any) -> None:
    with pytest.raises(PartitaError, match="it adds keys to dynamic partitions"):
        make_context().add_partitions(scheme, ["a"])


@pytest.mark.parametrize("cap", [0, -1, True, "many"])
def test_a_cap_is_a_whole_number_of_at_least_one(cap: Any) -> None:
    with definitions(), pytest.raises(DefinitionError, match=r"fan_out=.*; it is how many keys one attempt may add"):

        @asset(fan_out=cap, io=None)
        def listing() -> None: ...
