"""The deciders as functions: truth tables, fairness, delays, digests, the pulse."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.decide.test_transitions import NOW, QUEUED, RUNNING, TASK

from partita.assets.digest import cell_hash, digest_of_inputs
from partita.core.decide import lapse, retry, runs
from partita.core.decide.admit import room
from partita.core.decide.claim import digests_of, sums_of
from partita.core.decide.queues import Served
from partita.core.decide.reasons import cause_of, explain
from partita.core.decide.settle import Ended, settle
from partita.core.decide.transitions import Actor
from partita.core.duties.values import EXTERNAL_VERSION
from partita.core.duties.values_attempts import ResolvedInput
from partita.core.store.values import (
    AssetId,
    AttemptId,
    CellFact,
    CellRef,
    CellState,
    Fence,
    LocationId,
    Pool,
    PoolUse,
    RetryPolicy,
    Run,
    RunId,
    RunState,
    SnapshotId,
    Tally,
    TaskCell,
    TaskId,
    TaskState,
    WaitReason,
    Worker,
    WorkerId,
)
from partita.core.store.values_definitions import CodeServer, QueuedPin

SCHEDULED = TASK._replace(state=TaskState.SCHEDULED, waiting_on=0, ready_at=NOW)


# ------------------------------------------------------------------------------------------------- settle
def test_a_closure_settles_in_one_pass_and_the_direct_dependents_report_what_lies_beyond() -> None:
    first = Ended(TaskState.FAILED, "a", "step", RunId(1))
    below = [TASK._replace(id=TaskId(n), step=f"s{n}", waiting_on=1) for n in (2, 3, 4)]
    edges = [(TaskId(1), TaskId(2)), (TaskId(2), TaskId(3)), (TaskId(3), TaskId(4))]
    whole = settle({TaskId(1): first}, edges, below[::-1], whole=True, now=NOW)
    assert [update.state for _, update in whole.updates] == [TaskState.UPSTREAM_FAILED] * 3
    assert [update.error for _, update in whole.updates][1] == "upstream task 2 (s2) is upstream_failed"
    assert whole.beyond == frozenset()
    direct = settle({TaskId(1): first}, edges[:1], below[:1], whole=False, now=NOW)
    assert direct.beyond == {1}


def test_two_ends_in_one_transaction_count_twice() -> None:
    ended = {TaskId(n): Ended(TaskState.SUCCESS, f"u{n}", "step", RunId(1)) for n in (2, 3)}
    task = TASK._replace(id=TaskId(9), waiting_on=2)
    settled = settle(ended, [(TaskId(2), TaskId(9)), (TaskId(3), TaskId(9))], [task], whole=False, now=NOW)
    assert (settled.ready, settled.updates[0][1].state) == (1, TaskState.SCHEDULED)


# ------------------------------------------------------------------------------------------------- admit
def test_a_pool_that_was_shrunk_has_no_room() -> None:
    """ex-066."""
    assert room([PoolUse("p", 1)], {"p": Pool("p", 2)}, {"p": 5}) == 0


# ------------------------------------------------------------------------------------------------- retry
@given(
    st.floats(0, 1000),
    st.sampled_from(["fixed", "exponential"]),
    st.none() | st.floats(0, 5000),
    st.floats(0, 1),
    st.integers(1, 3000),
    st.integers(1, 2**62),
)
def test_delays_are_bounded_and_deterministic(
    base: float, backoff: str, cap: float | None, jitter: float, failures: int, attempt: int
) -> None:
    """S-004: jitter comes from the attempt's id; attempt 1,000 neither overflows nor passes the cap (ex-062)."""
    policy = RetryPolicy(3, base, backoff, cap, jitter)
    delay = retry.delay_s(policy, failures, AttemptId(attempt))
    assert delay == retry.delay_s(policy, failures, AttemptId(attempt))
    assert delay >= 0
    assert cap is None or delay <= cap
    plain = retry.delay_s(replace(policy, jitter=0.0, max_delay_s=None), failures, AttemptId(attempt))
    assert delay <= plain * (1 + jitter) * (1 + 1e-9)


def test_jitter_spreads_over_attempts() -> None:
    policy = RetryPolicy(3, 100.0, jitter=0.5)
    delays = [retry.delay_s(policy, 1, AttemptId(n)) for n in range(200)]
    assert min(delays) < 60
    assert max(delays) > 140


def test_losses_back_off_by_their_own_steps() -> None:
    assert [retry.loss_delay_s(n) for n in range(1, 7)] == [0, 1, 2, 4, 4, 4]


def test_a_lapsed_lease_waits_like_a_failure_and_a_reported_loss_does_not() -> None:
    """S-153, B-10: nobody knows what an attempt of a dead worker did last. Neither consumes a retry."""
    task = RUNNING._replace(retry=RetryPolicy(1, delay_s=60))
    lapsed = retry.after_loss(task, NOW, by=Actor.LAPSE, error="x")
    told = retry.after_loss(task, NOW, by=Actor.FINISH, error="x")
    assert (lapsed.not_before, told.not_before) == (NOW + timedelta(seconds=60), NOW)
    assert (lapsed.user_failures, told.user_failures) == (0, 0)


def test_a_cancelled_task_is_never_tried_again() -> None:
    task = RUNNING._replace(cancel_requested=True)
    for update in (
        retry.after_failure(task, NOW, error="x"),
        retry.after_loss(task, NOW, by=Actor.LAPSE, error="x"),
        retry.after_version_gone(task, NOW),
    ):
        assert update.state is TaskState.CANCELLED


