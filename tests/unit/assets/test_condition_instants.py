"""`since` and `newly_true`, against a replay of everything that happened: what is there now says enough (level-triggered)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from partita.assets import (
    CellSpec,
    ConditionSpec,
    DepSpec,
    DepsSpec,
    JoinSpec,
    LatestSpec,
    NewlySpec,
    NodeSpec,
    NotSpec,
    SinceSpec,
    TickSpec,
)
from partita.assets.conditions import came_at, explain, holds, text_of

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
TICK = TickSpec(cron="0 6 * * *")
DEPS = ("a", "b")

Event = tuple[str, str]
"""What happened, and to whom: "" is the cell itself."""

EVENTS: list[Event] = [
    ("made", ""), ("made_badly", ""), ("fails", ""), ("late", ""), ("fresh", ""), ("tick", ""), ("wiped", ""),
    *((what, dep) for dep in DEPS for what in ("made", "made_badly", "fails", "late", "fresh")),
]  # fmt: skip


@dataclass
class Thing:
    """The direct state of a cell and its asset: what the tables hold, and nothing of what went before."""

    made_at: datetime | None = None
    moved_at: datetime | None = None
    tried_at: datetime | None = None
    outcome: str = ""
    bad_check: bool = False
    late_since: datetime | None = None
    ticked: datetime | None = None

    def take(self, what: str, at: datetime) -> None:
        match what:
            case "made" | "made_badly":
                self.made_at = self.moved_at = self.tried_at = at
                self.outcome, self.bad_check = "published", what == "made_badly"
            case "fails":
                self.tried_at, self.outcome, self.bad_check = at, "failed", False
            case "late":
                self.late_since = self.late_since or at
            case "fresh":
                self.late_since = None
            case "tick":
                self.ticked = at
            case "wiped":
                self.made_at = self.moved_at = None

    def at(self, word: str) -> datetime | None:
        match word:
            case "made":
                return self.made_at
            case "updated":
                return self.moved_at
            case "failed":
                return self.tried_at if self.outcome == "failed" else None
            case "check_failed":
                return self.tried_at if self.bad_check else None
            case "late":
                return self.late_since
            case _:
                return None


@dataclass
class Dep(Thing):
    key: str = ""
    own: Thing | None = None

    def holds(self, word: Any) -> bool:
        if word == "updated":
            assert self.own is not None
            return self.moved_at is not None and (self.own.made_at is None or self.moved_at > self.own.made_at)
        return self.at(word) is not None


@dataclass
class Cell(Thing):
    above: dict[str, Dep] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.above = {key: Dep(key=key, own=self) for key in DEPS}

    def holds(self, word: Any) -> bool:
        return self.made_at is None if word == "missing" else self.at(word) is not None

    def latest(self, n: int, lag_s: float | None) -> bool:
        return True

    def closed(self, lag_s: float, catch_up: Any) -> bool:
        return False

    def closed_at(self, lag_s: float) -> datetime | None:
        return None

    def ticked_at(self, cron: str, tz: str) -> datetime | None:
        return self.ticked

    def ticked_since(self) -> bool:
        return self.ticked is not None and (self.made_at is None or self.ticked > self.made_at)

    def deps(self) -> list[Dep]:
        return list(self.above.values())


# `ticked` is a fact of the direct state here, and a question of the protocol.
class View:
    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cell, name)

    def ticked(self, cron: str, tz: str) -> bool:
        return self._cell.ticked_since()


def instants(history: list[list[Event]]) -> Iterator[tuple[datetime, View]]:
    """The direct state after each instant."""
    cell = Cell()
    for n, events in enumerate(history):
        at = NOON + timedelta(minutes=n)
        for what, whom in events:
            (cell if not whom else cell.above[whom]).take(what, at)
        yield at, View(cell)


def rises(node: NodeSpec, history: list[list[Event]]) -> datetime | None:
    """By replay: when it came to hold last. A leaf comes to hold when its instant moves to now; a choice when a part does,
    as upstreams are (what one of them takes back says nothing of the others); what has to hold together when a part does while
    all of it holds, and that is over when it holds no more."""
    if isinstance(node, DepsSpec) and node.allow is None:
        return max(
            (at for dep in DEPS if (at := rises(node.model_copy(update={"allow": (dep,)}), history))), default=None
        )
    last: datetime | None = None
    for n, (at, view) in enumerate(instants(history)):
        part = history[: n + 1]
        if _rises_now(node, part, at):
            last = at
        if not _known(node, view):
            last = None
    return last


def _rises_now(node: NodeSpec, history: list[list[Event]], at: datetime) -> bool:
    match node:
        case JoinSpec():
            *_, (_, view) = instants(history)
            return (node.op == "any" or holds(node, view)) and any(_rises_now(one, history, at) for one in node.of)
        case _:
            *_, (_, view) = instants(history)
            return came_at(node, view) == at


def _known(node: NodeSpec, view: View) -> bool:
    """Whether its instant can still be told."""
    match node:
        case JoinSpec() if node.op == "all":
            return holds(node, view)
        case JoinSpec():
            return any(_known(one, view) for one in node.of)
        case _:
            return came_at(node, view) is not None


words = st.sampled_from(
    [CellSpec(is_="made"), CellSpec(is_="failed"), CellSpec(is_="check_failed"), CellSpec(is_="late"), TICK]
)
reads = st.builds(
    DepsSpec,
    op=st.just("any_deps"),
    of=st.sampled_from(
        [DepSpec(is_="updated"), DepSpec(is_="failed"), DepSpec(is_="check_failed"), DepSpec(is_="late")]
    ),
)
leaves = words | reads
levels = st.sampled_from(
    [CellSpec(is_="failed"), CellSpec(is_="check_failed"), CellSpec(is_="late"), CellSpec(is_="made")]
)
together = st.lists(levels, min_size=2, max_size=3, unique_by=lambda one: one.is_).map(
    lambda of: JoinSpec(op="all", of=tuple(of))
)
choices = st.lists(leaves | together, min_size=2, max_size=3).map(lambda of: JoinSpec(op="any", of=tuple(of)))
histories = st.lists(st.lists(st.sampled_from(EVENTS), max_size=2), min_size=1, max_size=10)


@given(together, histories)
def test_what_holds_together_came_with_its_last_part(node: JoinSpec, history: list[list[Event]]) -> None:
    *_, (_, view) = instants(history)
    assert came_at(node, view) == rises(node, history)


@given(leaves | together, leaves | together, histories)
def test_since_compares_who_came_last(one: NodeSpec, other: NodeSpec, history: list[list[Event]]) -> None:
    *_, (_, view) = instants(history)
    first, second = rises(one, history), rises(other, history)
    expected = first is not None and (second is None or first > second)
    assert holds(SinceSpec(of=one, than=other), view) == expected
    assert explain(SinceSpec(of=one, than=other), view).holds == expected


@given(choices, histories)
@example(
    JoinSpec(op="any", of=(CellSpec(is_="made"), DepsSpec(op="any_deps", of=DepSpec(is_="check_failed")))),
    [[("made_badly", "a")], [("made_badly", "b")], [("made", "b")]],
)
def test_a_choice_came_with_the_last_of_its_parts(node: JoinSpec, history: list[list[Event]]) -> None:
    *_, (_, view) = instants(history)
    found = [at for one in node.of if (at := rises(one, history)) is not None]
    assert came_at(node, view) == max(found, default=None)


@given(leaves | together | choices, histories)
def test_newly_true_holds_and_came_after_it_was_made(node: NodeSpec, history: list[list[Event]]) -> None:
    *_, (_, view) = instants(history)
    came, made = came_at(node, view), view.made_at
    expected = holds(node, view) and came is not None and (made is None or came > made)
    assert holds(NewlySpec(of=node), view) == expected
    part = explain(NewlySpec(of=node), view)
    assert (part.holds, part.text) == (expected, text_of(NewlySpec(of=node)))
    assert part.parts[1].text == f"made: {'never' if made is None else made.isoformat(timespec='seconds')}"


@given(histories)
def test_a_tick_is_a_tick_since_it_was_made(history: list[list[Event]]) -> None:
    *_, (_, view) = instants(history)
    assert (
        holds(SinceSpec(of=TICK, than=CellSpec(is_="made")), view)
        == holds(TICK, view)
        == holds(NewlySpec(of=TICK), view)
    )


@pytest.mark.parametrize(
    "node",
    [
        NewlySpec(of=CellSpec(is_="missing")),
        NewlySpec(of=NotSpec(of=CellSpec(is_="late"))),
        NewlySpec(of=LatestSpec(n=2)),
        SinceSpec(of=TICK, than=CellSpec(is_="missing")),
        SinceSpec(of=DepsSpec(op="any_deps", of=DepSpec(is_="in_progress")), than=TICK),
    ],
)
def test_what_does_not_say_when_it_came_is_refused(node: NodeSpec) -> None:
    with pytest.raises(ValidationError, match="came to hold"):
        ConditionSpec(when=node)


def test_it_stands_outside_of_facts_about_upstreams() -> None:
    with pytest.raises(ValidationError, match="stands outside any_deps"):
        ConditionSpec(when=DepsSpec(op="any_deps", of=NewlySpec(of=CellSpec(is_="late"))))
