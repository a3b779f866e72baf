"""Observed external assets: unobserved is missing, consumers follow what moved, on both stores (S-223, DESIGN section 5)."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import Daily, EagerSpec, UnknownAsset, UnknownPartition
from partita.core.changes.observed import ObservationRefused, Said, observations_of
from partita.core.decide.traces import in_trace
from partita.core.duties.observe import Observed, observe, observe_in
from partita.core.store.values import RunId

DAYS = Daily("2024-01-01", end="2024-01-08")


@pytest.fixture
def graph(stage: Any, asset_of: Any) -> Any:
    stage.define(
        [
            asset_of("feed", DAYS, kind="external", observed=True),
            asset_of("fixed", DAYS, kind="external"),
            asset_of("orders", DAYS, {"feed": (DAYS, None), "fixed": (DAYS, None)}, automation=EagerSpec()),
        ]
    )
    return stage


def say(stage: Any, *said: tuple[str, str], asset: str = "feed") -> Observed:
    with stage.store.begin() as tx:
        now = tx.now()
    catalog = stage.active()
    found = observations_of(catalog, [Said(asset, partition, version) for partition, version in said], now)
    return observe(stage.store, found, by="a test", followed=catalog.automation_assets)


def test_a_partition_of_which_nothing_was_said_is_missing(graph: Any) -> None:
    assert graph.request("orders") is None
    say(graph, ("2024-01-02", "v1"))
    assert graph.request("orders") is not None


def test_consumers_follow_the_versions_that_moved_and_no_others(graph: Any) -> None:
    say(graph, ("2024-01-02", "v1"), ("2024-01-03", "v1"))
    assert graph.settle() == 2
    done = say(graph, ("2024-01-02", "v1"), ("2024-01-03", "v2"))
    assert (len(done.moved), done.confirmed) == (1, 1)
    assert graph.settle() == 1
    assert graph.attempts[-1] == ("orders", "2024-01-03")
    assert graph.settle() == 0


def test_what_follows_a_report_goes_on_in_its_trace(graph: Any) -> None:
    """S-248. Of what follows several reports at once no trace is the one."""
    catalog = graph.active()

    def told(partition: str, trace: str) -> None:
        with graph.store.begin() as tx:
            found = observations_of(catalog, [Said("feed", partition, "v1")], tx.now())
        with graph.store.begin() as tx:
            observe_in(tx, found, by="a test", followed=catalog.automation_assets, told=in_trace(trace))

    def traces() -> list[str | None]:
        with graph.store.begin() as tx:
            return [run.cause.get("traceparent") for run in tx.read_runs([RunId(n) for n in range(1, 9)])]

    one, other = (f"00-{digit * 32}-00f067aa0ba902b7-01" for digit in "ab")
    told("2024-01-02", one)
    graph.settle()
    assert traces() == [one]
    told("2024-01-03", one)
    told("2024-01-04", other)
    say(graph, ("2024-01-05", "v1"))
    graph.settle()
    assert traces() == [one, None]
    told("2024-01-06", "nonsense")
    graph.settle()
    assert traces() == [one, None, None]


def test_what_cannot_be_recorded_names_the_rule_and_the_fix(graph: Any) -> None:
    with pytest.raises(ObservationRefused, match=r"observed by nobody.*observe=\"push\""):
        say(graph, ("2024-01-02", "v1"), asset="fixed")
    with pytest.raises(ObservationRefused, match="is made by partita"):
        say(graph, ("2024-01-02", "v1"), asset="orders")
    with pytest.raises(UnknownAsset, match="did you mean 'feed'"):
        say(graph, ("2024-01-02", "v1"), asset="fed")
    with pytest.raises(UnknownPartition):
        say(graph, ("2024-01-09", "v1"))
    with pytest.raises(ObservationRefused, match="characters"):
        say(graph, ("2024-01-02", ""))
