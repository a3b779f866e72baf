"""The words that conditions are made of: `when.missing & ~when.any_deps(when.dep.failed)`.

Facts about the partition itself are values (`missing`, `data_changed`, `code_changed`, `failed`, `ready`) or made by a call
(`latest`, `closed`, `tick`); facts about what it reads (`dep.missing`, ...) stand inside `any_deps` and `all_deps`.

>>> on_missing() & when.latest(7) & ~when.any_deps(when.dep.failed, ignore=["raw/rates"])
Automation('on_missing() & latest(7) & ~any_deps(failed; ignore=raw/rates)')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic import ValidationError

from partita.assets import (
    READY,
    CellSpec,
    ClosedSpec,
    ConditionSpec,
    DefinitionError,
    DepSpec,
    DepsSpec,
    JoinSpec,
    LatestSpec,
    NewlySpec,
    NodeSpec,
    NotSpec,
    TickSpec,
    text_of,
)
from partita.assets.condition_specs import CatchUp, DepWord
from partita.assets.durations import Duration, seconds
from partita.sdk.automation import Automation, of_node
from partita.sdk.references import HasKey

missing: Final = of_node(CellSpec(is_="missing"))
"""The partition holds nothing."""
data_changed: Final = of_node(CellSpec(is_="data_changed"))
"""Its inputs hold other data than it was made from."""
code_changed: Final = of_node(CellSpec(is_="code_changed"))
"""Its code, or what it depends on, is not what it was made with."""
stale: Final = of_node(
    JoinSpec(op="any", of=(CellSpec(is_="data_changed"), CellSpec(is_="code_changed")), label="stale")
)
"""Its inputs, its code or what it depends on are not what it was made with."""
failed: Final = of_node(CellSpec(is_="failed"))
"""Its last attempt failed."""
made: Final = of_node(CellSpec(is_="made"))
"""It holds data; for `since`: when it was last made or confirmed."""
check_failed: Final = of_node(CellSpec(is_="check_failed"))
"""A check of its last attempt did not pass, blocking or not."""
late: Final = of_node(CellSpec(is_="late"))
"""Its asset breaks its freshness policy."""
ready: Final = of_node(READY)
"""All that it needs is there, and nothing of it is being made."""


def latest(n: int = 1) -> Automation:
    """It is among the newest n partitions by time; always, where time is no dimension."""
    return _made(lambda: LatestSpec(n=n), f"when.latest({n!r})", "n is a whole number, at least one")


def closed(lag: Duration = 0, *, catch_up: CatchUp = "none", pace: int | None = None) -> Automation:
    """Its window has closed and `lag` has passed; see `on_close`."""
    lag_s = seconds(lag, what="when.closed(lag=...)")
    return _made(
        lambda: ClosedSpec(lag_s=lag_s, catch_up=catch_up, pace=pace),
        f"when.closed({lag!r})",
        "catch_up is one of none, latest, all; pace is a whole number from 1",
    )


def tick(cron: str, tz: str = "UTC") -> Automation:
    """The cron has fired since it was last made."""
    return _made(
        lambda: TickSpec(cron=cron, tz=tz),
        f"when.tick({cron!r}, {tz!r})",
        "a cron has five fields, a zone is a name",
    )


def newly_true(of: Automation) -> Automation:
    """It holds, and came to hold after the partition was last made. Something in it has to say when it came to hold: a tick, a
    close, `made`, `failed`, `check_failed`, `late`, `data_changed`, or of upstream partitions `dep.updated`, `dep.failed`,
    `dep.check_failed`, `dep.late`.

    >>> newly_true(late)
    Automation('newly_true(late)')
    """
    return _made(lambda: ConditionSpec(when=NewlySpec(of=of.node)).when, f"when.newly_true({of!r})", _DATED)


_DATED = "it compares instants, so something in it has to say when it came to hold"


@dataclass(frozen=True, slots=True)
class DepCondition:
    """A fact about an upstream partition, for `any_deps` and `all_deps`; joined by `&`, `|`, `~`."""

    node: NodeSpec

    def __and__(self, other: DepCondition) -> DepCondition:
        return DepCondition(JoinSpec(op="all", of=(self.node, other.node)))

    def __or__(self, other: DepCondition) -> DepCondition:
        return DepCondition(JoinSpec(op="any", of=(self.node, other.node)))

    def __invert__(self) -> DepCondition:
        return DepCondition(NotSpec(of=self.node))

    def __repr__(self) -> str:
        return f"DepCondition({text_of(self.node)!r})"


def _dep(word: str) -> DepCondition:
    return DepCondition(DepSpec(is_=cast(DepWord, word)))


class dep:  # noqa: N801 - read as `when.dep.missing`
    """What can be said of an upstream partition."""

    missing: Final = _dep("missing")
    failed: Final = _dep("failed")
    in_progress: Final = _dep("in_progress")
    updated: Final = _dep("updated")
    check_failed: Final = _dep("check_failed")
    late: Final = _dep("late")


Deps = Sequence[str | HasKey]


def any_deps(of: DepCondition, *, allow: Deps | None = None, ignore: Deps = ()) -> Automation:
    """It holds of at least one partition that this one reads. `allow` and `ignore` name upstream assets."""
    return _deps("any_deps", of, allow, ignore)


def all_deps(of: DepCondition, *, allow: Deps | None = None, ignore: Deps = ()) -> Automation:
    """It holds of each partition that this one reads (also when it reads none)."""
    return _deps("all_deps", of, allow, ignore)


def _deps(op: str, of: DepCondition, allow: Deps | None, ignore: Deps) -> Automation:
    if not isinstance(of, DepCondition):
        raise DefinitionError(
            f"when.{op}({of!r})",
            rule="it takes a fact about upstream partitions",
            fix=f"write for example when.{op}(when.dep.missing)",
        )
    node = DepsSpec(
        op="any_deps" if op == "any_deps" else "all_deps",
        of=of.node,
        allow=None if allow is None else tuple(map(_key, allow)),
        ignore=tuple(map(_key, ignore)),
    )
    return of_node(node)


def _key(one: str | HasKey) -> str:
    return one if isinstance(one, str) else str(one.key)


def _made(make: Callable[[], NodeSpec], thing: str, rule: str) -> Automation:
    try:
        return of_node(make())
    except ValidationError as refused:
        raise DefinitionError(
            f"{thing}: {refused.errors()[0]['msg'].removeprefix('Value error, ')}",
            rule=rule,
            fix="see partita.sdk.when",
        ) from None
