"""Automation conditions: what the words mean, whether a tree holds of a cell, and why. Pure: the facts are asked of a view.

A condition is level-triggered: it is worked out from what is there now, whenever something it reads may have changed, so a
request that failed heals when its input is repaired. A required upstream partition that does not exist is an upstream cell
that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from partita.assets.condition_specs import (
    DATED,
    CatchUp,
    CellSpec,
    CellWord,
    ClosedSpec,
    ConditionSpec,
    DepSpec,
    DepsSpec,
    DepWord,
    JoinSpec,
    LatestSpec,
    NewlySpec,
    NodeSpec,
    NotSpec,
    SinceSpec,
    TickSpec,
)
from partita.assets.specs import AutomationSpec, EagerSpec


class DepView(Protocol):
    """What is known of one upstream cell that the cell reads."""

    @property
    def key(self) -> str:
        """The key of its asset."""

    def holds(self, word: DepWord) -> bool: ...

    def at(self, word: DepWord) -> datetime | None:
        """When it came to hold last; None: it never did, or that is not known any more."""


class CellView(Protocol):
    """What is known of one cell, or of the cells of one partition of a step."""

    def holds(self, word: CellWord) -> bool: ...

    def latest(self, n: int, lag_s: float | None) -> bool: ...

    def closed(self, lag_s: float, catch_up: CatchUp) -> bool: ...

    def ticked(self, cron: str, tz: str) -> bool: ...

    def at(self, word: CellWord) -> datetime | None:
        """When it came to hold last; None: it never did, or that is not known any more."""

    def closed_at(self, lag_s: float) -> datetime | None:
        """When the window had closed for so long; None: not yet, or it has none."""

    def ticked_at(self, cron: str, tz: str) -> datetime | None:
        """The last fire time that counts."""

    def deps(self) -> Sequence[DepView]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """One node of a verdict: what it says, whether it holds, and its parts. Of `any_deps` and `all_deps` the parts are upstream
    assets."""

    text: str
    holds: bool
    parts: tuple[Part, ...] = ()

    def to_json(self) -> list[Any]:
        """[text, holds, parts], the parts left out where there are none."""
        return [self.text, self.holds, *([[part.to_json() for part in self.parts]] if self.parts else [])]

    @staticmethod
    def from_json(stored: Sequence[Any]) -> Part:
        """The inverse of `to_json`."""
        return Part(stored[0], stored[1], tuple(map(Part.from_json, stored[2])) if len(stored) > 2 else ())


READY = JoinSpec(
    op="all",
    of=(
        NotSpec(of=DepsSpec(op="any_deps", of=DepSpec(is_="missing"))),
        NotSpec(of=DepsSpec(op="any_deps", of=DepSpec(is_="in_progress"))),
    ),
    label="ready",
)
"""All that the cell needs is there, and nothing of it is being made.

>>> text_of(READY)
'ready'
"""

EAGER = JoinSpec(
    op="all",
    of=(JoinSpec(op="any", of=(CellSpec(is_="missing"), CellSpec(is_="data_changed"))), READY),
    label="eager()",
)
"""Missing, or made from other data than its inputs hold, and ready.

