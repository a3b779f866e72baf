"""Freshness policies: how they are kept."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from partita.ui.api.models import FreshnessPage
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["assets"], responses=ERRORS)

Asset = Annotated[str | None, Query(description="Only this asset's")]


@router.get("/freshness", operation_id="listFreshness")
def list_freshness(use: Use, asset: Asset = None) -> FreshnessPage:
    return use.freshness.page(asset)
