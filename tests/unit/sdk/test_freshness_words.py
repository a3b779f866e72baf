"""`freshness=`: what may be said, what the snapshot holds, and what is refused with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import DefinitionError, FreshnessSpec
from partita.sdk import Freshness, asset, external
from partita.sdk.collector import Collector, collecting


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Freshness(max_lag="2h"), "at most 2 h behind"),
        (Freshness(max_lag=90), "at most 90 s behind"),
        (Freshness(by="09:00", tz="Europe/Berlin"), "by 09:00 Europe/Berlin"),
        (Freshness(by="7:30", tz="UTC", days="mon-fri", objective=0.999, over="7d"), "by 7:30 UTC on mon-fri, 99.9 % of 7 d"),
    ],
)  # fmt: skip
def test_what_is_said(made: Freshness, text: str) -> None:
    assert made.spec().text == text
    assert FreshnessSpec.model_validate_json(made.spec().model_dump_json()) == made.spec()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "one of both"),
        ({"max_lag": "2h", "by": "09:00", "tz": "UTC"}, "one of both"),
        ({"by": "09:00"}, "no time zone"),
        ({"by": "09:00", "tz": "Europe/Berlyn"}, "Berlyn"),
        ({"by": "25:00", "tz": "UTC"}, "25"),
        ({"by": "9h", "tz": "UTC"}, "no time of day"),
        ({"by": "09:00", "tz": "UTC", "days": "mond"}, "mond"),
        ({"max_lag": "2h", "tz": "UTC"}, "belong to a time of day"),
        ({"max_lag": 0}, "greater than 0"),
        ({"max_lag": "2h", "objective": 1.0}, "less than 1"),
        ({"max_lag": "2h", "objective": 0.99, "over": "2h"}, "greater than or equal"),
        ({"max_lag": "two hours"}, "a duration is"),
    ],
)
def test_what_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Freshness(**given)  # type: ignore[arg-type]


def test_the_snapshot_holds_it(load: Any) -> None:
    found = load(
        {
            "m.py": """
            @asset(partitions=Daily("2026-03-01"), freshness=Freshness(max_lag="2h", objective=0.99))
            def orders() -> Relation: ...

            till = external("till", observe="push", freshness=Freshness(max_lag="1h"))
            """
        }
    )
    assert [one.error for one in found.snapshot.modules] == [None]
    assert {one.key: one.freshness for one in found.snapshot.assets} == {
        "orders": FreshnessSpec(max_lag_s=7_200, objective=0.99),
        "till": FreshnessSpec(max_lag_s=3_600),
    }


def test_what_nobody_observes_is_never_late() -> None:
    with collecting(Collector()), pytest.raises(DefinitionError, match="nobody observes it"):
        external("till", freshness=Freshness(max_lag="1h"))


def test_it_is_a_freshness() -> None:
    with collecting(Collector()), pytest.raises(DefinitionError, match="it is a Freshness"):

        @asset(freshness="2h")  # type: ignore[call-overload,untyped-decorator]
        def orders() -> int:
            return 1
