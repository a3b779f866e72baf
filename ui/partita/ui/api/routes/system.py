"""Locations, pools, queue, health, the home page, and the live stream."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from partita.ui.api.models import (
    LaneSetting,
    LaneView,
    LocationDiff,
    LocationView,
    PoolSize,
    PoolView,
    QueueView,
    ReloadView,
    SummaryView,
    SystemView,
)
from partita.ui.api.routes.common import ERRORS, Use
from partita.ui.api.sse import event_stream

router = APIRouter(tags=["system"], responses=ERRORS)


@router.get("/locations", operation_id="listLocations")
def list_locations(use: Use) -> list[LocationView]:
    return use.system.locations()


@router.post("/locations/{name}/reload", operation_id="reloadLocation")
async def reload_location(use: Use, name: str) -> ReloadView:
    return await use.system.reload(name)


@router.get("/locations/{name}/diff", operation_id="getLocationDiff")
async def get_location_diff(use: Use, name: str) -> LocationDiff:
    addresses = await asyncio.to_thread(use.system.live_addresses, name)
    return await use.definitions.location_diff(name, addresses)


@router.get("/pools", operation_id="listPools")
def list_pools(use: Use) -> list[PoolView]:
    return use.pools.all()


@router.put("/pools/{name:path}", operation_id="setPool")
def set_pool(use: Use, name: str, size: PoolSize) -> PoolView:
    return use.pools.resize(name, size.slots, size.reason)


@router.get("/lanes", operation_id="listLanes")
def list_lanes(use: Use) -> list[LaneView]:
    return use.lanes.all()


@router.put("/lanes/{name}", operation_id="setLane")
def set_lane(use: Use, name: str, setting: LaneSetting) -> LaneView:
    return use.lanes.set(name, weight=setting.weight, reserved=setting.reserved)


@router.get("/queue", operation_id="getQueue")
def get_queue(use: Use) -> QueueView:
    return use.runs.queue()


@router.get("/system", operation_id="getSystem")
def get_system(use: Use) -> SystemView:
    return use.system.system()


@router.get("/summary", operation_id="getSummary")
def get_summary(use: Use) -> SummaryView:
    return use.system.summary()


@router.get(
    "/events/stream",
    operation_id="streamEvents",
    response_class=Response,
    responses={
        200: {
            "description": "Server-sent events; the id is the position; `resync` after a gap; `ping` every 15 s",
            "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/LiveEvent"}}},
        }
    },
)
async def stream_events(use: Use, request: Request) -> Response:
    return event_stream(use.events, request)
