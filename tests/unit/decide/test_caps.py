"""Caps are pools with reserved names: whatever the key, a name means one limit, and people's pools never look like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import reserved_pool
from partita.core.decide.caps import (
    RUNNING_POOL,
    Cap,
    asset_pool,
    backfill_pool,
    cap_of,
    cap_reason,
    location_pool,
    run_pool,
)
from partita.core.store.values import BackfillId, Pool, RunId


@given(st.text(min_size=1))
def test_a_cap_is_found_again_from_its_name(key: str) -> None:
    assert cap_of(asset_pool(key)) == Cap("asset", key)
    assert cap_of(location_pool(key)) == Cap("location", key)


_NAMES = ["asset", "asset:", "all", "alle", "location:x", "backfill:3", "run:3", "run:*", "runs:3", "duckdb:x"]


@given(st.one_of(st.text(), st.sampled_from(_NAMES)))
def test_what_people_may_not_name_is_what_is_read_as_a_cap(name: str) -> None:
    assert (cap_of(name) is not None) == reserved_pool(name)


@pytest.mark.parametrize(
    ("name", "reason", "evidence"),
    [
        (RUNNING_POOL, "running_cap", {"max_running": 3}),
        (location_pool("flights"), "location_cap", {"location": "flights", "max_running": 3}),
        (asset_pool("raw/a:b"), "asset_cap", {"asset": "raw/a:b", "max_active": 3}),
        (backfill_pool(BackfillId(7)), "backfill_cap", {"backfill": 7, "max_active": 3}),
        (run_pool(RunId(7)), "run_cap", {"run": 7, "max_active": 3}),
    ],
)
def test_each_cap_says_what_it_limits(name: str, reason: str, evidence: dict[str, object]) -> None:
    cap = cap_of(name)
    assert cap is not None
    assert cap_reason(cap, Pool(name, 3)) == (reason, evidence)
