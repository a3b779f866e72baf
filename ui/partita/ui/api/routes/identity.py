"""Renaming, moving and retiring assets, and changed partition schemes: the preview, and doing what it showed."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models.identity import (
    FormerCellView,
    IdentityConfirmed,
    IdentityPreview,
    IdentityRequest,
    SchemeConfirmed,
    SchemeDoneView,
    SchemePreview,
    SchemeRequest,
)
from partita.ui.api.routes.common import ERRORS, Key, Limit, Offset, Use

router = APIRouter(tags=["assets"], responses=ERRORS)


@router.get("/asset/former", operation_id="listFormerCells")
def list_former(use: Use, key: Key, offset: Offset = 0, limit: Limit = 100) -> list[FormerCellView]:
    return use.identities.former(key, offset=offset, limit=limit)


@router.post("/identity/preview", operation_id="previewIdentity")
def preview_identity(use: Use, request: IdentityRequest) -> IdentityPreview:
    return use.identities.preview(request)


@router.post("/identity", operation_id="changeIdentity")
def change_identity(use: Use, confirmed: IdentityConfirmed) -> IdentityPreview:
    return use.identities.apply(confirmed.request, confirmed.hash, confirmed.reason)


@router.post("/scheme/preview", operation_id="previewScheme")
def preview_scheme(use: Use, request: SchemeRequest) -> SchemePreview:
    return use.schemes.preview(request)


@router.post("/scheme", operation_id="chooseScheme")
def choose_scheme(use: Use, confirmed: SchemeConfirmed) -> SchemeDoneView:
    return use.schemes.apply(confirmed.request, confirmed.hash)
