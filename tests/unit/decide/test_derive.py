"""Cells of a new scheme made of whole cells of an old one, and what a person may choose (DESIGN section 5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    Daily,
    Hourly,
    Monthly,
    Multi,
    PartitionsDef,
    Static,
    Weekly,
    asset_key,
    cell_hash,
    derived_version,
    digest_of_inputs,
    space_of,
)
from partita.assets.locations import location_parts
from partita.core.decide.derive import derived_cells, tilings, why_not
from partita.core.decide.scheme_choice import (
    EarlierScheme,
    Kind,
    KnownCells,
    SchemeChange,
    SchemeRefused,
    SchemeTarget,
    decide_choice,
)
from partita.core.store.values import AssetId
from partita.core.store.values_identity import CellWindow, FormerCell

NOW = datetime(2026, 5, 1, tzinfo=UTC)
NEW_YORK = "America/New_York"
DAYS = Daily("2026-03-02", end="2026-03-30", tz=NEW_YORK)  # four weeks with the night on which the clocks go forward
WEEKS = Weekly("2026-03-02", end="2026-03-30", tz=NEW_YORK)
REGIONS = Static("eu", "us")


def windows(definition: PartitionsDef | None) -> dict[str, Any]:
    space = space_of(definition, NOW)
    found = ((space.key_at(ordinal), space.window_at(ordinal)) for ordinal in range(space.size))
    return {key: None if window is None else (window.start, window.end) for key, window in found}


def former(definition: PartitionsDef | None, **more: Any) -> list[FormerCell]:
    return [
        FormerCell(number, "old", key, window, f"v{number}", f"lake:file:///{number}", None, "code", number, rows=2)
        for number, (key, window) in enumerate(windows(definition).items(), start=1)
        if not more or key in more["only"]
    ]


def counts(new: PartitionsDef | None, old: PartitionsDef | None, without: int = 0) -> list[int]:
    held = dict(list(windows(old).items())[without:])
    return [len(parts) for parts in tilings(new, old, held, NOW).values()]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (DAYS, WEEKS, [7, 7, 7, 7]),
        (Daily("2026-03-01"), Monthly("2026-03-01"), [31, 30]),
        (Hourly("2026-03-07", end="2026-03-10", tz=NEW_YORK), Daily("2026-03-07", tz=NEW_YORK), [24, 23, 24]),
        (DAYS, Hourly("2026-03-02", tz=NEW_YORK), []),
        (Daily("2026-03-02"), Weekly("2026-03-02", tz=NEW_YORK), []),
        (Daily("2026-03-02"), Daily("2026-03-02", tz=NEW_YORK), []),
        (WEEKS, DAYS, []),
        (Multi(day=DAYS, at=REGIONS), Multi(at=Static("us", "asia"), week=WEEKS), [7, 7, 7, 7]),
        (Multi(day=DAYS, at=REGIONS), WEEKS, []),
        (DAYS, Multi(week=WEEKS, at=REGIONS), []),
        (Static("a"), WEEKS, []),
        (DAYS, None, []),
    ],
)
def test_windows_are_tiled_by_instants_or_not_at_all(
    old: PartitionsDef | None, new: PartitionsDef | None, parts: list[int]
) -> None:
    assert counts(new, old) == parts


def test_a_gap_leaves_its_window_missing() -> None:
    assert counts(WEEKS, DAYS, without=1) == [7, 7, 7]
    held = windows(DAYS)
    del held["2026-03-11"]
    assert list(tilings(WEEKS, DAYS, held, NOW)) == ["2026-03-02", "2026-03-16", "2026-03-23"]


@given(st.sets(st.integers(0, 27)))
def test_what_is_tiled_equals_a_brute_force(absent: set[int]) -> None:
    held = {key: window for number, (key, window) in enumerate(windows(DAYS).items()) if number not in absent}
    found = tilings(WEEKS, DAYS, held, NOW)
    for key, (start, end) in windows(WEEKS).items():
        inside = [one for one, (at, until) in held.items() if at < end and until > start]
        whole = len(inside) == 7
        assert found.get(key) == (tuple(sorted(inside)) if whole else None)


def test_a_derived_cell_says_what_it_is_made_of() -> None:
    cells = derived_cells(
        WEEKS, DAYS, former(DAYS), fingerprint="code", dependency_hash="h", scheme={"kind": "time"}, as_of=NOW
    )
    first = cells[0]
    assert (first.partition, first.window) == ("2026-03-02", windows(WEEKS)["2026-03-02"])
    assert location_parts(first.location) == tuple(f"lake:file:///{n}" for n in range(1, 8))
    assert first.metadata["derived_from"]["partitions"] == [f"2026-03-0{n}" for n in range(2, 9)]
    assert (first.metadata["rows"], first.fingerprint, first.dependency_hash) == (14, "code", "h")
    assert first.data_version == derived_version((f"2026-03-{n + 1:02}", f"v{n}") for n in range(1, 8))
    assert first.data_version.startswith("derived:")


def test_the_digest_of_a_week_is_that_of_its_days_together() -> None:
    """So a week is fresh exactly if its days were, as long as it reads what they read, each once."""
    keys = list(windows(DAYS))[:7]
    days = [digest_of_inputs([(AssetId(1), "rows", cell_hash(key, "v1"))]) for key in keys]
    week = digest_of_inputs([(AssetId(1), "rows", sum(cell_hash(key, "v1") for key in keys))])
    assert sum(days) % (1 << 64) == week


def test_parts_of_other_code_make_a_cell_of_other_code() -> None:
    old = former(DAYS)
    mixed = [one if one.id != 3 else FormerCell(*_but(one, "older")) for one in old]
    found = derived_cells(WEEKS, DAYS, mixed, fingerprint="code", dependency_hash="h", scheme=None, as_of=NOW)
    assert [one.fingerprint for one in found] == ["older", "code", "code", "code"]


def _but(one: FormerCell, fingerprint: str) -> tuple[Any, ...]:
    return (
        one.id, one.scheme, one.partition, one.window, one.data_version, one.location, None, fingerprint, one.consumed_digest,
    )  # fmt: skip


def choose(kind: Kind, known: KnownCells, new: PartitionsDef | None = WEEKS) -> SchemeChange:
    size = space_of(new, NOW).size
    return decide_choice(kind, SchemeTarget(AssetId(1), asset_key("a"), "new", new, "code", "h", size, NOW), known)


def known(cells: list[CellWindow], old: list[FormerCell], definition: PartitionsDef | None = DAYS) -> KnownCells:
    return KnownCells("new", cells, old, EarlierScheme("old", None, definition) if old else None, {})


def test_derive_publishes_what_is_missing_only() -> None:
    week = windows(WEEKS)["2026-03-09"]
    found = choose("derive", known([CellWindow("2026-03-09", week)], former(DAYS)))
    assert (found.kept, len(found.derived), found.parts, found.missing) == (1, 3, 21, 0)
    failed = choose("derive", known([CellWindow("2026-03-09", week, held=False)], former(DAYS)))
    assert (failed.kept, len(failed.derived)) == (0, 4)


def test_of_several_former_cells_the_newest_is_taken_and_other_schemes_are_left() -> None:
    old = former(DAYS)
    again = FormerCell(99, "old", old[0].partition, old[0].window, "newer", "lake:file:///new", None)
    other = FormerCell(50, "older", "2026-03-02", None, "x", "lake:file:///x", None)
    first = choose("derive", known([], [*old, again, other])).derived[0]
    assert location_parts(first.location)[0] == "lake:file:///new"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (DAYS, Hourly("2026-03-02", tz=NEW_YORK), "no missing window is made of whole published windows"),
        (DAYS, Static("a"), "only cells with a window of time"),
        (DAYS, Multi(week=WEEKS, at=REGIONS), "other dimensions beside time"),
    ],
)
def test_what_cannot_be_derived_says_why(old: PartitionsDef, new: PartitionsDef, why: str) -> None:
    found = choose("derive", known([], former(old), old), new)
    assert found.empty
    assert why in found.why


def test_only_the_lake_reads_several_parts() -> None:
    old = [FormerCell(one.id, "old", one.partition, one.window, "v", "duckdb:x#y", None) for one in former(DAYS)]
    assert "stored by duckdb; only the lake" in choose("derive", known([], old)).why
    assert "no cell was made under an earlier" in choose("derive", known([], [])).why
    assert why_not(WEEKS, DAYS) == ""


def test_restart_sets_all_aside_and_keep_brings_it_back() -> None:
    cells = [CellWindow(key, window) for key, window in windows(WEEKS).items()]
    found = choose("restart", known(cells, []))
    assert ([one.partition for one in found.aside], found.missing) == (list(windows(WEEKS)), 4)
    aside = [FormerCell(n, "new", one.partition, one.window, "v", None, None) for n, one in enumerate(cells, 1)]
    back = choose("keep", known([CellWindow(one.partition, one.window, held=False) for one in cells], aside))
    assert (len(back.back), back.kept, back.missing) == (4, 0, 0)
    assert choose("keep", known(cells, aside)).empty


def test_a_choice_is_about_the_scheme_that_is_active() -> None:
    with pytest.raises(SchemeRefused, match="not of the partition scheme that is active"):
        choose("keep", KnownCells("other", [], [], None, {}))
