"""The words after `automation=`: how they join, what they say, and the slips that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from partita.assets import ConditionSpec, DefinitionError, EagerSpec, condition_of
from partita.sdk import Daily, Multi, Static, asset, eager, manual, on_close, on_cron, on_missing, when
from partita.sdk.collector import Collector, collecting


def test_joins_do_not_go_by_brackets() -> None:
    one, two, three = when.missing, when.failed, when.latest(2)
    assert ((one & two) & three).spec == (one & (two & three)).spec
    assert (one & two).spec != (two & one).spec
    assert repr((one | two) & ~three) == "Automation('(missing | failed) & ~latest(2)')"


def test_whole_policies_keep_their_name_when_joined() -> None:
    assert repr(on_close("1h") & when.latest(3)) == "Automation(\"on_close(lag='1h') & latest(3)\")"
    assert eager().spec == EagerSpec()
    assert isinstance((eager() & when.ready).spec, ConditionSpec)


def test_stale_is_data_or_code_that_changed() -> None:
    assert repr(when.stale & when.ready) == "Automation('stale & ready')"
    assert when.stale.node.of == (when.data_changed.node, when.code_changed.node)  # type: ignore[union-attr]


def test_upstream_assets_are_named_by_themselves_or_by_key() -> None:
    with collecting(Collector()):

        @asset
        def orders() -> int:
            return 1

        by_itself = when.all_deps(when.dep.updated, allow=[orders])
    assert by_itself.spec == when.all_deps(when.dep.updated, allow=["orders"]).spec


@pytest.mark.parametrize(
    ("slip", "says"),
    [
        (lambda: eager() and when.failed, "join conditions by &"),
        (lambda: not when.failed, "join conditions by &"),
        (lambda: eager() & manual(), "leave it out"),
        (lambda: eager() & "failed", "a condition is joined with a condition"),  # type: ignore[operator]
        (lambda: when.any_deps(when.missing), "when.any_deps(when.dep.missing)"),  # type: ignore[arg-type]
        (lambda: when.latest(0), "at least one"),
        (lambda: on_close(lookback=-1), "0 or more"),
        (lambda: on_close(catch_up="al"), "did you mean 'all'"),  # type: ignore[arg-type]
        (lambda: on_close(pace=0), "a whole number from 1"),
        (lambda: when.closed(pace=0), "a whole number from 1"),
        (lambda: on_close("soon"), "a duration is"),
        (lambda: on_cron("0 25 * * *"), "25"),
        (lambda: on_cron("0 6 * * *", "Berlin"), "Berlin"),
    ],
)
def test_a_slip_says_what_to_write(slip: Callable[[], Any], says: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        slip()
    assert says in str(refused.value)


@pytest.mark.parametrize("partitions", [None, Static("x")])
def test_windows_that_close_need_time(partitions: Any) -> None:
    with collecting(Collector()), pytest.raises(DefinitionError, match="only partitions by time have windows"):

        @asset(partitions=partitions, automation=on_close())
        def orders() -> int:
            return 1


def test_a_dimension_of_time_has_windows_that_close() -> None:
    with collecting(Collector()):

        @asset(partitions=Multi(day=Daily("2026-03-01"), shop=Static("x")), automation=on_close() | on_missing())
        def orders() -> int:
            return 1

    assert condition_of((on_close() | on_missing()).spec) is not None