def test_a_delay_beyond_the_calendar_is_a_long_wait_and_no_error() -> None:
    """User code names delays: one whose instant does not exist used to stop every report of the worker that had it."""
    endless = RUNNING._replace(retry=RetryPolicy(max_retries=3, delay_s=1e300))
    for update in (
        retry.after_failure(endless, NOW, error="x"),
        retry.after_failure(endless, NOW, error="x", retry_in_s=float("inf")),
        retry.after_loss(endless, NOW, by=Actor.LAPSE, error="x"),
    ):
        assert update.state is TaskState.UP_FOR_RETRY
        assert update.not_before is not None
        assert update.not_before > NOW + timedelta(days=3000)


# ------------------------------------------------------------------------------------------------- lapse
def test_a_gap_in_the_pulse_extends_and_judges_nobody() -> None:
    """S-156; five seconds are still the database's own pace."""
    assert lapse.pulse(NOW, NOW + timedelta(seconds=5)).may_judge
    assert lapse.pulse(NOW, NOW + timedelta(seconds=5.1)).extend_s == 5.1
    assert lapse.pulse(NOW, NOW).may_judge


def test_a_loss_after_everything_was_published_is_a_success() -> None:
    ref = CellRef(AssetId(1), "a")
    done = TaskCell(TaskId(1), ref, CellState.PUBLISHED, "missing")
    assert lapse.lost(RUNNING, [done], NOW).state is TaskState.SUCCESS
    assert lapse.lost(RUNNING, [done, done._replace(state=CellState.PENDING)], NOW).state is TaskState.UP_FOR_RETRY


# ------------------------------------------------------------------------------------------------- claim
@given(
    st.lists(
        st.tuples(st.text(max_size=3), st.none() | st.text(min_size=1, max_size=3)),
        max_size=6,
        unique_by=lambda c: c[0],
    )
)
def test_digests_are_the_sum_over_what_the_cells_hold(held: list[tuple[str, str | None]]) -> None:
    """Against the definition in `assets.digest`: any order, shared or not, missing cells add nothing."""
    upstream = tuple(CellRef(AssetId(7), partition) for partition, _ in held)
    facts = {
        ref: CellFact(ref, Fence(0), version, None, None, None, None, None)
        for ref, (_, version) in zip(upstream, held, strict=True)
    }
    own = TaskCell(TaskId(1), CellRef(AssetId(1), "p"), CellState.PENDING, "missing")
    other = own._replace(cell=CellRef(AssetId(1), "q"))
    source = ResolvedInput("x", "data", AssetId(7), {own.cell: upstream, other.cell: upstream[::-1]})
    digests = digests_of([own, other], [sums_of(source, facts)])
    total = sum(cell_hash(partition, version) for partition, version in held if version is not None)
    assert digests == dict.fromkeys((own.cell, other.cell), digest_of_inputs([(7, "x", total)]))
    external = digests_of([own], [sums_of(replace(source, external=True), {})])
    constant = sum(cell_hash(partition, EXTERNAL_VERSION) for partition, _ in held)
    assert external == {own.cell: digest_of_inputs([(7, "x", constant)])}


# ------------------------------------------------------------------------------------------------- runs
@given(st.dictionaries(st.sampled_from([s.value for s in TaskState if s.terminal]), st.integers(1, 3)), st.booleans())
def test_a_run_ends_by_its_tallies(counts: dict[str, int], asked: bool) -> None:
    """S-112, S-113; S-159: one that timed out has failed, whatever became of its tasks."""
    assert runs.end_state(counts, cancel_requested=True, timed_out=True) == "failed"
    state = runs.end_state(counts, cancel_requested=asked)
    if {"failed", "upstream_failed", "removed"} & counts.keys():
        assert state == "failed"
    else:
        assert state == ("cancelled" if asked or "cancelled" in counts else "success")


# ------------------------------------------------------------------------------------------------- reasons
def test_exactly_one_reason_binds_servers_before_workers() -> None:
    """Law 5, S-151."""
    pin = QueuedPin(LocationId(1), "flights", SnapshotId(1), "v1")
    expires = datetime(2027, 1, 1, tzinfo=UTC)
    server = CodeServer("c", LocationId(1), "addr", ("v1",), expires)
    worker = Worker(WorkerId("w"), "h", 1, 4, expires, "live")
    assert cause_of(pin, [], Served([])).reason is WaitReason.NO_SERVER
    assert cause_of(pin, [replace(server, location_id=LocationId(2))], Served([worker])).reason is WaitReason.NO_SERVER
    assert cause_of(pin, [replace(server, versions=("v2",))], Served([worker])).reason is WaitReason.VERSION_GONE
    assert cause_of(pin, [server], Served([])).reason is WaitReason.NO_WORKER
    busy = cause_of(pin, [server], Served([worker]))
    assert (busy.reason, busy.detail) == (WaitReason.WORKERS_BUSY, {"queue": "default", "workers": 1, "capacity": 4})
    assert explain(QUEUED, busy, NOW) is None
    late = explain(QUEUED, busy, NOW + timedelta(seconds=2))
    assert late is not None
    assert late.reason is WaitReason.WORKERS_BUSY
    again = explain(QUEUED._replace(reason=WaitReason.WORKERS_BUSY), busy, NOW)
    assert again is not None
    assert again.reason is None


def test_a_tally_of_a_run_that_ended_changes_no_state() -> None:
    run = Run(
        RunId(1), None, RunState.RUNNING, NOW, False, {"success": 1}, 2, {}, {}, {}, "interactive", timed_out=False
    )
    tally = Tally(RunId(1), TaskState.FAILED, 1)
    assert runs.fold(run, [tally], NOW).state is RunState.FAILED
    assert runs.fold(run._replace(task_count=3), [tally], NOW).finished_at is None
    ended = run._replace(state=RunState.SUCCESS)
    assert runs.fold(ended, [tally], NOW).state is RunState.SUCCESS
