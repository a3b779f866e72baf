"""The chosen cells of a plan while it is decided: what is known of the steps that are decided, and the reasons of cells.

Of one asset, or of each row of a stack (`cells/stack.py`): the rules are the same. Which cells are chosen is said by `decide.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey
from partita.core.catalog import CatalogInput
from partita.core.catalog.edges import Bools, nothing
from partita.core.cells.stack import Stack
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.planner.targets import Targets
from partita.core.planner.values import Blocked, Reason

Reasons = npt.NDArray[np.uint8]
REASONS = tuple(Reason)
_CODE = {reason: index + 1 for index, reason in enumerate(REASONS)}


def reason_code(reason: Reason) -> int:
    """The number of a reason in `Choice.reason`."""
    return _CODE[reason]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The planned cells of one asset: `run` as a mask, the reason of each as an index + 1 into REASONS (0: not planned),
    and those that run only if an upstream changes."""

    run: Bools
    reason: Reasons
    conditional: Bools


@dataclass(slots=True)
class Decided:
    """`choices` in topological order of steps; assets without planned cells are left out."""

    choices: dict[AssetKey, Choice] = field(default_factory=dict)
    blocked: list[Blocked] = field(default_factory=list)


class Drafted(Protocol):
    """What the reasons of planned cells follow from: of one asset, or of each row of a stack (see `_Draft`)."""

    @property
    def status(self) -> AssetStatus | Stack: ...
    @property
    def asked(self) -> Bools: ...
    @property
    def follows(self) -> Bools: ...
    @property
    def surely(self) -> Bools: ...


@dataclass(slots=True)
class Deciding:
    """What is known of the steps that are decided already, worked out once for all their consumers."""

    statuses: Statuses
    targets: Targets
    decided: Decided
    refused: dict[AssetKey, Bools] = field(default_factory=dict)
    """Cells that would run but are blocked; assets without any are left out."""
    made: dict[AssetKey, Bools] = field(default_factory=dict)
    """Missing cells that will run; assets without any are left out."""
    gone: dict[AssetKey, Bools | None] = field(default_factory=dict)
    """Cells that are not there and will not be; None for no cell."""

    def gone_of(self, one: CatalogInput) -> Bools | None:
        """The upstream cells of an input that nobody will be able to read."""
        if one.external:
            return None
        key = one.upstream
        if key not in self.gone:
            gone: Bools = ~self.statuses.present(one)
            above = self.decided.choices.get(key)
            if above is not None:
                gone &= ~above.run
            self.gone[key] = gone if gone.any() else None
        return self.gone[key]


def choose(draft: Drafted, run: Bools, *, alone: bool) -> Choice:
    """The reasons of one member, or of each row. A member that is fresh runs because its group does."""
    status = draft.status
    none = nothing(run.shape[-1])
    reason = np.full(run.shape, _CODE[Reason.FORCED], dtype=np.uint8)
    _put(reason, _CODE[Reason.STALE_DATA], draft.follows)
    if (run & ~either(status.failed, status.missing)).any():  # else nobody asks whether they are stale
        _put(reason, _CODE[Reason.STALE_DATA], status.stale_data)
        _put(reason, _CODE[Reason.STALE_DEPENDENCIES], status.stale_dependencies)
        _put(reason, _CODE[Reason.STALE_CODE], status.stale_code)
    _put(reason, _CODE[Reason.MISSING], status.missing)
    _put(reason, _CODE[Reason.FAILED], status.failed)
    reason *= run
    conditional = none if draft.follows is none else run & draft.follows & ~(draft.asked | draft.surely)
    if not alone:  # a fresh member runs only because another may: then it is as unsure as that one
        conditional = run & ~(status.missing | status.stale | status.failed | draft.asked | draft.surely)
    return Choice(run if alone else run.copy(), reason, conditional)


def _put(reasons: Reasons, code: int, mask: Bools) -> None:
    """Give these cells a reason, whatever they had. Changes `reasons`."""
    if mask is not nothing(mask.shape[-1]):
        np.copyto(reasons, np.uint8(code), where=mask)


def either(left: Bools, right: Bools) -> Bools:
    """Both; where the left is no cell at all, the right itself."""
    return right if left is nothing(left.shape[-1]) else left | right
