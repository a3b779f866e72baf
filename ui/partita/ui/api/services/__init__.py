"""What the routes and the commands ask: one service per subject, over the read-only queries, the planner and the duties.

Owns the facade. The services are synchronous (their callers run them in threads) and hold no state but bounded caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.core.logs import LogStore
    from partita.core.store.postgres.store import PostgresStore
    from partita.ui.api.services.accept import AcceptService
    from partita.ui.api.services.assets import AssetService
    from partita.ui.api.services.definitions import DefinitionService
    from partita.ui.api.services.dynamic import KeyService
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.identity import IdentityService
    from partita.ui.api.services.logs import LogService
    from partita.ui.api.services.plans import PlanService
    from partita.ui.api.services.pools import PoolService
    from partita.ui.api.services.requests import RequestService
    from partita.ui.api.services.runs import RunService
    from partita.ui.api.services.schemes import SchemeService
    from partita.ui.api.services.system import SystemService


@dataclass(frozen=True, slots=True)
class Services:
    assets: AssetService
    plans: PlanService
    runs: RunService
    logs: LogService
    system: SystemService
    events: EventFeed
    definitions: DefinitionService
    acceptances: AcceptService
    keys: KeyService
    identities: IdentityService
    pools: PoolService
    requests: RequestService
    schemes: SchemeService


def services_of(
    store: PostgresStore,
    logs: LogStore,
    *,
    wake: Callable[[Iterable[str]], None],
    on_wake: Callable[[Callable[[], None]], None],
    who: str,
    kind: str,
) -> Services:
    """The services of one process. `wake` sends wake-ups, `on_wake` subscribes to those of the event stream (before they
    start); `who` asks through `kind` ("api" or "cli")."""
    from partita.core.catalog import CatalogCache
    from partita.ui.api.services.accept import AcceptService
    from partita.ui.api.services.assets import AssetService
    from partita.ui.api.services.base import Backend
    from partita.ui.api.services.board import Board
    from partita.ui.api.services.definitions import DefinitionService
    from partita.ui.api.services.dynamic import KeyService
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.identity import IdentityService
    from partita.ui.api.services.logs import LogService
    from partita.ui.api.services.plans import PlanService
    from partita.ui.api.services.pools import PoolService
    from partita.ui.api.services.requests import RequestService
    from partita.ui.api.services.runs import RunService
    from partita.ui.api.services.schemes import SchemeService
    from partita.ui.api.services.system import SystemService

    backend = Backend(store=store, catalogs=CatalogCache(store.read), logs=logs, wake=wake, who=who, kind=kind)
    board = Board(backend)
    runs = RunService(backend)
    return Services(
        assets=AssetService(backend, board),
        plans=PlanService(backend),
        runs=runs,
        logs=LogService(backend),
        system=SystemService(backend, board, runs),
        events=EventFeed(backend, on_wake),
        definitions=DefinitionService(backend),
        acceptances=AcceptService(backend),
        keys=KeyService(backend, board),
        identities=IdentityService(backend),
        pools=PoolService(backend),
        requests=RequestService(backend),
        schemes=SchemeService(backend),
    )
