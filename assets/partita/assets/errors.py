"""The errors of the model: what happened, which rule was broken, what to do.

Owns the root of partita's exception tree and the edit-distance suggestion. Refuses to know about
transport, storage or user code: those floors derive their own errors from `PartitaError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PartitaError(Exception):
    """Root of every error that partita raises on purpose.

    `what` names the thing, `rule` the rule that it broke, `fix` what to do; the last two may be empty.

    >>> raise PartitaError("pool 'db' has 0 slots", rule="a pool has one slot or more", fix="remove it, or give it slots")
    Traceback (most recent call last):
        ...
    partita.assets.errors.PartitaError: pool 'db' has 0 slots; a pool has one slot or more; remove it, or give it slots
    """

    def __init__(self, what: str, *, rule: str = "", fix: str = "") -> None:
        self.what = what
        self.rule = rule
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        return "; ".join(part for part in (self.what, self.rule, self.fix) if part)

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process boundaries; the default would call __init__ without the keywords.
        return _rebuild, (type(self), self.what, self.rule, self.fix)


class DefinitionError(PartitaError):
    """A definition (key, partition scheme, mapping, cron, zone) that can not be right.

    >>> Daily("2026-01-01", tz="Europe/Berln")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: time zone 'Europe/Berln' is not known; ...; did you mean 'Europe/Berlin' or ...
    """


class UnknownPartition(DefinitionError):
    """A partition key that does not name a partition existing at the asked instant.

    >>> space_of(Static("EWR", "JFK", "LGA"), datetime(2026, 3, 1, tzinfo=UTC)).ordinal_of("JFX")
    Traceback (most recent call last):
        ...
    partita.assets.errors.UnknownPartition: partition 'JFX' does not exist; did you mean 'JFK'?
    """


class UnknownAsset(DefinitionError):
    """An asset key that no location defines.

    >>> AssetGraph([AssetSpec(key="raw/orders")]).asset("raw/order")
    Traceback (most recent call last):
        ...
    partita.assets.errors.UnknownAsset: asset 'raw/order' does not exist; no location defines it; did you mean 'raw/orders'?
    """


class CycleError(DefinitionError):
    """Assets that depend on themselves, directly or through others; `path` starts and ends at the same key.

    >>> def reads(key: str, upstream: str) -> AssetSpec:
    ...     return AssetSpec(key=key, inputs=[InputSpec(name=upstream, upstream=upstream, mapping=AllSpec())])
    >>> try:
    ...     AssetGraph([reads("a", "b"), reads("b", "a")])
    ... except CycleError as refused:
    ...     refused.path
    ('a', 'b', 'a')
    """

    def __init__(self, what: str, *, rule: str = "", fix: str = "", path: tuple[str, ...] = ()) -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_cycle, (self.what, self.rule, self.fix, self.path)


class SelectionError(PartitaError):
    """A selection text (of assets or of partitions) that does not parse or names nothing.

    >>> space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC)).select("2026-03-09..2026-03-02")
    Traceback (most recent call last):
        ...
    partita.assets.errors.SelectionError: range '2026-03-09..2026-03-02' is empty; ...; swap the two: 2026-03-02..2026-03-09
    """


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return "did you mean X or Y?" for the candidates nearest to `name`, or "" when none is near.

    >>> suggest("order", ["orders", "airlines"])
    "did you mean 'orders'?"
    >>> suggest("order", ["airlines"])
    ''
    """
    near = get_close_matches(name, list(dict.fromkeys(candidates)), n=3, cutoff=0.6)
    if not near:
        return ""
    return f"did you mean {' or '.join(repr(one) for one in near)}?"


def _rebuild(kind: type[PartitaError], what: str, rule: str, fix: str) -> PartitaError:
    return kind(what, rule=rule, fix=fix)


def _rebuild_cycle(what: str, rule: str, fix: str, path: tuple[str, ...]) -> CycleError:
    return CycleError(what, rule=rule, fix=fix, path=path)
