"""The FastAPI application: routes, error bodies, security headers, health, and the single-page UI behind them.

Owns the order of these. `create_app(services)` serves; `api_only()` is the same surface without services, for the schema.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, Response

from partita.ui.api import errors, guard, static
from partita.ui.api.models import Health, LiveEvent
from partita.ui.api.routes import (
    alerts,
    answers,
    assets,
    audit,
    automation,
    backfills,
    by_hand,
    changes,
    deadlines,
    dynamic,
    evaluators,
    freshness,
    identity,
    intake,
    jobs,
    pause,
    plans,
    requests,
    runs,
    system,
)
from partita.ui.api.services import Services
from partita.ui.api.services.metrics import CONTENT_TYPE

PREFIX = "/api/v1"


def create_app(services: Services, *, root_path: str = "", hosts: Collection[str] | None = None) -> FastAPI:
    """The whole application. `root_path` is the path under which a proxy publishes it ("" or "/data/partita"), `hosts` are the
    names under which it is known (None: any)."""
    app = _bare(lifespan=_running)
    app.state.services = services
    app.add_middleware(guard.BodyLimit)
    app.add_middleware(guard.SameOrigin, hosts=hosts)
    app.add_middleware(GZipMiddleware, minimum_size=2_000)  # leaves event streams alone
    app.add_middleware(static.SecurityHeaders)
    if root_path.strip("/"):
        app.add_middleware(static.UnderPath, prefix=root_path)
    static.install(app)
    return app


def openapi_schema() -> dict[str, Any]:
    """The schema of the REST surface, the same for every deployment."""
    return _bare().openapi()


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    async with services.events.running():
        yield


def _bare(*, lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None) -> FastAPI:
    app = FastAPI(
        title="partita",
        version="1",  # of the contract: the schema must not change with every release
        separate_input_output_schemas=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    parts = (
        alerts,
        answers,
        assets,
        audit,
        automation,
        backfills,
        by_hand,
        changes,
        deadlines,
        dynamic,
        freshness,
        identity,
        evaluators,
        jobs,
        intake,
        pause,
        plans,
        requests,
        runs,
        system,
    )
    for router in (part.router for part in parts):
        app.include_router(router, prefix=PREFIX)
    app.add_api_route("/api/events", intake.report_events, methods=["POST"], include_in_schema=False)
    errors.install(app)
    app.add_api_route("/healthz", _health, methods=["GET"], operation_id="getHealth", tags=["system"])
    app.add_api_route("/metrics", _metrics, methods=["GET"], include_in_schema=False)
    app.add_route("/openapi.json", _schema, include_in_schema=False)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _health(request: Request, response: Response) -> Health:
    """Answers 503 when the database is away: a load balancer must not send people here."""
    services: Services = request.app.state.services
    ok = services.system.database_answers()
    response.status_code = 200 if ok else 503
    return Health(ok=ok, version=version("partita"))


def _metrics(request: Request) -> Response:
    """For scrapers, in the text format of Prometheus."""
    services: Services = request.app.state.services
    return Response(services.metrics.text(), media_type=CONTENT_TYPE)


def _schema(request: Request) -> JSONResponse:
    app: FastAPI = request.app
    return JSONResponse(app.openapi())


def _described(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, routes=app.routes, separate_input_output_schemas=False
        )
        # Only streams carry it, so no route's return type brings it in.
        schema["components"]["schemas"]["LiveEvent"] = LiveEvent.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        app.openapi_schema = schema
    return app.openapi_schema
