"""partita.sdk: what user code imports. Declare assets, their partitions, checks and resources; run them in process.

Importing it loads no DuckDB and nothing of the control plane.
"""

from partita.assets import BusinessDays, Daily, Dynamic, Hourly, Monthly, Multi, Static, TimeWindows, Weekly
from partita.sdk import triggers, when
from partita.sdk.asking import (
    AddKeys,
    ObserveContext,
    PublishedEvent,
    Request,
    RunEvent,
    ScheduleContext,
    SensorContext,
)
from partita.sdk.automation import eager, manual, on_close, on_cron, on_missing
from partita.sdk.callbacks import TaskEnded
from partita.sdk.checks import check
from partita.sdk.context import Context, Partition, TimeSpan
from partita.sdk.declare import asset, defaults, external, multi_asset
from partita.sdk.evaluators import observe, schedule, sensor
from partita.sdk.fingerprint.ignore import ignore_for_version
from partita.sdk.freshness import Freshness
from partita.sdk.handles import AssetFunction, CheckFunction, ExternalAsset, Out
from partita.sdk.inprocess import materialize
from partita.sdk.io.base import IOManager
from partita.sdk.io.duckdb_file import DuckDBFile
from partita.sdk.io.lake import Lake
from partita.sdk.outcomes import CheckResult, Fail, Output, RetryLater, Skip
from partita.sdk.policies import RetryPolicy, all_, any_size, per, up_to
from partita.sdk.references import (
    From,
    by_dimension,
    enumerated,
    last,
    overlap,
    remote,
    rolling,
    same,
    specific,
    table,
)
from partita.sdk.relation import Relation
from partita.sdk.reporting import AssetEvent, Reporter, ReportError
from partita.sdk.resources import Resource
from partita.sdk.results import MaterializeResult
from partita.sdk.runtime_values import InputCell
from partita.sdk.secrets import SecretBackend, secret, secret_backends
from partita.sdk.sql import SqlFile
from partita.sdk.watching import Trigger, Wait

__all__ = [
    "AddKeys",
    "AssetEvent",
    "AssetFunction",
    "BusinessDays",
    "CheckFunction",
    "CheckResult",
    "Context",
    "Daily",
    "DuckDBFile",
    "Dynamic",
    "ExternalAsset",
    "Fail",
    "Freshness",
    "From",
    "Hourly",
    "IOManager",
    "InputCell",
    "Lake",
    "MaterializeResult",
    "Monthly",
    "Multi",
    "ObserveContext",
    "Out",
    "Output",
    "Partition",
    "PublishedEvent",
    "Relation",
    "ReportError",
    "Reporter",
    "Request",
    "Resource",
    "RetryLater",
    "RetryPolicy",
    "RunEvent",
    "ScheduleContext",
    "SecretBackend",
    "SensorContext",
    "Skip",
    "SqlFile",
    "Static",
    "TaskEnded",
    "TimeSpan",
    "TimeWindows",
    "Trigger",
    "Wait",
    "Weekly",
    "all_",
    "any_size",
    "asset",
    "by_dimension",
    "check",
    "defaults",
    "eager",
    "enumerated",
    "external",
    "ignore_for_version",
    "last",
    "manual",
    "materialize",
    "multi_asset",
    "observe",
    "on_close",
    "on_cron",
    "on_missing",
    "overlap",
    "per",
    "remote",
    "rolling",
    "same",
    "schedule",
    "secret",
    "secret_backends",
    "sensor",
    "specific",
    "table",
    "triggers",
    "up_to",
    "when",
]