>>> [text_of(part) for part in EAGER.of]
['missing | data_changed', 'ready']
"""


def condition_of(automation: AutomationSpec) -> NodeSpec | None:
    """The condition that a policy stands for; None when nobody asks without a person.

    >>> condition_of(EagerSpec()) is EAGER, condition_of(ManualSpec())
    (True, None)
    """
    match automation:
        case EagerSpec():
            return EAGER
        case ConditionSpec():
            return automation.when
        case _:
            return None


def policy_text(automation: AutomationSpec) -> str | None:
    """A policy as people write it; None when nobody asks without a person.

    >>> policy_text(ConditionSpec(when=EAGER, debounce_s=300))
    'eager().debounced(300s)'
    """
    node = condition_of(automation)
    if node is None or not isinstance(automation, ConditionSpec):
        return None if node is None else text_of(node)
    said = f".debounced({automation.debounce_s:g}s)" if automation.debounce_s else ""
    said += ".keep_latest()" if automation.keep_latest else ""
    return f"{_inner(node)}{said}" if said else text_of(node)


def holds(node: NodeSpec, cell: CellView) -> bool:
    """Whether a condition holds of a cell; asks no more than it needs."""
    match node:
        case CellSpec():
            return cell.holds(node.is_)
        case LatestSpec():
            return cell.latest(node.n, node.lag_s)
        case ClosedSpec():
            return cell.closed(node.lag_s, node.catch_up)
        case TickSpec():
            return cell.ticked(node.cron, node.tz)
        case NotSpec():
            return not holds(node.of, cell)
        case JoinSpec():
            return (all if node.op == "all" else any)(holds(one, cell) for one in node.of)
        case DepsSpec():
            return (any if node.op == "any_deps" else all)(_of_dep(node.of, dep) for dep in _deps(node, cell))
        case SinceSpec():
            return _later(came_at(node.of, cell), came_at(node.than, cell))
        case NewlySpec():
            return holds(node.of, cell) and _later(came_at(node.of, cell), cell.at("made"))
        case DepSpec():
            raise AssertionError("a fact about an upstream cell outside any_deps and all_deps")


def came_at(node: NodeSpec, cell: CellView) -> datetime | None:
    """When a condition came to hold last, as far as what is there now tells; None: never, or nothing of it says when.

    Of a choice it is when the last of its parts came to hold, whether or not it still does; of what has to hold together it is
    when the last part came, and only while all of it holds.
    """
    match node:
        case CellSpec():
            return cell.at(node.is_) if node.is_ in DATED else None
        case ClosedSpec():
            return cell.closed_at(node.lag_s)
        case TickSpec():
            return cell.ticked_at(node.cron, node.tz)
        case JoinSpec() if node.op == "all" and not holds(node, cell):
            return None
        case JoinSpec():
            return _last(came_at(one, cell) for one in node.of)
        case DepsSpec() if node.op == "all_deps" and not holds(node, cell):
            return None
        case DepsSpec():
            return _last(_dep_came_at(node.of, dep) for dep in _deps(node, cell))
        case SinceSpec() | NewlySpec():
            return came_at(node.of, cell) if holds(node, cell) else None
        case _:
            return None


def explain(node: NodeSpec, cell: CellView) -> Part:
    """The whole tree with what holds of it, down to the upstream assets."""
    match node:
        case JoinSpec():
            parts = tuple(explain(one, cell) for one in node.of)
            return Part(text_of(node), (all if node.op == "all" else any)(part.holds for part in parts), parts)
        case NotSpec():
            part = explain(node.of, cell)
            told = (part,) if isinstance(node.of, JoinSpec | NotSpec) else part.parts  # the line says it already
            return Part(text_of(node), not part.holds, told)
        case DepsSpec():
            return Part(text_of(node), holds(node, cell), _by_asset(node, cell))
        case SinceSpec():
            sides = (_dated(node.of, cell), _dated(node.than, cell))
            return Part(text_of(node), holds(node, cell), sides)
        case NewlySpec():
            return Part(text_of(node), holds(node, cell), (_dated(node.of, cell), _dated(_MADE, cell)))
        case _:
            return Part(text_of(node), holds(node, cell))


def text_of(node: NodeSpec) -> str:
    """A condition as people write it.

    >>> text_of(JoinSpec(op="all", of=(ClosedSpec(lag_s=900), NotSpec(of=CellSpec(is_="failed")))))
    'closed(lag=900s) & ~failed'
    """
    match node:
        case CellSpec() | DepSpec():
            return node.is_
        case LatestSpec():
            return f"latest({node.n})"
        case ClosedSpec():
            said = [f"lag={node.lag_s:g}s"] if node.lag_s else []
            said += [f"catch_up={node.catch_up}"] if node.catch_up != "none" else []
            said += [f"pace={node.pace}"] if node.pace is not None else []
            return f"closed({', '.join(said)})"
        case TickSpec():
            return f"tick({node.cron!r}, {node.tz!r})"
        case NotSpec():
            return f"~{_inner(node.of)}"
        case JoinSpec():
            return node.label or (" & " if node.op == "all" else " | ").join(map(_inner, node.of))
        case DepsSpec():
            said = [text_of(node.of)]
            said += [f"allow={', '.join(node.allow)}"] if node.allow is not None else []
            said += [f"ignore={', '.join(node.ignore)}"] if node.ignore else []
            return f"{node.op}({'; '.join(said)})"
        case SinceSpec():
            return f"{_inner(node.of)}.since({text_of(node.than)})"
        case NewlySpec():
            return f"newly_true({text_of(node.of)})"


def nodes_of(node: NodeSpec) -> list[NodeSpec]:
    """The node and all below it.

    >>> [one.op for one in nodes_of(NotSpec(of=LatestSpec()))]
    ['not', 'latest']
    """
    found, left = [], [node]
    while left:  # no recursion: thousands of assets are judged in one look
        one = left.pop()
        found.append(one)
        match one:
            case JoinSpec():
                left.extend(reversed(one.of))
            case NotSpec() | DepsSpec() | NewlySpec():
                left.append(one.of)
            case SinceSpec():
                left += (one.than, one.of)
            case _:
                pass
    return found


def _deps(node: DepsSpec, cell: CellView) -> Iterator[DepView]:
    for dep in cell.deps():
        if (node.allow is None or dep.key in node.allow) and dep.key not in node.ignore:
            yield dep


def _of_dep(node: NodeSpec, dep: DepView) -> bool:
    match node:
        case DepSpec():
            return dep.holds(node.is_)
        case NotSpec():
            return not _of_dep(node.of, dep)
        case JoinSpec():
            return (all if node.op == "all" else any)(_of_dep(one, dep) for one in node.of)
        case _:
            raise AssertionError(f"{node.op} inside any_deps or all_deps")


def _dep_came_at(node: NodeSpec, dep: DepView) -> datetime | None:
    match node:
        case DepSpec():
            return dep.at(node.is_) if node.is_ in DATED else None
        case JoinSpec() if node.op == "any" or _of_dep(node, dep):
            return _last(_dep_came_at(one, dep) for one in node.of)
        case _:
            return None


def _dated(node: NodeSpec, cell: CellView) -> Part:
    """One side of a comparison of instants, with its own."""
    part = explain(node, cell)
    at = came_at(node, cell)
    return Part(f"{part.text}: {'never' if at is None else at.isoformat(timespec='seconds')}", part.holds, part.parts)


def _later(one: datetime | None, than: datetime | None) -> bool:
    return one is not None and (than is None or one > than)


def _last(found: Iterable[datetime | None]) -> datetime | None:
    return max((one for one in found if one is not None), default=None)


_MADE = CellSpec(is_="made")


def _by_asset(node: DepsSpec, cell: CellView) -> tuple[Part, ...]:
    join: Callable[[list[bool]], bool] = any if node.op == "any_deps" else all
    found: dict[str, list[bool]] = {}
    for dep in _deps(node, cell):
        found.setdefault(dep.key, []).append(_of_dep(node.of, dep))
    fact = _inner(node.of)
    return tuple(Part(f"{key}: {sum(each)} of {len(each)} {fact}", join(each)) for key, each in found.items())


def _inner(node: NodeSpec) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, JoinSpec) and node.label is None and len(node.of) > 1 else text
