"""What the routes and the commands ask: one service per subject, over the read-only queries, the planner and the duties.

Owns the facade. The services are synchronous (their callers run them in threads) and hold no state but bounded caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.core.alerts import Routing
    from partita.core.logs import LogStore
    from partita.core.store.postgres.store import PostgresStore
    from partita.ui.api.services.accept import AcceptService
    from partita.ui.api.services.alerts import AlertService
    from partita.ui.api.services.answers import AnswerService
    from partita.ui.api.services.assets import AssetService
    from partita.ui.api.services.audit import AuditService
    from partita.ui.api.services.automation import AutomationService
    from partita.ui.api.services.backfills import BackfillService
    from partita.ui.api.services.by_hand import ByHandService
    from partita.ui.api.services.collect import CollectService
    from partita.ui.api.services.deadlines import DeadlineService
    from partita.ui.api.services.definitions import DefinitionService
    from partita.ui.api.services.dynamic import KeyService
    from partita.ui.api.services.evaluators import EvaluatorService
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.freshness import FreshnessService
    from partita.ui.api.services.hindrances import HindranceService
    from partita.ui.api.services.identity import IdentityService
    from partita.ui.api.services.intake import IntakeService
    from partita.ui.api.services.jobs import JobService
    from partita.ui.api.services.lanes import LaneService
    from partita.ui.api.services.logs import LogService
    from partita.ui.api.services.metrics import MetricsService
    from partita.ui.api.services.pause import PauseService
    from partita.ui.api.services.plans import PlanService
    from partita.ui.api.services.pools import PoolService
    from partita.ui.api.services.requests import RequestService
    from partita.ui.api.services.rerun import RerunService
    from partita.ui.api.services.retention import RetentionService
    from partita.ui.api.services.runs import RunService
    from partita.ui.api.services.schemes import SchemeService
    from partita.ui.api.services.system import SystemService


@dataclass(frozen=True, slots=True)
class Services:
    assets: AssetService
    plans: PlanService
    runs: RunService
    backfills: BackfillService
    logs: LogService
    system: SystemService
    events: EventFeed
    definitions: DefinitionService
    acceptances: AcceptService
    keys: KeyService
    identities: IdentityService
    pools: PoolService
    lanes: LaneService
    metrics: MetricsService
    requests: RequestService
    retention: RetentionService
    schemes: SchemeService
    deadlines: DeadlineService
    freshness: FreshnessService
    audit: AuditService
    automation: AutomationService
    pauses: PauseService
    reruns: RerunService
    by_hand: ByHandService
    alerts: AlertService
    intake: IntakeService
    answers: AnswerService
    jobs: JobService
    evaluators: EvaluatorService
    collections: CollectService
    hindrances: HindranceService


def services_of(
    store: PostgresStore,
    logs: LogStore,
    *,
    wake: Callable[[Iterable[str]], None],
    on_wake: Callable[[Callable[[], None]], None],
    who: str,
    kind: str,
    routing: Routing | None = None,
) -> Services:
    """The services of one process. `wake` sends wake-ups, `on_wake` subscribes to those of the event stream (before they
    start); `who` asks through `kind` ("api" or "cli"); `routing` is what the configuration says of alerts."""
    from partita.core.alerts import Routing
    from partita.core.catalog import CatalogCache
    from partita.ui.api.services.accept import AcceptService
    from partita.ui.api.services.alerts import AlertService
    from partita.ui.api.services.answers import AnswerService
    from partita.ui.api.services.assets import AssetService
    from partita.ui.api.services.audit import AuditService
    from partita.ui.api.services.automation import AutomationService
    from partita.ui.api.services.backfills import BackfillService
    from partita.ui.api.services.base import Backend
    from partita.ui.api.services.board import Board
    from partita.ui.api.services.by_hand import ByHandService
    from partita.ui.api.services.collect import CollectService
    from partita.ui.api.services.deadlines import DeadlineService
    from partita.ui.api.services.definitions import DefinitionService
    from partita.ui.api.services.dynamic import KeyService
    from partita.ui.api.services.evaluators import EvaluatorService
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.freshness import FreshnessService
    from partita.ui.api.services.hindrances import HindranceService
    from partita.ui.api.services.identity import IdentityService
    from partita.ui.api.services.intake import IntakeService
    from partita.ui.api.services.jobs import JobService
    from partita.ui.api.services.lanes import LaneService
    from partita.ui.api.services.logs import LogService
    from partita.ui.api.services.metrics import MetricsService
    from partita.ui.api.services.pause import PauseService
    from partita.ui.api.services.plans import PlanService
    from partita.ui.api.services.pools import PoolService
    from partita.ui.api.services.requests import RequestService
    from partita.ui.api.services.rerun import RerunService
    from partita.ui.api.services.retention import RetentionService
    from partita.ui.api.services.runs import RunService
    from partita.ui.api.services.schemes import SchemeService
    from partita.ui.api.services.system import SystemService

    backend = Backend(store=store, catalogs=CatalogCache(store.read), logs=logs, wake=wake, who=who, kind=kind)
    board = Board(backend)
    runs = RunService(backend)
    plans = PlanService(backend)
    automation = AutomationService(backend)
    return Services(
        assets=AssetService(backend, board),
        plans=plans,
        runs=runs,
        backfills=BackfillService(backend),
        logs=LogService(backend),
        system=SystemService(backend, board, runs),
        events=EventFeed(backend, on_wake),
        definitions=DefinitionService(backend),
        acceptances=AcceptService(backend),
        keys=KeyService(backend, board),
        identities=IdentityService(backend),
        pools=PoolService(backend),
        lanes=LaneService(backend),
        metrics=MetricsService(backend),
        requests=RequestService(backend),
        retention=RetentionService(backend),
        schemes=SchemeService(backend),
        deadlines=DeadlineService(backend),
        freshness=FreshnessService(backend),
        audit=AuditService(backend),
        automation=automation,
        pauses=PauseService(backend),
        reruns=RerunService(backend, plans),
        by_hand=ByHandService(backend),
        alerts=AlertService(backend, routing or Routing()),
        intake=IntakeService(backend),
        answers=AnswerService(backend),
        jobs=JobService(backend, plans),
        evaluators=EvaluatorService(backend),
        collections=CollectService(backend),
        hindrances=HindranceService(backend, automation),
    )
