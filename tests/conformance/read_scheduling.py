"""Cases of execution that the deciders and duties answer: ticks, scenarios, rules, run states, backoff, admission, rounds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.conformance.read_events import Due
from tests.conformance.scenarios import Scenario
from tests.unit.duties.duty_world import START, World, report, step
from tests.unit.store.tasks import a_task

from partita.core.decide import runs
from partita.core.decide.admit import admit as decide_admission
from partita.core.decide.retry import delay_s
from partita.core.decide.rules import Ends, verdict
from partita.core.decide.shares import Line
from partita.core.duties.admit import admit
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import LaunchTask, NewBackfill
from partita.core.duties.values_attempts import Claimed
from partita.core.store.values import (
    AttemptId,
    AttemptOutcome,
    Party,
    Pool,
    PoolUse,
    RetryPolicy,
    Task,
    TaskId,
    TaskState,
    turn,
)

Case = dict[str, Any]
_TERMINAL = {state.value for state in TaskState if state.terminal}
_BAD = {"failed", "upstream_failed"}


def answer(case: Case) -> dict[str, Any]:
    events = case["when"].get("events", [])
    if case["when"]["op"] == "scenario" and any(event["event"] == "due" for event in events):
        return Due(case["given"], events).play()
    if case["when"]["op"] == "scenario":
        played = Scenario(case["given"], events).play()
        asked = case["expect"].get("final", played["final"])  # only the fields present in `expect` are compared
        told = {row[1] for row in case["expect"].get("transitions", [])}
        return played | {
            "final": {name: state for name, state in played["final"].items() if name in asked},
            "transitions": [row for row in played["transitions"] if row[1] in told],
        }
    return _ANSWERS[case["when"]["op"]](case["given"])


def _trigger_rule(given: Case) -> dict[str, Any]:
    states = given["upstream"]
    ends = Ends(
        waiting=sum(state not in _TERMINAL for state in states),
        good=states.count("success"),
        bad=sum(state in _BAD for state in states),
        skipped=states.count("skipped"),
    )
    decision = verdict(given["rule"], ends)
    return {"decision": decision.value}


def _run_state(given: Case) -> dict[str, Any]:
    states = list(given["tasks"].values())
    return {"run_state": runs.end_state({s: states.count(s) for s in states}, cancel_requested=False).value}


def _backoff(given: Case) -> dict[str, Any]:
    policy = RetryPolicy(given["retries"], given["base_s"], given["kind"], given.get("cap_s"))
    delays = [delay_s(policy, failure, AttemptId(failure)) for failure in range(1, given["retries"] + 1)]
    return {"delays_s": delays, "attempts": given["retries"] + 1}


def _admit(given: Case) -> dict[str, Any]:
    """Limits of assets and of the whole are pools too."""
    slots = {name: Pool(name, pool["slots"]) for name, pool in given["pools"].items()}
    held = {name: pool.get("used", 0) for name, pool in given["pools"].items()}
    for asset, limit in given.get("asset_limit", {}).items():
        slots[f"asset {asset}"] = Pool(f"asset {asset}", limit)
        held[f"asset {asset}"] = given.get("asset_active", {}).get(asset, 0)
    if "max_active" in given:
        slots["all"] = Pool("all", given["max_active"])
        held["all"] = given.get("active", 0)
    names: dict[int, str] = {}
    queues: dict[tuple[PoolUse, ...], list[Task]] = {}
    for index, ready in enumerate(given["ready"]):
        extra = [n for n in (f"asset {ready.get('asset')}", "all") if n in slots]
        pools = (PoolUse(ready["pool"], ready.get("slots", 1)), *(PoolUse(name, 1) for name in extra))
        names[index] = ready["id"]
        queues.setdefault(pools, []).append(_ready(index, pools, ready.get("priority", 0), ready.get("since", 0)))
    ordered = [
        Line(pools, queue[0].party, tuple(sorted(queue, key=lambda t: (turn(t.ready_at or START, t.priority), t.id))))
        for pools, queue in queues.items()
    ]
    holds = {name: {Party("interactive", ""): n} for name, n in held.items()}
    admission = decide_admission(ordered, slots, holds, {}, limit=500, now=START)
    return {"started": [names[task.id] for task, _ in admission.admitted]}


def _ready(index: int, pools: tuple[PoolUse, ...], priority: int, since: int) -> Task:
    return a_task(id=TaskId(index), pools=pools, priority=priority, ready_at=START + timedelta(seconds=since))


def _rounds(given: Case) -> dict[str, Any]:
    world = World()
    world.launch(*(step(n) for n in range(1, given["runs"] + 1)), backfill=NewBackfill("b", given["max_active"], "ada"))
    rounds: list[list[int]] = []
    while started := world.start(limit=500):
        rounds.append(sorted(int(name[1:]) for name in started))
        world.finish(*(report(claimed) for claimed in started.values()))
    return {"rounds": len(rounds), "minutes": len(rounds) * given["minutes"], "first_round": rounds[0]}


class _Ticks:
    """The tick table of S-109 through the real duties: one tick is a second of virtual time."""

    def __init__(self, given: Case) -> None:
        self.given = given
        self.names: list[str] = list(given["tasks"])
        self.world = World()
        self.transitions: list[tuple[int, str, str, str]] = []
        self.states = dict.fromkeys(self.names, "none")
        self.running: dict[str, tuple[int, Claimed]] = {}
        self.tick = 0

    def run(self) -> dict[str, Any]:
        with self.world.memory.begin() as tx:
            for name, slots in self.given["pools"].items():
                tx.set_pool(Pool(name, slots))
        while self.tick < 1_000 and (self.tick == 0 or not all(s in _TERMINAL for s in self.states.values())):
            self.tick += 1
            self.world.clock.forward(1)
            self.one()
        fold_tallies(self.world.store)
        return {
            "transitions": [list(transition) for transition in self.transitions],
            "final": self.states,
            "run_state": self.world.run_state(1),
            "ticks": self.tick,
        }

    def one(self) -> None:
        if self.tick == 1:
            cap = NewBackfill("b", self.given["max_active_tasks"], "ada")
            self.world.launch(*map(self.task, self.names), backfill=cap)
            self.look()
        for claimed in self.world.claims().claimed:  # what was queued by the last tick
            self.running[self.name(claimed)] = (self.tick, claimed)
        self.look()
        due = [n for n, (since, _) in self.running.items() if since + self.given["tasks"][n]["duration"] == self.tick]
        for name in due:
            _, claimed = self.running.pop(name)
            fails = {"task": name, "attempt": claimed.number} in self.given["fails"]
            self.world.finish(report(claimed, AttemptOutcome.FAILED if fails else AttemptOutcome.SUCCESS))
            self.look()
        wake_retries(self.world.store)
        self.look()
        admit(self.world.store)
        self.look()

    def task(self, name: str) -> LaunchTask:
        spec = self.given["tasks"][name]
        return step(
            self.names.index(name),
            *(self.names.index(up) for up in spec["up"]),
            pools=[(spec["pool"], 1)],
            retry=RetryPolicy(spec["retries"], delay_s=spec["retry_delay"]),
            rule=spec["rule"],
        )

    def name(self, claimed: Claimed) -> str:
        return self.names[int(claimed.task.step[1:])]

    def look(self) -> None:
        now = {self.names[int(s[1:])]: state for s, state in self.world.states().items()}
        for name in self.names:
            if now[name] != self.states[name]:
                self.transitions.append((self.tick, name, self.states[name], now[name]))
        self.states = now


_ANSWERS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "trigger_rule": _trigger_rule,
    "run_state": _run_state,
    "backoff": _backoff,
    "admit": _admit,
    "rounds": _rounds,
    "ticks": lambda given: _Ticks(given).run(),
}

OPERATIONS = (*_ANSWERS, "scenario")
