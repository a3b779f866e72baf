"""`PostgresTx`: all operations of the store port on one connection, each aggregate's in a module of its own."""

from __future__ import annotations

from partita.core.store.postgres.accept import AcceptPart
from partita.core.store.postgres.actions import ActionsPart
from partita.core.store.postgres.alerts import AlertsPart
from partita.core.store.postgres.backfills import BackfillsPart
from partita.core.store.postgres.by_hand import ByHandPart
from partita.core.store.postgres.cells import CellsPart
from partita.core.store.postgres.clocks import ClocksPart
from partita.core.store.postgres.deadlines import DeadlinesPart
from partita.core.store.postgres.definitions import DefinitionsPart
from partita.core.store.postgres.doomed import DoomedPart
from partita.core.store.postgres.dynamic import DynamicPart
from partita.core.store.postgres.evaluators import EvaluatorsPart
from partita.core.store.postgres.events import EventsPart
from partita.core.store.postgres.fan_out import FanOutPart
from partita.core.store.postgres.freshness import FreshnessPart
from partita.core.store.postgres.identity import IdentityPart
from partita.core.store.postgres.jobs import JobsPart
from partita.core.store.postgres.lanes import LanesPart
from partita.core.store.postgres.launch import LaunchPart
from partita.core.store.postgres.launch_tables import LaunchTablesPart
from partita.core.store.postgres.limits import LimitsPart
from partita.core.store.postgres.notices import NoticesPart
from partita.core.store.postgres.plans import PlansPart
from partita.core.store.postgres.pools import PoolsPart
from partita.core.store.postgres.reports import ReportsPart
from partita.core.store.postgres.requests import RequestsPart
from partita.core.store.postgres.retention import RetentionPart
from partita.core.store.postgres.runs import RunsPart
from partita.core.store.postgres.schemes import SchemesPart
from partita.core.store.postgres.tasks import TasksPart
from partita.core.store.postgres.waits import WaitsPart
from partita.core.store.postgres.workers import WorkersPart


class PostgresTx(
    LaunchPart,
    LaunchTablesPart,
    TasksPart,
    PoolsPart,
    LanesPart,
    CellsPart,
    RunsPart,
    BackfillsPart,
    WorkersPart,
    EventsPart,
    DefinitionsPart,
    PlansPart,
    AcceptPart,
    IdentityPart,
    DynamicPart,
    SchemesPart,
    RequestsPart,
    DeadlinesPart,
    DoomedPart,
    FanOutPart,
    JobsPart,
    LimitsPart,
    ClocksPart,
    ActionsPart,
    ByHandPart,
    AlertsPart,
    NoticesPart,
    WaitsPart,
    ReportsPart,
    FreshnessPart,
    EvaluatorsPart,
    RetentionPart,
):
    """One transaction; see `partita.core.store.port.Tx` for what each operation does."""
