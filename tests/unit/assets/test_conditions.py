"""Conditions: what the trees mean, that both readings of them agree, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from partita.assets import (
    EAGER,
    AssetSpec,
    CellSpec,
    ClosedSpec,
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
    canonical_json,
    text_of,
)
from partita.assets.conditions import explain, holds, nodes_of


@dataclass(frozen=True)
class Dep:
    key: str
    words: frozenset[str]

    def holds(self, word: str) -> bool:
        return word in self.words

    def at(self, word: str) -> None:
        """Nothing here says when: instants have tests of their own (test_condition_instants.py)."""


@dataclass(frozen=True)
class Cell:
    words: frozenset[str] = frozenset()
    above: tuple[Dep, ...] = ()
    age: int = 0  # 0 is the newest
    late_s: float = 0.0
    fired: frozenset[str] = field(default_factory=frozenset)

    def holds(self, word: str) -> bool:
        return word in self.words

    def latest(self, n: int, lag_s: float | None) -> bool:
        return self.age < n

    def closed(self, lag_s: float, catch_up: str) -> bool:
        return self.late_s >= lag_s

    def ticked(self, cron: str, tz: str) -> bool:
        return cron in self.fired

    def at(self, word: str) -> None:
        """As above."""

    def closed_at(self, lag_s: float) -> None:
        """As above."""

    def ticked_at(self, cron: str, tz: str) -> None:
        """As above."""

    def deps(self) -> tuple[Dep, ...]:
        return self.above


WORDS = ["missing", "data_changed", "code_changed", "failed"]
DEP_WORDS = ["missing", "failed", "in_progress", "updated"]
KEYS = ["a", "b/c", "d"]
CRONS = ["0 6 * * *", "*/5 * * * *"]


def joined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(JoinSpec, op=st.sampled_from(["all", "any"]), of=lists) | st.builds(NotSpec, of=inner)


dep_nodes = st.recursive(st.builds(DepSpec, is_=st.sampled_from(DEP_WORDS)), joined, max_leaves=4)
leaves = (
    st.builds(CellSpec, is_=st.sampled_from(WORDS))
    | st.builds(LatestSpec, n=st.integers(1, 3))
    | st.builds(ClosedSpec, lag_s=st.sampled_from([0.0, 60.0]))
    | st.builds(TickSpec, cron=st.sampled_from(CRONS))
    | st.builds(
        DepsSpec,
        op=st.sampled_from(["any_deps", "all_deps"]),
        of=dep_nodes,
        allow=st.none() | st.lists(st.sampled_from(KEYS), max_size=2).map(tuple),
        ignore=st.lists(st.sampled_from(KEYS), max_size=1).map(tuple),
    )
)
nodes = st.recursive(leaves, joined, max_leaves=8)
deps = st.builds(Dep, st.sampled_from(KEYS), st.frozensets(st.sampled_from(DEP_WORDS)))
cells = st.builds(
    Cell,
    st.frozensets(st.sampled_from(WORDS)),
    st.lists(deps, max_size=4).map(tuple),
    st.integers(0, 4),
    st.sampled_from([0.0, 59.0, 60.0]),
    st.frozensets(st.sampled_from(CRONS)),
)


def meaning(node: NodeSpec, cell: Cell, dep: Dep | None = None) -> bool:
    """The same, word by word, by Python's own operators."""
    match node:
        case CellSpec():
            return node.is_ in cell.words
        case DepSpec():
            assert dep is not None
            return node.is_ in dep.words
        case LatestSpec():
            return cell.age < node.n
        case ClosedSpec():
            return cell.late_s >= node.lag_s
        case TickSpec():
            return node.cron in cell.fired
        case NotSpec():
            return not meaning(node.of, cell, dep)
        case JoinSpec():
            found = [meaning(one, cell, dep) for one in node.of]
            return all(found) if node.op == "all" else any(found)
        case DepsSpec():
            keys = set(KEYS if node.allow is None else node.allow) - set(node.ignore)
            read = [meaning(node.of, cell, one) for one in cell.above if one.key in keys]
            return any(read) if node.op == "any_deps" else all(read)
        case SinceSpec() | NewlySpec():
            return False


@given(nodes, cells)
def test_a_tree_means_what_its_words_say(node: NodeSpec, cell: Cell) -> None:
    assert holds(node, cell) == meaning(node, cell)


@given(nodes, cells)
def test_the_explanation_says_what_was_decided(node: NodeSpec, cell: Cell) -> None:
    part = explain(node, cell)
    assert part.holds == holds(node, cell)
    assert part.text == text_of(node)


@given(nodes)
def test_a_condition_survives_its_wire_form(node: NodeSpec) -> None:
    spec = AssetSpec(key="orders", automation=ConditionSpec(when=node))
    assert AssetSpec.model_validate_json(canonical_json(spec)) == spec
    assert text_of(node)
    assert node in list(nodes_of(node))


def test_eager_is_missing_or_changed_and_ready() -> None:
    there, gone, busy = Dep("a", frozenset()), Dep("a", frozenset({"missing"})), Dep("a", frozenset({"in_progress"}))
    assert holds(EAGER, Cell(frozenset({"missing"}), (there,)))
    assert holds(EAGER, Cell(frozenset({"data_changed"}), (there,)))
    assert not holds(EAGER, Cell(frozenset(), (there,)))
    assert not holds(EAGER, Cell(frozenset({"missing"}), (there, gone)))
    assert not holds(EAGER, Cell(frozenset({"missing"}), (there, busy)))


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"op": "dep", "is_": "missing"}, "stands inside any_deps"),
        ({"op": "any_deps", "of": {"op": "cell", "is_": "missing"}}, "stands outside any_deps"),
        ({"op": "any_deps", "of": {"op": "all_deps", "of": {"op": "dep", "is_": "failed"}}}, "stands outside any_deps"),
        ({"op": "tick", "cron": "61 * * * *"}, "61"),
        ({"op": "tick", "cron": "0 6 * * *", "tz": "Mars/Base"}, "Mars/Base"),
        ({"op": "latest", "n": 0}, "greater than or equal to 1"),
        ({"op": "all", "of": []}, "at least 1"),
        ({"op": "any_deps", "of": {"op": "dep", "is_": "failed"}, "ignore": ["no//key"]}, "no//key"),
    ],
)
def test_a_tree_that_means_nothing_is_refused(node: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ConditionSpec.model_validate({"when": node})
