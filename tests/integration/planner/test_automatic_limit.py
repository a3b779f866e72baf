"""What automation asks for above the limit waits for a person: one row a consumer, nothing lost, nothing made unseen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import All, Daily, EagerSpec, TimeOverlap
from partita.core.automation import Decision, Limits, RequestRefused, approve, reject, show, tend_requests
from partita.core.automation.held import decode_cells
from partita.core.store.memory import MemoryStore
from partita.core.store.values import NewEvent, RunId
from partita.core.store.values_requests import HeldRequest, RequestId, RequestState

DAYS = Daily("2024-01-01", end="2024-01-11")
EAGER = EagerSpec()
FIVE = Limits(max_cells=5)


@pytest.fixture
def graph(stage: Stage, asset_of: Any) -> Stage:
    """raw feeds mart and, through it, report (both eager); other has a consumer of its own. Everything was made once."""
    stage.define(
        [
            asset_of("raw", DAYS),
            asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EAGER),
            asset_of("report", None, {"raw": (DAYS, None), "mart": (DAYS, None)}, automation=EAGER),
            asset_of("other", DAYS),
            asset_of("beside", DAYS, {"other": (DAYS, None)}, automation=EAGER),
        ]
    )
    stage.limits = Limits(max_cells=100)
    stage.request("raw, other")
    stage.settle()
    stage.attempts, stage.limits = [], FIVE
    return stage


def move(stage: Stage, partitions: str, version: str, selection: str = "raw") -> None:
    """New data upstream, all of it published before automation looks."""
    stage.version = lambda key, partition: version
    stage.request(selection, ("all",), partitions=partitions)
    stage.work()


def held(stage: Stage) -> list[HeldRequest]:
    with stage.store.begin() as tx:
        return tx.held_requests([asset.id for asset in stage.catalog.assets.values()])


def ended(stage: Stage, request_id: int) -> HeldRequest:
    with stage.store.begin() as tx:
        found = tx.read_held_request(RequestId(request_id))
    assert found is not None
    return found


def keys(stage: Stage, request: HeldRequest) -> set[tuple[str, str]]:
    return {(str(stage.catalog.by_id[cell.asset_id].key), cell.partition) for cell in decode_cells(request.body)}


def made(stage: Stage, key: str) -> list[str]:
    return sorted(partition for asset, partition in stage.attempts if asset == key)


def word(stage: Stage, request: HeldRequest) -> Decision:
    return approve(stage.store, stage, request.id, revision=request.revision, by="ann")


def todo(stage: Stage) -> int:
    with stage.store.begin() as tx:
        events = tx.take_todo_skip("automation", 10_000)
        tx.put_back_todo("automation", events)
        return len(events)


def test_a_request_above_the_limit_waits_with_what_reads_it(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-06", "v2")
    found = graph.automate()
    assert (found.requested, found.held, found.run_id) == (0, 7, None)
    (request,) = held(graph)
    assert (request.state, request.cells, request.cell_limit, request.revision) == ("awaiting_input", 7, 5, 1)
    assert keys(graph, request) == {("report", "")} | {("mart", f"2024-01-0{day}") for day in range(1, 7)}
    assert [(row["asset"], row["cells"], row["by_reason"]) for row in request.preview] == [
        ("mart", 6, {"stale_data": 6}),
        ("report", 1, {"stale_data": 1}),
    ]
    assert request.preview[0]["partitions"] == "2024-01-01..2024-01-06"
    assert request.cause["text"] == "raw 2024-01-01..2024-01-06 were materialized"
    assert graph.settle() == 0
    assert todo(graph) == 0


def test_what_another_cause_asks_for_goes(graph: Stage) -> None:
    """Decided in the same visit: the limit is of a request, not of a moment."""
    move(graph, "2024-01-01..2024-01-06", "v2")
    move(graph, "2024-01-01..2024-01-05", "v2", "other")
    found = graph.automate()
    assert (found.requested, found.held) == (5, 7)
    graph.settle()
    assert len(made(graph, "beside")) == 5


def test_five_cells_are_not_above_five(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-04", "v2")
    assert graph.automate().requested == 5
    assert held(graph) == []


def test_many_events_leave_one_row_and_lose_nothing(graph: Stage) -> None:
    """S-026: a flood does not grow: later requests of the same consumer join the one that waits."""
    for round_ in range(4):
        move(graph, "2024-01-01..2024-01-06", f"v{round_ + 2}")
        graph.automate()
    move(graph, "2024-01-03..2024-01-10", "v9")
    graph.automate()
    (request,) = held(graph)
    assert request.cells == 11
    assert request.merged == 5
    assert word(graph, request).state is RequestState.APPROVED
    graph.settle()
    assert made(graph, "mart") == sorted(f"2024-01-{day:02}" for day in range(1, 11))
    assert made(graph, "report") == [""]
    assert held(graph) == []
    assert graph.request("*") is None


def test_an_equal_event_changes_nothing_of_what_was_shown(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (before,) = held(graph)
    with graph.store.begin() as tx:
        tx.append_events(
            [NewEvent("materialized", graph.ref("raw").asset_id, "2024-01-02", for_consumers=("automation",))]
        )
    graph.automate()
    assert held(graph) == [before]


def test_small_requests_go_beside_it_but_not_for_what_waits(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    move(graph, "2024-01-09", "v3")
    graph.automate()
    move(graph, "2024-01-02", "v3")
    graph.automate()
    graph.settle()
    assert made(graph, "mart") == ["2024-01-09"]
    (request,) = held(graph)
    assert ("mart", "2024-01-02") in keys(graph, request)
    assert ("mart", "2024-01-09") not in keys(graph, request)


def test_approving_what_changed_shows_the_difference_and_runs_nothing(graph: Stage) -> None:
    """Laws 3 and 6: what runs is what was shown."""
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (request,) = held(graph)
    graph.request("mart", partitions="2024-01-02")  # somebody makes one of them
    graph.work()
    graph.attempts = []
    with graph.store.begin() as tx:
        assert show(tx, graph, request.id).changed == "1 cell of mart no longer to be made"
    told = word(graph, request)
    assert (told.state, told.run_id, told.changed) == (
        RequestState.AWAITING_INPUT,
        None,
        "1 cell of mart no longer to be made",
    )
    with pytest.raises(RequestRefused, match="changed since it was shown"):
        word(graph, request)
    (fresh,) = held(graph)
    assert (fresh.revision, fresh.cells) == (2, 6)
    done = word(graph, fresh)
    assert done.run_id is not None
    graph.work()
    assert made(graph, "mart") == [f"2024-01-0{day}" for day in (1, 3, 4, 5, 6)]
    with graph.store.begin() as tx:
        (run,) = tx.read_runs([done.run_id])
    assert (run.cause["kind"], run.cause["approved_by"], run.cause["request"]) == ("eager", "ann", request.id)
    with pytest.raises(RequestRefused, match="was approved by ann already"):
        word(graph, fresh)


def test_one_of_which_nothing_is_left_ends_when_it_is_approved(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (request,) = held(graph)
    graph.request("*")
    graph.work()
    assert word(graph, request).state is RequestState.SUPERSEDED
    assert held(graph) == []


def test_a_rejected_state_is_not_asked_for_again_and_a_new_one_is(graph: Stage) -> None:
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (request,) = held(graph)
    with pytest.raises(RequestRefused, match="no reason"):
        reject(graph.store, request.id, revision=1, by="ann", reason=" ")
    reject(graph.store, request.id, revision=1, by="ann", reason="the source was wrong")
    done = ended(graph, request.id)
    assert (done.state, done.ended_by, done.end_reason, done.body) == ("rejected", "ann", "the source was wrong", None)
    with graph.store.begin() as tx:  # the same news again
        tx.append_events(
            [
                NewEvent("materialized", graph.ref("raw").asset_id, f"2024-01-0{day}", for_consumers=("automation",))
                for day in range(1, 7)
            ]
        )
    assert graph.automate().held == 0
    assert held(graph) == []
    assert made(graph, "mart") == []
    move(graph, "2024-01-01..2024-01-06", "v3")
    assert graph.automate().held == 7


def test_nobody_decides_in_time(graph: Stage) -> None:
    """It ends; nothing is remembered, so that the next event asks again."""
    graph.limits = Limits(max_cells=5, keep_s=-1)
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (request,) = held(graph)
    assert tend_requests(graph.store) == 1
    assert tend_requests(graph.store) == 0
    assert ended(graph, request.id).state is RequestState.EXPIRED
    graph.limits = FIVE
    move(graph, "2024-01-01..2024-01-06", "v3")
    assert graph.automate().held == 7


def test_an_asset_has_its_own_limit(stage: Stage, asset_of: Any) -> None:
    """Above the deployment's for one, below it for another; each goes by its own alone."""
    stage.define(
        [
            asset_of("raw", DAYS),
            asset_of("free", DAYS, {"raw": (DAYS, None)}, automation=EAGER, automatic_limit=10),
            asset_of("up", DAYS),
            asset_of("shy", DAYS, {"up": (DAYS, None)}, automation=EAGER, automatic_limit=0),
        ]
    )
    stage.limits = FIVE
    stage.request("raw")
    stage.request("up", partitions="2024-01-01")
    stage.work()
    found = stage.automate()
    assert (found.requested, found.held) == (10, 1)
    (request,) = held(stage)
    assert (keys(stage, request), request.cell_limit) == ({("shy", "2024-01-01")}, 0)


