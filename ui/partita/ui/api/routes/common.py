"""What all routes share: how they reach the services, and the paging limits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request

from partita.ui.api.models import ErrorBody
from partita.ui.api.services import Services


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
Key = Annotated[str, Query(min_length=1, description="An asset's key")]
_MOST = 2**63 - 1  # of a bigint: beyond it Postgres refuses the statement
Id = Annotated[int, Path(ge=0, le=_MOST)]
Traceparent = Annotated[str | None, Header(description="W3C trace context; one that is malformed is ignored")]
Offset = Annotated[int, Query(ge=0, le=_MOST)]
Ordinal = Annotated[int | None, Query(ge=0, le=_MOST)]
Limit = Annotated[int, Query(ge=1, le=500)]
ERRORS: dict[int | str, dict[str, object]] = {"4XX": {"model": ErrorBody}}
