"""The public names of partita.sdk are frozen: adding one is a decision, removing one breaks users."""

from __future__ import annotations

import inspect

import pytest

import partita.sdk
from partita.sdk.policies import AllOf

NAMES = [
    "AssetFunction", "BusinessDays", "CheckFunction", "CheckResult", "Context", "Daily", "DuckDBFile", "Dynamic", "ExternalAsset",
    "Fail", "From", "Hourly", "IOManager", "InputCell", "Lake", "MaterializeResult", "Monthly", "Multi", "Out",
    "Output", "Partition", "Relation", "Resource", "RetryLater", "RetryPolicy", "Skip", "Static", "TimeSpan",
    "TimeWindows", "Weekly", "all_", "any_size", "asset", "by_dimension", "check", "defaults", "eager", "external",
    "ignore_for_version", "last", "manual", "materialize", "multi_asset", "overlap", "per", "remote", "same",
    "specific", "table", "up_to", "rolling", "enumerated",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(partita.sdk.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(partita.sdk, name)
    assert inspect.getdoc(type(thing) if isinstance(thing, AllOf) else thing)
