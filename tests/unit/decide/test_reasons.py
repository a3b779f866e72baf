"""Every task that does not run has one binding reason; take away what binds and the verdict is another (issue 4, Why; S-151)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.duties.duty_world import START
from tests.unit.store.tasks import a_task

from partita.core.decide.admit import Admission, admit
from partita.core.decide.caps import RUNNING_POOL, asset_pool, backfill_pool, cap_of, location_pool, run_pool
from partita.core.decide.queues import Served
from partita.core.decide.reasons import CLAIM_GRACE, cause_of, explain, same_constraint
from partita.core.decide.settle import Ended, settle
from partita.core.decide.shares import lines_of
from partita.core.store.values import (
    BackfillId,
    Lane,
    LocationId,
    Party,
    Pool,
    PoolUse,
    RunId,
    SnapshotId,
    Task,
    TaskId,
    TaskState,
    WaitReason,
    Worker,
    WorkerId,
    waits_for,
)
from partita.core.store.values_definitions import CodeServer, QueuedPin

LANES = {"interactive": Lane("interactive", 4, 0.3), "backfill": Lane("backfill", 1)}
POOLS = (
    "warehouse",
    "duckdb:x",
    RUNNING_POOL,
    asset_pool("orders"),
    location_pool("shop"),
    backfill_pool(BackfillId(7)),
    run_pool(RunId(8)),
)
LIMITS = frozenset(
    {
        WaitReason.POOL_FULL, WaitReason.ASSET_CAP, WaitReason.LOCATION_CAP, WaitReason.BACKFILL_CAP,
        WaitReason.RUN_CAP, WaitReason.RUNNING_CAP, WaitReason.LANE, WaitReason.PAUSED,
    }
)  # fmt: skip
WORKERS = frozenset({WaitReason.NO_SERVER, WaitReason.VERSION_GONE, WaitReason.NO_WORKER, WaitReason.WORKERS_BUSY})


def ready(number: int, lane: str, pools: tuple[PoolUse, ...]) -> Task:
    return a_task(id=TaskId(number), lane=lane, pools=pools, ready_at=START + timedelta(seconds=number))


def decided(tasks: list[Task], slots: Mapping[str, int], held: Mapping[str, Mapping[Party, int]]) -> Admission:
    pools = {name: Pool(name, n) for name, n in slots.items()}
    queues = lines_of(tasks, dict.fromkeys((task.needs for task in tasks), 1_000))
    return admit(queues, pools, {name: held.get(name, {}) for name in slots}, LANES, limit=500, now=START)


@st.composite
def congestions(
    draw: st.DrawFn,
) -> tuple[list[Task], dict[str, int], dict[str, dict[Party, int]]]:
    """Ready tasks of two lanes over a few pools and caps, of which some are full."""
    names = draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=3, unique=True))
    slots = {name: draw(st.integers(0, 3)) for name in names}
    held = {name: {Party(lane, ""): n for lane in LANES if (n := draw(st.integers(0, 2)))} for name in names}
    sets = draw(
        st.lists(
            st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=len(names), unique=True).map(
                lambda chosen: tuple(PoolUse(name, 1) for name in sorted(chosen))
            ),
            min_size=1,
            max_size=4,
        )
    )
    tasks = [ready(n, draw(st.sampled_from(sorted(LANES))), pools) for n, pools in enumerate(sets, 1)]
    return tasks, slots, held


def constraint(task: Task, admission: Admission) -> tuple[WaitReason, Mapping[str, object]]:
    [update] = [update for one, update in admission.explained if one.id == task.id]
    assert update.reason is not None
    return update.reason, update.reason_detail or {}


def pool_of(reason: WaitReason, detail: Mapping[str, object], task: Task) -> str:
    """The pool that a reason is about."""
    if "pool" in detail:
        return str(detail["pool"])
    kinds = {"backfill": "backfill", "run": "run", "asset": "asset", "location": "location", "running": "all"}
    kind = kinds[reason.value.removesuffix("_cap")]
    [name] = [use.name for use in task.pools if (cap := cap_of(use.name)) is not None and cap.kind == kind]
    return name


@given(congestions())
def test_what_is_ready_and_not_admitted_says_which_limit_and_without_it_the_verdict_is_another(
    congestion: tuple[list[Task], dict[str, int], dict[str, dict[Party, int]]],
) -> None:
    """S-129."""
    tasks, slots, held = congestion
    admission = decided(tasks, slots, held)
    admitted = {task.id for task, _ in admission.admitted}
    explained = {task.id for task, _ in admission.explained}
    assert admitted | explained == {task.id for task in tasks}
    assert not admitted & explained, "one verdict each"
    for task in tasks:
        if task.id in admitted:
            continue
        reason, detail = constraint(task, admission)
        assert reason in LIMITS
        binding = pool_of(reason, detail, task)
        freed = decided(tasks, {**slots, binding: 1_000}, held)
        if task.id not in {one.id for one, _ in freed.admitted}:
            other, another = constraint(task, freed)
            assert pool_of(other, another, task) != binding, f"{reason}: {binding} does not bind"


@given(congestions())
def test_a_reason_is_written_again_only_when_another_limit_binds(
    congestion: tuple[list[Task], dict[str, int], dict[str, dict[Party, int]]],
) -> None:
    tasks, slots, held = congestion
    first = decided(tasks, slots, held)
    said = {task.id: update for task, update in first.explained}
    assume(said)
    told = [
        task._replace(reason=said[task.id].reason, reason_detail=said[task.id].reason_detail)
        if task.id in said
        else task
        for task in tasks
    ]
    again = decided(told, slots, held)
    assert again.explained == ()
    for task in told:
        if task.id in said and task.reason is WaitReason.POOL_FULL and task.reason_detail is not None:
            elsewhere = task._replace(reason_detail={**task.reason_detail, "pool": "another"})
            assert not same_constraint(elsewhere, WaitReason.POOL_FULL, task.reason_detail)


# ------------------------------------------------------------------ queued: workers

PIN = QueuedPin(LocationId(1), "shop", SnapshotId(1), "v2")


def server(*versions: str, location: int = 1) -> CodeServer:
    return CodeServer(f"s{location}", LocationId(location), "127.0.0.1:1", tuple(versions), START)


def worker(number: int) -> Worker:
    return Worker(WorkerId(str(number)), "host", number, 4, START, "alive")


@given(
    st.lists(st.sampled_from([server("v1"), server("v2"), server("v1", "v2"), server("v2", location=2)]), max_size=3),
    st.integers(0, 2),
)
def test_what_is_queued_and_not_claimed_says_who_is_lacking_and_with_them_the_verdict_is_another(
    servers: list[CodeServer], workers: int
) -> None:
    alive = Served([worker(n) for n in range(workers)])
    found = cause_of(PIN, servers, alive)
    assert found.reason in WORKERS
    task = a_task(state=TaskState.QUEUED, queued_at=START - CLAIM_GRACE)
    update = explain(task, found, START)
    assert update is not None
    assert update.reason is found.reason
    cured = {
        WaitReason.NO_SERVER: lambda: cause_of(PIN, [*servers, server("v1")], alive),
        WaitReason.VERSION_GONE: lambda: cause_of(PIN, [*servers, server("v2")], alive),
        WaitReason.NO_WORKER: lambda: cause_of(PIN, servers, Served([worker(9)])),
    }
    if found.reason in cured:
        assert cured[found.reason]().reason is not found.reason
    else:  # all is there, so that it is being claimed: a moment earlier nothing bound it
        assert explain(task._replace(queued_at=START), found, START) is None


# ------------------------------------------------------------------ upstream, and the past


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_what_waits_for_upstream_tells_its_own_past_apart(others: int, past: int, ended: int) -> None:
    assume(others + past > 0)
    reason, detail = waits_for(others + past, past)
    assert (reason is WaitReason.BLOCKED_BY_PAST) == (others == 0)
    task = a_task(
        id=TaskId(100),
        step="balance",
        state=TaskState.NONE,
        waiting_on=others + past,
        reason=reason,
        reason_detail=detail,
    )
    above = {TaskId(n): Ended(TaskState.SUCCESS, "orders", "step", RunId(1)) for n in range(1, others + 1)}
    above |= {
        TaskId(n): Ended(TaskState.SUCCESS, "balance", "step", RunId(1)) for n in range(others + 1, others + past + 1)
    }
    done = dict(list(above.items())[:ended])
    assume(done)
    [(_, update)] = settle(done, [(up, task.id) for up in above], [task], whole=True, now=START).updates
    left_others, left = max(others - ended, 0), others + past - len(done)
    if left == 0:
        assert update.state is TaskState.SCHEDULED
        assert update.reason is None
    else:
        assert (update.reason, update.reason_detail) == waits_for(left, left - left_others)


def test_a_gate_is_not_its_past() -> None:
    task = a_task(
        id=TaskId(9), step="s", state=TaskState.NONE, waiting_on=2, reason_detail={"waiting_on": 2, "past": 1}
    )
    ended = {TaskId(1): Ended(TaskState.SUCCESS, "s", "gate", RunId(1))}
    [(_, update)] = settle(ended, [(TaskId(1), task.id)], [task], whole=True, now=START).updates
    assert update.reason is WaitReason.BLOCKED_BY_PAST
