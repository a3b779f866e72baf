"""The public names of partita.sdk are frozen: adding one is a decision, removing one breaks users."""

from __future__ import annotations

import inspect

import pytest

import partita.sdk
from partita.sdk.policies import AllOf

NAMES = [
    "AssetEvent", "AssetFunction",
    "BusinessDays", "CheckFunction", "CheckResult", "Context", "Daily", "DuckDBFile", "Dynamic", "ExternalAsset",
    "Fail", "Freshness", "From", "Hourly", "IOManager", "InputCell", "Lake", "MaterializeResult", "Monthly", "Multi", "Out",
    "Output", "Partition", "Relation", "ReportError", "Reporter",
    "Resource", "RetryLater", "RetryPolicy", "Skip", "Static", "TimeSpan",
    "SecretBackend", "SqlFile", "TaskEnded", "secret", "secret_backends",
    "TimeWindows", "Trigger", "Wait", "Weekly", "all_", "any_size", "asset", "by_dimension", "check", "defaults", "eager",
    "external",
    "ignore_for_version", "last", "manual", "materialize", "multi_asset", "overlap", "per", "remote", "same",
    "specific", "table", "up_to", "rolling", "enumerated", "on_close", "on_cron", "on_missing", "triggers", "when",
    "AddKeys", "ObserveContext", "PublishedEvent", "Request", "RunEvent", "ScheduleContext", "SensorContext", "observe",
    "schedule", "sensor",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(partita.sdk.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(partita.sdk, name)
    assert inspect.getdoc(type(thing) if isinstance(thing, AllOf) else thing)