def test_a_wide_mapping_is_what_the_limit_is_for(stage: Stage, asset_of: Any) -> None:
    """One cell moves and a whole history would be made again; along a self-dependency, too."""
    own = {"rates": (None, All()), "sums": (DAYS, TimeOverlap(-1, -1))}
    stage.define([asset_of("rates"), asset_of("sums", DAYS, own, automation=EAGER)])
    stage.limits = FIVE
    stage.request("rates")
    stage.work()
    assert stage.automate().held == 10
    (request,) = held(stage)
    assert word(stage, request).state is RequestState.APPROVED
    stage.work()
    assert made(stage, "sums") == sorted(f"2024-01-{day:02}" for day in range(1, 11))


def test_two_consumers_that_waited_apart_are_one_request_when_one_cause_joins_them(stage: Stage, asset_of: Any) -> None:
    stage.define(
        [
            asset_of("a", DAYS),
            asset_of("b", DAYS),
            asset_of("of_a", DAYS, {"a": (DAYS, None)}, automation=EAGER),
            asset_of("of_b", DAYS, {"b": (DAYS, None)}, automation=EAGER),
            asset_of("both", DAYS, {"a": (DAYS, None), "b": (DAYS, None)}, automation=EAGER),
        ]
    )
    stage.limits = Limits(max_cells=1_000)
    stage.request("a, b")
    stage.settle()
    stage.limits = Limits(max_cells=3)
    stage.define([one for one in stage.specs if one.key != "both"])
    for key in ("a", "b"):
        move(stage, "2024-01-01..2024-01-04", "v2", key)
        stage.automate()
    first, second = held(stage)
    stage.define([*stage.specs, asset_of("both", DAYS, {"a": (DAYS, None), "b": (DAYS, None)}, automation=EAGER)])
    move(stage, "2024-01-05..2024-01-08", "v2", "a, b")
    stage.automate()
    (request,) = held(stage)
    assert request.id == first.id
    assert ended(stage, second.id).end_reason == f"merged into request {first.id}"
    assert {key for key, _ in keys(stage, request)} == {"of_a", "of_b", "both"}


