"""Why nothing is made of an asset."""

from __future__ import annotations

from partita.ui.api.models.assets import Why
from partita.ui.api.models.automation import CellDecision
from partita.ui.api.models.base import Model
from partita.ui.api.models.shared import Reason, WindowView


class AssetWhy(Model):
    """Why nothing is made of an asset, or of one partition of it: `reasons` in the order in which they bind.

    `window` is that of `partition`, where it has one; without a partition the next one to be due. `latest` is the partition that
    `cell` and `decision` are about: the one asked about, else the newest; null where none exists.
    """

    key: str
    partition: str | None
    sentence: str
    reasons: list[Reason]
    window: WindowView | None
    latest: str | None
    cell: Why | None
    decision: CellDecision | None
