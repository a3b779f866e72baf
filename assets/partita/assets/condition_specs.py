"""The wire forms of automation conditions, as a snapshot holds them: a closed algebra over cells, told apart by `op`.

A condition is true or false of one partition of an asset. Owns the form and what makes a tree illegal; what each word means, and
how a tree is worked out, is `conditions.py`'s.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from partita.assets.errors import PartitaError
from partita.assets.keys import asset_key
from partita.assets.partitions.fires import check_cron
from partita.assets.scheme_specs import Spec

CatchUp = Literal["none", "latest", "all"]
"""Which windows that had closed before the asset was automated are asked for, too."""

CellWord = Literal["missing", "data_changed", "code_changed", "failed", "check_failed", "late", "made"]
DepWord = Literal["missing", "failed", "in_progress", "updated", "check_failed", "late"]

DATED: frozenset[str] = frozenset({"data_changed", "failed", "check_failed", "late", "made", "updated"})
"""The words that also say when they came to hold; so do `closed` and `tick`."""


class CellSpec(Spec):
    """A fact about the cell itself.

    >>> CellSpec(is_="missing")
    CellSpec(op='cell', is_='missing')
    """

    op: Literal["cell"] = "cell"
    is_: CellWord


class LatestSpec(Spec):
    """Among the newest n partitions by time; with `lag_s`, among the newest n that closed so long ago.

    >>> LatestSpec(n=7).n
    7
    """

    op: Literal["latest"] = "latest"
    n: int = Field(1, ge=1)
    lag_s: float | None = Field(None, ge=0)


class ClosedSpec(Spec):
    """The window closed at least `lag_s` seconds ago, after the asset was first automated (or before, by `catch_up`). More than
    `pace` windows of the past go so many at a time; None: as many as the deployment says.

    >>> ClosedSpec(lag_s=900).catch_up
    'none'
    """

    op: Literal["closed"] = "closed"
    lag_s: float = Field(0.0, ge=0)
    catch_up: CatchUp = "none"
    pace: int | None = Field(None, ge=1)


class TickSpec(Spec):
    """The cron has fired since the cell was last made.

    >>> TickSpec(cron="0 6 * * *", tz="Europe/Berlin").cron
    '0 6 * * *'
    """

    op: Literal["tick"] = "tick"
    cron: str
    tz: str = "UTC"

    @model_validator(mode="after")
    def _fires(self) -> TickSpec:
        try:
            check_cron(self.cron, self.tz)
        except PartitaError as refused:
            raise ValueError(str(refused)) from None
        return self


class DepSpec(Spec):
    """A fact about an upstream cell; stands inside `any_deps` and `all_deps` only.

    >>> DepsSpec(op="any_deps", of=DepSpec(is_="missing")).of
    DepSpec(op='dep', is_='missing')
    """

    op: Literal["dep"] = "dep"
    is_: DepWord


class DepsSpec(Spec):
    """Some, or each, of the upstream cells that the cell reads. `allow` and `ignore` name upstream assets.

    >>> DepsSpec(op="all_deps", of=DepSpec(is_="updated"), ignore=("raw/rates",)).ignore
    ('raw/rates',)
    """

    op: Literal["any_deps", "all_deps"]
    of: NodeSpec
    allow: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()

    @field_validator("allow", "ignore")
    @classmethod
    def _keys(cls, keys: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for key in keys or ():
            try:
                asset_key(key)
            except PartitaError as refused:
                raise ValueError(str(refused)) from None
        return keys


class JoinSpec(Spec):
    """All of these hold, or any of them; `label` is what people wrote for the whole.

    >>> JoinSpec(op="all", of=(CellSpec(is_="missing"), LatestSpec(n=7))).label is None
    True
    """

    op: Literal["all", "any"]
    of: tuple[NodeSpec, ...] = Field(min_length=1)
    label: str | None = None


class NotSpec(Spec):
    """This does not hold.

    >>> NotSpec(of=CellSpec(is_="failed")).op
    'not'
    """

    op: Literal["not"] = "not"
    of: NodeSpec


class SinceSpec(Spec):
    """The one came to hold after the other did last.

    >>> SinceSpec(of=TickSpec(cron="0 6 * * *"), than=CellSpec(is_="made")).op
    'since'
    """

    op: Literal["since"] = "since"
    of: NodeSpec
    than: NodeSpec


class NewlySpec(Spec):
    """It holds, and came to hold after the cell was last made.

    >>> NewlySpec(of=CellSpec(is_="late")).op
    'newly'
    """

    op: Literal["newly"] = "newly"
    of: NodeSpec


NodeSpec = Annotated[
    CellSpec | LatestSpec | ClosedSpec | TickSpec | DepSpec | DepsSpec | JoinSpec | NotSpec | SinceSpec | NewlySpec,
    Field(discriminator="op"),
]
"""One node of a condition, told apart by `op`.

>>> NotSpec.model_validate({"op": "not", "of": {"op": "cell", "is_": "failed"}}).of
CellSpec(op='cell', is_='failed')
"""


class ConditionSpec(Spec):
    """Automation: ask for the cells of which the condition holds; with `debounce_s`, what is published meanwhile is one request;
    with `keep_latest`, of what one look would ask for only the newest partition by time.

    >>> ConditionSpec(when=CellSpec(is_="missing")).type
    'condition'
    """

    type: Literal["condition"] = "condition"
    when: NodeSpec
    debounce_s: float = Field(0.0, ge=0)
    keep_latest: bool = False

    @model_validator(mode="after")
    def _in_place(self) -> ConditionSpec:
        _check(self.when, inside=False)
        return self


def _check(node: NodeSpec, *, inside: bool) -> None:
    """Facts about upstream cells stand inside `any_deps` and `all_deps`, and only they do."""
    match node:
        case JoinSpec():
            for one in node.of:
                _check(one, inside=inside)
        case NotSpec():
            _check(node.of, inside=inside)
        case DepSpec() if not inside:
            raise ValueError(f"{node.is_} is about upstream cells: it stands inside any_deps(...) or all_deps(...)")
        case DepsSpec() if not inside:
            _check(node.of, inside=True)
        case DepSpec():
            pass
        case SinceSpec() | NewlySpec() if not inside:
            for side in (node.of, node.than) if isinstance(node, SinceSpec) else (node.of,):
                _check(side, inside=False)
                if not dated(side):
                    raise ValueError(
                        f"{node.op} asks when something came to hold: a tick, a close, or one of {', '.join(sorted(DATED))}"
                    )
        case _ if inside:
            raise ValueError(f"{node.op} is about the cell itself: it stands outside any_deps(...) and all_deps(...)")
        case _:
            pass


def dated(node: NodeSpec) -> bool:
    """Whether something in it says when it came to hold. What is negated does not.

    >>> dated(JoinSpec(op="all", of=(CellSpec(is_="missing"), CellSpec(is_="late")))), dated(LatestSpec())
    (True, False)
    """
    match node:
        case CellSpec() | DepSpec():
            return node.is_ in DATED
        case JoinSpec():
            return any(map(dated, node.of))
        case DepsSpec() | NewlySpec() | SinceSpec():
            return dated(node.of)
        case ClosedSpec() | TickSpec():
            return True
        case _:
            return False
