"""What a person chooses after a partition scheme changed: keep, derive or restart. Pure: what is known in, the change out.

Owns what each choice does to the cells. The change is a value: the preview shows it, the duty writes it (law 6). An activation
does what `keep` does (`schemes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from partita.assets import AssetKey, PartitaError, PartitionsDef
from partita.core.decide.derive import derived_cells, joinable, why_not
from partita.core.decide.schemes import rematch
from partita.core.store.values import AssetId, TaskId
from partita.core.store.values_identity import CellWindow, DerivedCell, FormerCell

Kind = Literal["keep", "derive", "restart"]
KINDS: tuple[Kind, ...] = ("keep", "derive", "restart")


class SchemeRefused(PartitaError):
    """A choice that cannot be, or is not what was shown any more."""


@dataclass(frozen=True, slots=True)
class SchemeTarget:
    """An asset as the active definitions have it. `partitions` exist as of `as_of` (UTC)."""

    asset_id: AssetId
    key: AssetKey
    scheme: str
    definition: PartitionsDef | None
    fingerprint: str
    dependency_hash: str
    partitions: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class EarlierScheme:
    """The scheme that the newest former cells were made under."""

    hash: str
    spec: Any
    definition: PartitionsDef | None


@dataclass(frozen=True, slots=True)
class KnownCells:
    """`scheme` is that of `cells`, None when it is not recorded; `open` are the cells that a task is to make."""

    scheme: str | None
    cells: Sequence[CellWindow]
    former: Sequence[FormerCell]
    earlier: EarlierScheme | None
    open: Mapping[str, TaskId]


@dataclass(frozen=True, slots=True)
class SchemeChange:
    """`kept` published cells stay, `back` former ones come back, `aside` are set aside, `derived` are published. `missing`
    partitions hold nothing afterwards; `why` no cell is derived, or not all."""

    kind: Kind
    target: SchemeTarget
    kept: int
    back: tuple[FormerCell, ...] = ()
    aside: tuple[CellWindow, ...] = ()
    derived: tuple[DerivedCell, ...] = ()
    parts: int = 0
    missing: int = 0
    why: str = ""

    @property
    def touched(self) -> tuple[str, ...]:
        """The partitions that are written."""
        written: list[FormerCell | CellWindow | DerivedCell] = [*self.back, *self.aside, *self.derived]
        return tuple(one.partition for one in written)

    @property
    def empty(self) -> bool:
        """Whether nothing would be written."""
        return not (self.back or self.aside or self.derived)


def decide_choice(kind: Kind, target: SchemeTarget, known: KnownCells) -> SchemeChange:
    """What a choice does. Raises SchemeRefused when the cells are of another scheme than the definition."""
    if known.scheme != target.scheme:
        raise SchemeRefused(
            f"the cells of {target.key!r} are not of the partition scheme that is active",
            rule="a choice is about the scheme that is active",
            fix="look again",
        )
    if kind == "keep":
        return _keep(target, known)
    return _derive(target, known) if kind == "derive" else _restart(target, known)


def earlier_hash(scheme: str | None, former: Sequence[FormerCell]) -> str | None:
    """The scheme that was the asset's before: that of the newest former cells which are not of its own."""
    return next((one.scheme for one in sorted(former, key=lambda one: -one.id) if one.scheme != scheme), None)


def _keep(target: SchemeTarget, known: KnownCells) -> SchemeChange:
    found = rematch(target.definition, known.cells, known.former, target.as_of)
    missing = max(target.partitions - found.kept - len(found.back), 0)
    return SchemeChange("keep", target, found.kept, back=found.back, aside=found.aside, missing=missing)


def _restart(target: SchemeTarget, known: KnownCells) -> SchemeChange:
    # The windows stay: it is the same scheme.
    aside = tuple(CellWindow(one.partition, one.window, one.held, known=False) for one in known.cells)
    return SchemeChange("restart", target, 0, aside=aside, missing=target.partitions)


def _derive(target: SchemeTarget, known: KnownCells) -> SchemeChange:
    held = {one.partition for one in known.cells if one.held}
    earlier = known.earlier
    if earlier is None:
        return _nothing(target, len(held), "no cell was made under an earlier partition scheme")
    own = [one for one in known.former if one.scheme == earlier.hash]
    why = why_not(target.definition, earlier.definition)
    if not why and not any(joinable(one.location) for one in own):
        schemes = sorted({(one.location or "nothing").partition(":")[0] for one in own})
        why = f"its cells are stored by {', '.join(schemes)}; only the lake reads several stored parts as one"
    if why:
        return _nothing(target, len(held), why)
    made = derived_cells(
        target.definition,
        earlier.definition,
        own,
        fingerprint=target.fingerprint,
        dependency_hash=target.dependency_hash,
        scheme=earlier.spec,
        as_of=target.as_of,
    )
    derived = tuple(one for one in made if one.partition not in held)
    if not derived:
        return _nothing(target, len(held), NONE_TILED)
    return SchemeChange(
        "derive",
        target,
        len(held),
        derived=derived,
        parts=sum(len(one.metadata["derived_from"]["partitions"]) for one in derived),
        missing=max(target.partitions - len(held) - len(derived), 0),
    )


NONE_TILED = "no missing window is made of whole published windows of the earlier scheme, without gap or overlap"


def _nothing(target: SchemeTarget, kept: int, why: str) -> SchemeChange:
    return SchemeChange("derive", target, kept, missing=max(target.partitions - kept, 0), why=why)
