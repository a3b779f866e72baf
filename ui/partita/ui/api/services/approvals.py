"""Cells that wait in an automatic request above the limit: which request, and how a person lets it go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partita.core.automation.held import decode_cells
from partita.core.store.queries.api_read import Row, rows
from partita.core.store.queries.api_requests import REQUESTS_OF_ASSET
from partita.core.store.queries.reader import Reader
from partita.core.store.values import AssetId, CellRef
from partita.ui.api.models import Reason
from partita.ui.api.services.words import plural

AWAITING = "awaiting_approval"


def approval_reason(reader: Reader, asset_id: AssetId, partition: str) -> Reason | None:
    """Of a cell that automation asks for and that waits for a person; None of every other."""
    cell = CellRef(asset_id, partition)
    for row in rows(reader, REQUESTS_OF_ASSET, asset_id=asset_id):
        held = decode_cells(row["body"]).get(cell)
        if held is not None:
            return request_reason(row, {"asked_for": held.reason.value})
    return None


def request_reason(row: Row, evidence: Mapping[str, Any] | None = None) -> Reason:
    """What a waiting request says of what it asks for (a row of REQUESTS_OF_ASSET)."""
    number, before = row["id"], int(row["cause"].get("before", 0))
    earlier = f"; {before:,} were asked for before because of the same run" if before else ""
    return Reason(
        code=AWAITING,
        text=(
            f"automation asks for it in request {number} ({plural(row['cells'], 'cell')}, above the limit of"
            f" {row['cell_limit']:,}{earlier}), which waits for approval: `partita requests approve {number}`"
        ),
        evidence={
            "request": number,
            "cells": row["cells"],
            "limit": row["cell_limit"],
            "before": before,
            **(evidence or {}),
            "since": row["created_at"].isoformat(),
            "expires_at": row["expires_at"].isoformat(),
        },
        upstream=None,
    )
