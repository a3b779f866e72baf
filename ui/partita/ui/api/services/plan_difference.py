"""Differences between plans as the contract shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from partita.core.planner import CellsOf, Changed, PlanDiff
from partita.ui.api import models


def difference_view(found: PlanDiff) -> models.PlanDifference:
    """The value of the planner, field by field."""
    return models.PlanDifference(
        was=found.was,
        now=found.now,
        same=found.same,
        text=found.text,
        request=_changes(found.request),
        snapshots=_changes(found.snapshots),
        assets=[
            models.AssetChange(
                key=one.key,
                added=_cells(one.added),
                removed=_cells(one.removed),
                reasons=[
                    models.ReasonMove(was=move.was.value, now=move.now.value, cells=_told(move.cells))
                    for move in one.reasons
                ],
                rescaled=one.rescaled,
            )
            for one in found.assets
        ],
        batches=_changes(found.batches),
        keys=list(found.keys),
    )


def _changes(found: Iterable[Changed]) -> list[models.WasNow]:
    return [models.WasNow(name=one.name, was=one.was, now=one.now) for one in found]


def _cells(cells: CellsOf | None) -> models.CellsText | None:
    return None if cells is None else _told(cells)


def _told(cells: CellsOf) -> models.CellsText:
    return models.CellsText(count=cells.count, partitions=cells.partitions)
