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
    """A definition (key, partition scheme, mapping, cron, zone) that can not be right."""


class UnknownPartition(DefinitionError):
    """A partition key that does not name a partition existing at the asked instant."""


class UnknownAsset(DefinitionError):
    """An asset key that no location defines."""


class CycleError(DefinitionError):
    """Assets that depend on themselves, directly or through others; `path` starts and ends at the same key."""

    def __init__(self, what: str, *, rule: str = "", fix: str = "", path: tuple[str, ...] = ()) -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_cycle, (self.what, self.rule, self.fix, self.path)


class SelectionError(PartitaError):
    """A selection text (of assets or of partitions) that does not parse or names nothing."""


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return "did you mean X or Y?" for the candidates nearest to `name`, or "" when none is near."""
    near = get_close_matches(name, list(dict.fromkeys(candidates)), n=3, cutoff=0.6)
    if not near:
        return ""
    return f"did you mean {' or '.join(repr(one) for one in near)}?"


def _rebuild(kind: type[PartitaError], what: str, rule: str, fix: str) -> PartitaError:
    return kind(what, rule=rule, fix=fix)


def _rebuild_cycle(what: str, rule: str, fix: str, path: tuple[str, ...]) -> CycleError:
    return CycleError(what, rule=rule, fix=fix, path=path)
