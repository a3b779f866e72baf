"""partita.sdk: what user code imports. Declare assets, their partitions, checks and resources; run them in process.

Importing it loads no DuckDB and nothing of the control plane.
"""

from partita.assets import BusinessDays, Daily, Dynamic, Hourly, Monthly, Multi, Static, TimeWindows, Weekly
from partita.sdk.context import Context, Partition, TimeSpan
from partita.sdk.declare import asset, check, defaults, external, multi_asset
from partita.sdk.fingerprint.ignore import ignore_for_version
from partita.sdk.handles import AssetFunction, CheckFunction, ExternalAsset, Out
from partita.sdk.inprocess import materialize
from partita.sdk.io.base import IOManager
from partita.sdk.io.duckdb_file import DuckDBFile
from partita.sdk.io.lake import Lake
from partita.sdk.outcomes import CheckResult, Fail, Output, RetryLater, Skip
from partita.sdk.policies import RetryPolicy, all_, any_size, eager, manual, per, up_to
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
from partita.sdk.resources import Resource
from partita.sdk.results import MaterializeResult
from partita.sdk.runtime_values import InputCell

__all__ = [
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
    "From",
    "Hourly",
    "IOManager",
    "InputCell",
    "Lake",
    "MaterializeResult",
    "Monthly",
    "Multi",
    "Out",
    "Output",
    "Partition",
    "Relation",
    "Resource",
    "RetryLater",
    "RetryPolicy",
    "Skip",
    "Static",
    "TimeSpan",
    "TimeWindows",
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
    "overlap",
    "per",
    "remote",
    "rolling",
    "same",
    "specific",
    "table",
    "up_to",
]