def test_an_approved_request_joins_what_runs(graph: Stage) -> None:
    """Cells that somebody makes just now are joined or waited for, as in every launch; none is made twice for one cause."""
    move(graph, "2024-01-01..2024-01-06", "v2")
    graph.automate()
    (request,) = held(graph)
    graph.request("mart", partitions="2024-01-02")
    running = graph.start()
    assert word(graph, request).state is RequestState.APPROVED
    graph.end(running)
    graph.settle()
    assert made(graph, "mart") == [f"2024-01-0{day}" for day in range(1, 7)]
    assert held(graph) == []


def test_requests_that_ended_long_ago_are_forgotten(asset_of: Any) -> None:
    clock = [datetime(2024, 2, 1, tzinfo=UTC)]
    stage = Stage(MemoryStore(lambda: clock[0]))
    stage.define([asset_of("raw", DAYS), asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EAGER)])
    stage.limits = FIVE
    stage.request("raw")
    stage.work()
    stage.automate()
    (request,) = held(stage)
    reject(stage.store, request.id, revision=1, by="ann", reason="no")
    clock[0] += timedelta(days=91)
    assert tend_requests(stage.store) == 2, "the request, and the count of what its run led to"
    with stage.store.begin() as tx:
        assert tx.read_held_request(request.id) is None


