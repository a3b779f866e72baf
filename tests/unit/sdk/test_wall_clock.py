"""Steps that ask the clock are found in the text of their function (S-087)."""

# ruff: noqa: DTZ003, DTZ011, DTZ002 - that is what is looked for
from __future__ import annotations

import datetime as dt
import inspect
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from time import time as seconds
from typing import Any

import pytest

from partita.sdk import Context, Relation, asset, external
from partita.sdk.runtime import clock_warnings
from partita.sdk.wall_clock import clock_calls

feed = external("wall_clock/feed")


def by_class() -> object:
    return datetime.now(UTC)


def by_module() -> object:
    return dt.datetime.utcnow()


def by_date() -> object:
    return f"{date.today():%Y}"


def by_epoch() -> object:
    return time.time() + seconds()


def by_own_import() -> object:
    import datetime as clock
    from datetime import datetime as moment

    return clock.date.today(), moment.today()


def meant() -> object:
    return (
        datetime.now(UTC),  # partita: wall clock
        datetime.now(  # partita: wall clock
            UTC
        ),
    )


def not_the_clock(context: Context, now: Callable[[], datetime]) -> object:
    """Mentions datetime.now() only."""
    at = datetime.fromisoformat("2026-03-01"), date(2026, 3, 1), time.perf_counter()
    return at, now(), context.window.start, datetime.now


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (by_class, ["datetime.now"]),
        (by_module, ["dt.datetime.utcnow"]),
        (by_date, ["date.today"]),
        (by_epoch, ["time.time", "seconds"]),
        (by_own_import, ["clock.date.today", "moment.today"]),
        (meant, []),
        (not_the_clock, []),
        (len, []),
    ],
)
def test_calls_are_told_by_what_they_are(function: Callable[..., Any], calls: list[str]) -> None:
    assert sorted(name for _, name in clock_calls(function)) == sorted(calls)


def test_a_library_that_is_imported_in_the_function_counts() -> None:
    def step() -> object:
        import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        import pendulum  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pd.Timestamp.now(), pendulum.today()

    assert sorted(name for _, name in clock_calls(step)) == ["pd.Timestamp.now", "pendulum.today"]


@asset
def stamped() -> Relation:
    """Carries when it was made."""
    return Relation.from_rows([{"at": datetime.now(UTC)}])


_plain = inspect.unwrap(stamped)


def test_the_warning_names_the_asset_the_line_and_the_way_out() -> None:
    [[told]] = clock_warnings({"stamped": _plain}).values()
    line = _plain.__code__.co_firstlineno + 3
    assert told.startswith(f"stamped calls datetime.now() in line {line}: on a retry or a backfill")
    assert told.endswith("or write # partita: wall clock on that line when the time of the run is meant")
