"""Dynamic schemes and their keys."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from partita.ui.api.models import (
    ErrorBody,
    KeyPage,
    KeySchemes,
    KeysDone,
    KeysPreview,
    KeysPreviewRequest,
    KeysToAdd,
    KeysToRemove,
)
from partita.ui.api.routes.common import ERRORS, Limit, Offset, Use

router = APIRouter(tags=["dynamic"], responses=ERRORS)


@router.get("/dynamic", operation_id="listKeySchemes")
def list_schemes(use: Use) -> KeySchemes:
    return use.keys.schemes()


@router.get("/dynamic/keys", operation_id="listKeys")
def list_keys(
    use: Use,
    scheme: Annotated[str, Query(min_length=1, description="The name of a dynamic scheme")],
    ended: Annotated[bool, Query(description="Those that are no more")] = False,
    search: Annotated[str | None, Query(description="A part of the key")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> KeyPage:
    return use.keys.page(scheme, ended=ended, search=search, offset=offset, limit=limit)


@router.post("/dynamic/keys/preview", operation_id="previewKeys")
def preview_keys(use: Use, request: KeysPreviewRequest) -> KeysPreview:
    return use.keys.preview(request)


@router.post("/dynamic/keys", operation_id="addKeys", responses={409: {"model": ErrorBody}})
def add_keys(use: Use, request: KeysToAdd) -> KeysDone:
    return use.keys.add(request)


@router.delete("/dynamic/keys", operation_id="removeKeys")
def remove_keys(use: Use, request: KeysToRemove) -> KeysDone:
    return use.keys.remove(request)
