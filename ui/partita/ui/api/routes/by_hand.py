"""Marking and wiping cells by hand: shown, confirmed, taken back."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.by_hand import ByHandConfirm, ByHandDone, ByHandPreview, ByHandRequest
from partita.ui.api.routes.common import ERRORS, Id, Use

router = APIRouter(tags=["by hand"], responses=ERRORS)


@router.post("/by-hand/preview", operation_id="previewByHand")
def preview_by_hand(use: Use, request: ByHandRequest) -> ByHandPreview:
    return use.by_hand.preview(request)


@router.post("/by-hand", operation_id="doByHand", responses={409: {"model": ErrorBody}})
def do_by_hand(use: Use, request: ByHandConfirm) -> ByHandDone:
    return use.by_hand.apply(request)


@router.post("/audit/{entry}/undo", operation_id="undoByHand")
def undo_by_hand(use: Use, entry: Id) -> ByHandDone:
    """Of a mark or a wipe; other entries of the audit say how they are taken back."""
    return use.by_hand.undo(entry)
