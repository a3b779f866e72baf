"""Changed definitions and what they do to cells: why code counts as changed, accepting it, and a deployment's difference."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from partita.ui.api.models.base import Model
from partita.ui.api.models.shared import CellAddress


class CodeChangeView(Model):
    """How the code that made something differs from the present one. Names are `module.function`."""

    function: str
    text: str
    changed: list[str]
    added: list[str]
    removed: list[str]


class HeldBackView(Model):
    """`reaches` is how far the data goes; `path` leads from the first partition that is not fresh up to the cell that holds
    it back, which comes last; it is empty when nothing does."""

    key: str
    reaches: datetime | None
    sentence: str
    path: list[CellAddress]


class AcceptRequest(Model):
    selection: str = Field(min_length=1)
    partitions: str = Field(min_length=1, description='A partition selection; "all" for the whole history')


class AcceptConfirm(AcceptRequest):
    reason: str = Field(min_length=1)
    confirm_cells: int = Field(ge=0, description="The count that was shown")


class AcceptedAsset(Model):
    """`code` and `dependencies` count why its cells are stale; `still_stale` stay so, because their inputs hold other data."""

    key: str
    cells: int
    partitions: str
    code: int
    dependencies: int
    still_stale: int
    change: CodeChangeView | None


class AcceptView(Model):
    """What accepting would record. Nothing acts without it."""

    cells: int
    sentence: str
    assets: list[AcceptedAsset]


class AcceptedView(Model):
    """`passed_over` cells were made again or accepted by somebody else meanwhile."""

    id: int
    cells: int
    passed_over: int


class AcceptanceView(Model):
    id: int
    at: datetime
    who: str
    reason: str
    cells: int
    selection: str
    partitions: str | None
    undone_at: datetime | None
    undone_by: str | None


class ImpactView(Model):
    """What happens to the published cells of an asset."""

    stale: int
    fresh: int
    out_of_reach: int
    upstream_stale: int


class ChangedAsset(Model):
    """`kind` says how: a likely rename stands in `added` and `removed` too. `lines` are sentences. `partitions`: they changed,
    so that there is something to choose."""

    key: str
    kind: Literal["added", "removed", "changed", "settings", "below"]
    lines: list[str]
    partitions: bool
    impact: ImpactView | None


class RenameView(Model):
    before: str
    after: str
    because: str


class LocationDiff(Model):
    """`waiting`: `version` is a candidate that is not active; else it is, and `against` was before it. `problems` refuse it."""

    location: str
    waiting: bool
    version: str | None
    against: str | None
    sentence: str
    problems: list[str]
    assets: list[ChangedAsset]
    renames: list[RenameView]
    checks: list[str]


def acceptance_view(row: dict[str, Any]) -> AcceptanceView:
    """A row of the acceptances."""
    request = row["request"] or {}
    return AcceptanceView(
        **{name: row[name] for name in ("id", "at", "who", "reason", "cells", "undone_at", "undone_by")},
        selection=str(request.get("selection", "")),
        partitions=request.get("partitions"),
    )
