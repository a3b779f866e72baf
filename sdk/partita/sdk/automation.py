"""What asks for an asset's partitions without a person: the words that people write after `automation=`.

Owns `Automation` with its operators, the whole policies (`eager`, `on_missing`, `on_close`, `on_cron`, `manual`) and their
errors. The single words that they are made of are in `when.py`, what they mean in `partita.assets.conditions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from pydantic import ValidationError

from partita.assets import (
    READY,
    AutomationSpec,
    CellSpec,
    ClosedSpec,
    ConditionSpec,
    DefinitionError,
    EagerSpec,
    JoinSpec,
    LatestSpec,
    ManualSpec,
    MultiPartitions,
    NodeSpec,
    NotSpec,
    OnCodeChange,
    PartitionsDef,
    SinceSpec,
    TickSpec,
    TimePartitions,
    condition_of,
    suggest,
    text_of,
)
from partita.assets.condition_specs import CatchUp
from partita.assets.conditions import nodes_of, policy_text
from partita.assets.durations import Duration, seconds


@dataclass(frozen=True, slots=True)
class Automation:
    """What asks for an asset's partitions without a person: `eager()`, `on_close()`, or words of `when` joined by `&`, `|`, `~`.

    >>> eager() & ~when.failed
    Automation('eager() & ~failed')
    """

    spec: AutomationSpec

    def __and__(self, other: Automation) -> Automation:
        return self._joined("all", other)

    def __or__(self, other: Automation) -> Automation:
        return self._joined("any", other)

    def __invert__(self) -> Automation:
        return self._of(NotSpec(of=self.node))

    def __bool__(self) -> bool:
        raise DefinitionError(
            f"{self!r} is neither true nor false here",
            rule="a condition is worked out by partita, later, for each partition",
            fix="join conditions by &, | and ~ in place of and, or and not",
        )

    def __repr__(self) -> str:
        return f"Automation({policy_text(self.spec) or 'manual()'!r})"

    def debounced(self, for_: Duration) -> Automation:
        """What upstreams publish within `for_` of the first of them is decided together, at its end: one request for all.

        >>> eager().debounced("5m")
        Automation('eager().debounced(300s)')
        """
        for_s = seconds(for_, what="debounced(...)")
        return Automation(ConditionSpec(when=self.node, debounce_s=for_s, keep_latest=self._keeps_latest))

    def keep_latest(self) -> Automation:
        """Of the partitions that one look would ask for, only the newest by time is: what an outage, a pause or a burst left
        behind is skipped. An older one is asked for when something touches it again and no newer one.

        >>> on_close("15m").keep_latest()
        Automation("on_close(lag='15m').keep_latest()")
        """
        return Automation(ConditionSpec(when=self.node, debounce_s=self._debounce_s, keep_latest=True))

    def since(self, other: Automation) -> Automation:
        """It came to hold after the other one did last: `when.tick("0 6 * * *").since(when.made)`. It goes by instants, so in
        both there has to be something that says when it came to hold; see `when.newly_true`.

        >>> when.any_deps(when.dep.updated).since(when.tick("0 6 * * *", "Europe/Berlin"))
        Automation("any_deps(updated).since(tick('0 6 * * *', 'Europe/Berlin'))")
        """
        if not isinstance(other, Automation):
            raise DefinitionError(
                f"{self!r}.since({other!r})",
                rule="a condition is compared with a condition",
                fix="write for example when.tick(...).since(when.made)",
            )
        try:
            return self._of(SinceSpec(of=self.node, than=other.node))
        except ValidationError as refused:
            raise DefinitionError(
                f"{self!r}.since({other!r}): {refused.errors()[0]['msg'].removeprefix('Value error, ')}",
                rule="it compares when two conditions came to hold",
                fix="write for example when.tick(...).since(when.made)",
            ) from None

    @property
    def _debounce_s(self) -> float:
        return self.spec.debounce_s if isinstance(self.spec, ConditionSpec) else 0.0

    @property
    def _keeps_latest(self) -> bool:
        return isinstance(self.spec, ConditionSpec) and self.spec.keep_latest

    def _of(self, node: NodeSpec) -> Automation:
        """Another condition, gathered and kept as this one is."""
        return Automation(ConditionSpec(when=node, debounce_s=self._debounce_s, keep_latest=self._keeps_latest))

    @property
    def node(self) -> NodeSpec:
        """The condition; raises DefinitionError for `manual()`, which is none."""
        node = condition_of(self.spec)
        if node is None:
            raise DefinitionError(
                "manual() is joined with another condition",
                rule="manual() says that nothing asks without a person",
                fix="leave it out",
            )
        return node

    def _joined(self, op: str, other: object) -> Automation:
        if not isinstance(other, Automation):
            raise DefinitionError(
                f"{self!r} is joined with {other!r}",
                rule="a condition is joined with a condition",
                fix="write for example eager() & ~when.failed",
            )
        parts: list[NodeSpec] = []
        for node in (self.node, other.node):
            # a & b & c is one list of three: associative, so that the text and the hash do not go by brackets
            flat = isinstance(node, JoinSpec) and node.op == op and node.label is None
            parts.extend(cast(JoinSpec, node).of if flat else (node,))
        joined = JoinSpec(op="all" if op == "all" else "any", of=tuple(parts))
        keeps = self._keeps_latest or other._keeps_latest
        return Automation(
            ConditionSpec(when=joined, debounce_s=max(self._debounce_s, other._debounce_s), keep_latest=keeps)
        )


def of_node(node: NodeSpec) -> Automation:
    """The policy of a condition."""
    return Automation(ConditionSpec(when=node))


def eager() -> Automation:
    """Whenever an upstream publishes, the partitions that it touches are asked for, in the transaction that takes the
    event: those that are missing, or were made from other data, once all that they need is there.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders() -> Relation: ...
    >>> @asset(partitions=Daily("2026-03-01"), automation=eager())
    ... def totals(orders: Relation) -> Relation: ...
    >>> eager().spec
    EagerSpec(type='eager')
    """
    return Automation(EagerSpec())


def manual() -> Automation:
    """Only people and backfills ask (the default).

    >>> manual().spec
    ManualSpec(type='manual')
    """
    return Automation(ManualSpec())


def on_missing() -> Automation:
    """Partitions that hold nothing are asked for as soon as all that they need is there, those of the past included.

    More than the limit of automatic requests (500 cells by default) wait for a person.

    >>> on_missing()
    Automation('on_missing()')
    """
    return of_node(JoinSpec(op="all", of=(CellSpec(is_="missing"), READY), label="on_missing()"))


def on_close(
    lag: Duration = 0, *, lookback: int = 1, catch_up: CatchUp = "none", pace: int | None = None
) -> Automation:
    """A partition is asked for when its window has closed and `lag` has passed: the nightly run.

    When all that it needs is not there yet, it is asked for when it is. The newest `lookback` windows are looked at again, and
    made again only where their inputs hold other data: late data. `catch_up` says which windows that had closed before the
    asset was automated are asked for, too: none of them, the latest, or all. When more than `pace` windows (16 unless given) are
    older than the newest, those go as a backfill, so many tasks at a time, the oldest first.

    >>> @asset(partitions=Daily("2026-03-01", tz="Europe/Berlin"), automation=on_close(lag="15m", lookback=3))
    ... def orders() -> Relation: ...
    >>> on_close("15m", lookback=3)
    Automation("on_close(lag='15m', lookback=3)")
    """
    lag_s = seconds(lag, what="on_close(lag=...)")
    if type(lookback) is not int or lookback < 0:
        raise DefinitionError(
            f"on_close(lookback={lookback!r})",
            rule="lookback is a whole number of windows, 0 or more",
            fix="write for example 3",
        )
    if catch_up not in get_args(CatchUp):
        raise DefinitionError(
            f"on_close(catch_up={catch_up!r})",
            rule="catch_up is one of none, latest, all",
            fix=suggest(str(catch_up), get_args(CatchUp)),
        )
    if pace is not None and (type(pace) is not int or pace < 1):
        raise DefinitionError(
            f"on_close(pace={pace!r})",
            rule="pace is how many tasks of the past go at a time, a whole number from 1",
            fix="write for example 4, or leave it out",
        )
    late = (
        JoinSpec(op="all", of=(LatestSpec(n=lookback, lag_s=lag_s), CellSpec(is_="data_changed"))) if lookback else None
    )
    said = [f"lag={lag!r}"] if lag_s else []
    said += [f"lookback={lookback}"] if lookback != 1 else []
    said += [f"catch_up={catch_up!r}"] if catch_up != "none" else []
    said += [f"pace={pace}"] if pace is not None else []
    closed = JoinSpec(op="all", of=(ClosedSpec(lag_s=lag_s, catch_up=catch_up, pace=pace), CellSpec(is_="missing")))
    wanted = closed if late is None else JoinSpec(op="any", of=(closed, late))
    return of_node(JoinSpec(op="all", of=(wanted, READY), label=f"on_close({', '.join(said)})"))


def on_cron(cron: str, tz: str = "UTC") -> Automation:
    """At each tick of the cron the newest partition, or every partition where time is no dimension, is made anew, once all that
    it needs is there. A tick that comes while an earlier one still waits replaces it.

    >>> on_cron("0 6 * * mon-fri", "Europe/Berlin")
    Automation("on_cron('0 6 * * mon-fri', 'Europe/Berlin')")
    """
    try:
        tick = TickSpec(cron=cron, tz=tz)
    except ValidationError as refused:
        raise DefinitionError(
            f"on_cron({cron!r}, {tz!r}): {refused.errors()[0]['msg'].removeprefix('Value error, ')}",
            rule="a cron has five fields, and a zone is a name such as Europe/Berlin",
            fix='write for example on_cron("0 6 * * *", "Europe/Berlin")',
        ) from None
    label = f"on_cron({cron!r}, {tz!r})" if tz != "UTC" else f"on_cron({cron!r})"
    return of_node(JoinSpec(op="all", of=(tick, LatestSpec(n=1), READY), label=label))


def check_automation(automation: Automation, partitions: PartitionsDef | None, owner: str) -> None:
    """Raises DefinitionError for a condition on the closing of windows where there are none."""
    node = condition_of(automation.spec)
    schemes = [scheme for _, scheme in partitions.dims] if isinstance(partitions, MultiPartitions) else [partitions]
    if node is None or any(isinstance(one, TimePartitions) for one in schemes):
        return
    if any(isinstance(one, ClosedSpec) for one in nodes_of(node)):
        raise DefinitionError(
            f"{owner}: automation={text_of(node)}",
            rule="only partitions by time have windows that close",
            fix='give it time partitions, or write on_cron("0 6 * * *")',
        )


def checked_on_code_change(given: object, owner: str) -> OnCodeChange:
    """What `on_code_change=` of an asset says; refuses what is no word of it."""
    if given in get_args(OnCodeChange):
        return cast(OnCodeChange, given)
    raise DefinitionError(
        f"{owner}: on_code_change={given!r}",
        rule="automation leaves history as it is when code changes ('ignore'), or makes it again ('rebuild')",
        fix=suggest(str(given), get_args(OnCodeChange)),
    )
