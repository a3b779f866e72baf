"""A changed partition scheme: key and window decide what stays; nothing is lost (DESIGN section 5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from partita.assets import Daily, Dynamic, Hourly, Multi, PartitionsDef, Static, canonical_json, space_of, to_spec
from partita.core.catalog.schemes import scheme_hash
from partita.core.decide.schemes import rematch
from partita.core.store.values_identity import CellWindow, FormerCell

NOW = datetime(2026, 3, 11, tzinfo=UTC)


def cells(definition: PartitionsDef | None) -> list[CellWindow]:
    space = space_of(definition, NOW, {"tenants": ["acme"]})
    windows = [space.window_at(ordinal) for ordinal in range(space.size)]
    return [
        CellWindow(space.key_at(ordinal), None if window is None else (window.start, window.end))
        for ordinal, window in enumerate(windows)
    ]


DAYS = Daily("2026-03-01")


@pytest.mark.parametrize(
    ("before", "after", "kept", "aside"),
    [
        (DAYS, Hourly("2026-03-01"), 0, 10),
        (DAYS, Daily("2026-03-01", tz="America/New_York"), 0, 10),
        (DAYS, Daily("2026-03-04"), 7, 3),
        (DAYS, Daily("2026-02-01"), 10, 0),
        (DAYS, Daily("2026-03-01", end="2026-03-05"), 4, 6),
        (DAYS, Daily("2026-03-01", horizon=-3), 10, 0),
        (DAYS, Multi(day=DAYS, region=Static("eu", "us")), 0, 10),
        (Multi(day=DAYS, region=Static("eu", "us")), Multi(day=DAYS, region=Static("eu", "us", "asia")), 20, 0),
        (
            Multi(day=DAYS, region=Static("eu", "us")),
            Multi(day=Daily("2026-03-01", tz="Asia/Tokyo"), region=Static("eu")),
            0,
            20,
        ),
        (Static("a", "b"), Static("b", "c"), 1, 1),
        (Dynamic("tenants"), Dynamic("tenants", cap=5), 1, 0),
        (None, DAYS, 0, 1),
        (DAYS, None, 0, 10),
    ],
)
def test_what_has_the_same_key_and_window_stays(
    before: PartitionsDef | None, after: PartitionsDef | None, kept: int, aside: int
) -> None:
    found = rematch(after, cells(before), [], NOW)
    assert (found.kept, len(found.aside), found.back) == (kept, aside, ())


def test_a_key_that_means_another_window_says_which() -> None:
    [first, *_] = rematch(Daily("2026-03-01", tz="America/New_York"), cells(DAYS), [], NOW).aside
    assert first.partition == "2026-03-01"
    assert first.window == (datetime(2026, 3, 1, 5, tzinfo=UTC), datetime(2026, 3, 2, 5, tzinfo=UTC))


def test_what_was_set_aside_comes_back_with_its_scheme_the_newest_first() -> None:
    def former(number: int, one: CellWindow) -> FormerCell:
        return FormerCell(number, "s", one.partition, one.window, f"v{number}", None, None)

    old = cells(DAYS)
    aside = [*(former(number, one) for number, one in enumerate(old[:3])), former(9, old[0])]
    later = cells(Daily("2026-03-04"))
    found = rematch(DAYS, later, aside, NOW)
    assert (found.kept, found.aside, [one.id for one in found.back]) == (7, (), [9, 1, 2])
    assert rematch(DAYS, old, aside, NOW).back == (), "what stays is newer"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (Dynamic("tenants", cap=5), Dynamic("tenants", cap=50), True),
        (Dynamic("tenants"), Dynamic("tenants", ttl=timedelta(days=30)), True),
        (DAYS, Daily("2026-03-01", horizon=3), True),
        (
            Multi(day=DAYS, tenant=Dynamic("t", cap=5)),
            Multi(day=Daily("2026-03-01", horizon=1), tenant=Dynamic("t")),
            True,
        ),
        (DAYS, Daily("2026-03-01", tz="America/New_York"), False),
        (DAYS, Daily("2026-03-02"), False),
        (DAYS, Daily("2026-03-01", end="2026-04-01"), False),
        (DAYS, Daily("2026-03-01", exclude=["2026-03-03"]), False),
        (Dynamic("tenants"), Dynamic("shops"), False),
        (Multi(day=DAYS, tenant=Dynamic("t")), Multi(day=DAYS, shop=Dynamic("t")), False),
        (Static("a", "b"), Static("a", "b", "c"), False),
        (None, DAYS, False),
    ],
)
def test_only_keys_and_windows_make_another_scheme(
    before: PartitionsDef | None, after: PartitionsDef | None, same: bool
) -> None:
    """What says how many keys there may be, or when a partition begins to exist, leaves plans and cells as they are."""
    hashes = [scheme_hash(None if one is None else to_spec(one)) for one in (before, after)]
    assert (hashes[0] == hashes[1]) is same


def test_a_scheme_that_says_nothing_of_limits_keeps_the_hash_that_is_stored() -> None:
    for one in (DAYS, Static("a"), Dynamic("tenants"), Multi(day=DAYS, tenant=Dynamic("t"))):
        assert scheme_hash(to_spec(one)) == sha256(canonical_json(to_spec(one))).hexdigest()[:32]
