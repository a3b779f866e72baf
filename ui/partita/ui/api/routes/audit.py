"""What people did by hand."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models.audit import AuditPage
from partita.ui.api.routes.common import ERRORS, Limit, Ordinal, Use

router = APIRouter(tags=["audit"], responses=ERRORS)


@router.get("/audit", operation_id="listAudit")
def list_audit(
    use: Use, who: str | None = None, action: str | None = None, before: Ordinal = None, limit: Limit = 50
) -> AuditPage:
    return use.audit.page(who=who, action=action, before=before, limit=limit)
