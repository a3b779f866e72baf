"""What a pause left behind: shown, and none, the latest or all of it asked for (S-024, S-092, S-201)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import AssetSpec, Daily, IdentitySpec, InputSpec, asset_key, to_spec
from partita.core.automation.catch_up import CaughtUp, Policy, catch_up, missed, texts_of
from partita.core.duties.pause import pause, resume
from partita.core.store.memory import MemoryStore
from partita.core.store.values import AssetId
from partita.sdk import eager, on_close

NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)
DAYS = Daily("2026-03-01")


class Month:
    """`orders` is made as each day closes, `totals` follows it, `source` is made by people; all by day, on virtual time."""

    def __init__(self) -> None:
        self.now = NOON
        self.stage = Stage(MemoryStore(lambda: self.now))

        def spec(key: str, upstream: str | None, **more: Any) -> AssetSpec:
            reads = () if upstream is None else (
                InputSpec(name=upstream, upstream=asset_key(upstream), mapping=IdentitySpec()),
            )  # fmt: skip
            return AssetSpec(key=key, step=key, partitions=to_spec(DAYS), inputs=reads, fingerprint=key, **more)

        self.stage.define(
            [
                spec("source", None),
                spec("orders", None, automation=on_close().spec),
                spec("totals", "source", automation=eager().spec),
            ]
        )
        self.run()

    def run(self) -> list[tuple[str, str]]:
        done = len(self.stage.attempts)
        while self.stage.look().requested or self.stage.settle():
            pass
        return sorted(self.stage.attempts[done:])

    def pause(self, *keys: str) -> None:
        pause(self.stage.store, [self.id(key) for key in keys], who="ann", reason="", said={})

    def resume(self, policy: Policy, *keys: str, pace: int | None = None) -> CaughtUp:
        ids = [self.id(key) for key in keys]
        done = catch_up(self.stage.store, self.stage, ids, policy, pace=pace, who="ann")
        resume(self.stage.store, ids, who="ann", reason="", said={})
        return done

    def id(self, key: str) -> AssetId:
        return self.stage.ref(key).asset_id

    def missed(self, *keys: str) -> list[tuple[str, int, str]]:
        with self.stage.store.begin() as tx:
            found = missed(tx, self.stage.catalog, [self.id(key) for key in keys], tx.now())
        return texts_of(self.stage.catalog, found, self.now)


@pytest.fixture
def month() -> Month:
    """`orders` was paused for three closes, `totals` while two days of its source were made."""
    found = Month()
    found.pause("orders", "totals")
    found.stage.request("source", ("all",), partitions="2026-03-04, 2026-03-06")
    for _ in range(3):
        found.run()
        found.now += timedelta(days=1)
    assert found.run() == []
    return found


def test_it_is_shown_before(month: Month) -> None:
    assert month.missed("orders", "totals") == [
        ("orders", 3, "2026-03-09..2026-03-11"),
        ("totals", 2, "2026-03-04, 2026-03-06"),
    ]
    assert month.missed("orders") == [("orders", 3, "2026-03-09..2026-03-11")]
    assert month.run() == [], "looking asks for nothing"


def test_all_of_it(month: Month) -> None:
    assert month.resume("all", "orders", "totals") == CaughtUp()
    assert month.run() == [
        ("orders", "2026-03-09"), ("orders", "2026-03-10"), ("orders", "2026-03-11"),
        ("totals", "2026-03-04"), ("totals", "2026-03-06"),
    ]  # fmt: skip


def test_the_latest_of_each(month: Month) -> None:
    """S-092: exactly one partition, the last closed one."""
    assert month.resume("latest", "orders", "totals").skipped == 3
    assert month.run() == [("orders", "2026-03-11"), ("totals", "2026-03-06")]
    assert month.missed("orders", "totals") == []


def test_none_of_it_and_on_as_before(month: Month) -> None:
    """What was skipped is asked for when its inputs move; what comes next is asked for as ever."""
    assert month.resume("none", "orders", "totals").skipped == 5
    assert month.run() == []
    month.now += timedelta(days=1)
    assert month.run() == [("orders", "2026-03-12")]
    month.stage.version = lambda key, partition: "v2"
    month.stage.request("source", ("all",), partitions="2026-03-04")
    assert month.run() == [("source", "2026-03-04"), ("totals", "2026-03-04")]


def test_all_of_it_paced(month: Month) -> None:
    """S-076, S-091, S-024: at most N at a time; N explicit."""
    done = month.resume("all", "orders", "totals", pace=2)
    assert (done.skipped, done.launched) == (0, 5)
    (backfill,) = month.stage.store.database.backfill.sorted_rows()  # type: ignore[attr-defined]
    assert (backfill["max_active"], backfill["created_by"]) == (2, "ann")
    assert len(month.stage.start()) == 2, "two at a time"
    assert month.missed("orders", "totals") == []


def test_what_is_still_paused_stays_so(month: Month) -> None:
    month.resume("none", "orders")
    assert month.missed("totals") == [("totals", 2, "2026-03-04, 2026-03-06")]
    assert month.run() == []
