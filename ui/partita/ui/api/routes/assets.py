"""Assets, partitions, cells, the graph, why."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from partita.ui.api.models import (
    AssetDetail,
    AssetList,
    AssetWhy,
    CellDetail,
    CellState,
    GraphView,
    HeldBackView,
    PartitionPage,
    Resolved,
    Strip,
    Why,
)
from partita.ui.api.routes.common import ERRORS, Key, Limit, Offset, Ordinal, Use

router = APIRouter(tags=["assets"], responses=ERRORS)


@router.get("/assets", operation_id="listAssets")
def list_assets(use: Use, select: str | None = None, search: str | None = None) -> AssetList:
    return use.assets.find(select=select, search=search)


@router.get("/asset", operation_id="getAsset")
def get_asset(use: Use, key: Key) -> AssetDetail:
    return use.assets.detail(key)


@router.get("/asset/strip", operation_id="getStrip")
def get_strip(
    use: Use,
    key: Key,
    lo: Ordinal = None,
    hi: Ordinal = None,
    buckets: Annotated[int, Query(ge=1, le=2000)] = 400,
    where: Annotated[str | None, Query(description="JSON object: dimension -> key")] = None,
) -> Strip:
    return use.assets.strip(key, lo=lo, hi=hi, buckets=buckets, where=where)


@router.get("/asset/cell", operation_id="getCell")
def get_cell(use: Use, key: Key, partition: str = "") -> CellDetail:
    return use.assets.cell(key, partition)


@router.get("/asset/partitions", operation_id="listPartitions")
def list_partitions(
    use: Use, key: Key, state: CellState | None = None, offset: Offset = 0, limit: Limit = 100
) -> PartitionPage:
    return use.assets.partitions(key, state=state, offset=offset, limit=limit)


@router.get("/asset/resolve", operation_id="resolvePartitions")
def resolve_partitions(use: Use, key: Key, partitions: str) -> Resolved:
    return use.assets.resolve(key, partitions)


@router.get("/graph", operation_id="getGraph")
def get_graph(use: Use, select: str | None = None) -> GraphView:
    return use.assets.graph(select=select)


@router.get("/asset/held-back", operation_id="getHeldBack")
def get_held_back(use: Use, key: Key) -> HeldBackView:
    return use.assets.held_back_view(key)


@router.get("/asset/why", operation_id="getAssetWhy")
def get_asset_why(use: Use, key: Key, partition: str | None = None) -> AssetWhy:
    """Why nothing is made of an asset, or of a partition that need not exist yet."""
    return use.hindrances.why(key, partition)


@router.get("/why", operation_id="getWhy")
def get_why(use: Use, key: Key, partition: str = "") -> Why:
    return use.assets.why(key, partition)