# ------------------------------------------------------------------ a trickle of one cause


def trickle(stage: Stage, days: int, version: str, *, each: int = 1) -> None:
    """One run moves raw; automation looks, and what it asks for is made, after every `each` published days."""
    stage.version = lambda key, partition: version
    stage.request("raw", ("all",), partitions=f"2024-01-01..2024-01-{days:02}")
    claimed = stage.start()
    assert len(claimed) == days
    for at in range(0, days, each):
        stage.end(claimed[at : at + each])
        while stage.automate().requested:
            stage.work()


@pytest.mark.parametrize("each", [1, 2, 3])
def test_a_trickle_of_one_run_is_held_where_a_flood_would_be(lone: Stage, each: int) -> None:
    """However its publications are cut into decisions: five cells go, and the sixth waits for a person."""
    trickle(lone, 10, "v2", each=each)
    done = made(lone, "mart")
    assert len(done) == each * (5 // each)
    (request,) = held(lone)
    assert keys(lone, request) == {("mart", f"2024-01-{day:02}") for day in range(1, 11)} - {
        ("mart", one) for one in done
    }
    assert request.cause["before"] == len(done)
    assert word(lone, request).state is RequestState.APPROVED
    lone.settle()
    assert lone.request("*") is None, "nothing was lost"


def test_runs_of_their_own_are_causes_of_their_own(lone: Stage) -> None:
    for day in range(1, 11):
        move(lone, f"2024-01-{day:02}", "v2")
        lone.automate()
        lone.work()
    assert len(made(lone, "mart")) == 10
    assert held(lone) == []


def test_what_follows_what_follows_goes_back_to_the_same_run(stage: Stage, asset_of: Any) -> None:
    """mart is made day by day because of one run; each of its runs makes a day of sums. Those are of that one cause."""
    stage.define(
        [
            asset_of("raw", DAYS),
            asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EAGER, automatic_limit=100),
            asset_of("gate", DAYS, {"mart": (DAYS, None)}),
            asset_of("sums", DAYS, {"mart": (DAYS, None), "gate": (DAYS, None)}, automation=EAGER),
        ]
    )
    stage.limits = Limits(max_cells=100)
    stage.request("*")
    stage.settle()
    stage.attempts, stage.limits = [], FIVE
    trickle(stage, 10, "v2")
    assert len(made(stage, "mart")) == 10
    assert len(made(stage, "sums")) == 5
    (request,) = held(stage)
    assert keys(stage, request) == {("sums", f"2024-01-{day:02}") for day in range(1, 11)} - {
        ("sums", one) for one in made(stage, "sums")
    }


def test_an_asset_with_a_limit_of_its_own_goes_by_that_along_a_trickle(stage: Stage, asset_of: Any) -> None:
    stage.define(
        [asset_of("raw", DAYS), asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EAGER, automatic_limit=2)]
    )
    stage.limits = Limits(max_cells=100)
    stage.request("raw")
    stage.work()
    stage.automate()
    for request in held(stage):
        word(stage, request)
    stage.settle()
    stage.attempts = []
    trickle(stage, 6, "v2")
    assert len(made(stage, "mart")) == 2
    (request,) = held(stage)
    assert (request.cells, request.cell_limit) == (4, 2)


def test_two_schedulers_at_one_cause_share_the_limit(lone: Stage) -> None:
    """A count that another one added to meanwhile makes the decision again."""
    run = RunId(7)
    mart = lone.ref("mart").asset_id
    with lone.store.begin() as tx:
        assert tx.add_caused_cells({(run, mart): 3}) == {(run, mart): 3}
        assert tx.add_caused_cells({(run, mart): 2}) == {(run, mart): 5}
        assert tx.caused_cells([(run, mart), (RunId(8), mart)]) == {(run, mart): 5}
        assert tx.forget_caused_cells(60.0) == 0


@pytest.fixture
def lone(stage: Stage, asset_of: Any) -> Stage:
    """raw and its one eager consumer, all made."""
    stage.define([asset_of("raw", DAYS), asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EAGER)])
    stage.limits = Limits(max_cells=100)
    stage.request("raw")
    stage.settle()
    stage.attempts, stage.limits = [], FIVE
    return stage
