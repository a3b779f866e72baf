"""A status kept as cells move equals one worked out anew, on random graphs and histories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.assets import All, Daily, Identity, Mapping, Multi, PartitionsDef, Rolling, Static, TimeOverlap
from partita.core.catalog import set_of
from partita.core.cells import Live, Statuses

DAYS = Daily("2024-01-11", end="2024-01-15")
LATER = Daily("2024-01-10", end="2024-01-14")
LETTERS = Static("a", "b")
GRID = Multi(letter=LETTERS, day=DAYS)
NAMES = ("p", "q", "r", "s", "t", "u")
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # the fixtures are a class and a function


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[PartitionsDef | None, dict[int, Mapping | None]]]:
    """Per asset its partitions and what it reads, by position; itself at times."""
    found: list[tuple[PartitionsDef | None, dict[int, Mapping | None]]] = []
    for at in range(draw(st.integers(2, len(NAMES)))):
        scheme = draw(st.sampled_from([DAYS, DAYS, LATER, LETTERS, GRID, None]))
        inputs: dict[int, Mapping | None] = {}
        for up in range(at):
            if draw(st.booleans()):
                mappings: list[Mapping | None] = [None, All()]
                if scheme in (DAYS, LATER) and found[up][0] in (DAYS, LATER):
                    mappings += [Identity(), TimeOverlap(-1, 0), Rolling(2, "days")]
                inputs[up] = draw(st.sampled_from(mappings))
        if scheme == DAYS and draw(st.integers(0, 2)) == 0:
            inputs[at] = TimeOverlap(-1, -1)
        found.append((scheme, inputs))
    return found


EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 7), st.sampled_from(["v1", "v1", "v2", "failed", "skipped"])),
    min_size=1,
    max_size=12,
)


@given(graph=graphs(), before=EVENTS, after=EVENTS)
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_a_status_kept_as_cells_move_is_the_status(
    graph: Any, before: Any, after: Any, world: Any, asset_of: Any
) -> None:
    made = world(
        [
            asset_of(NAMES[at], scheme, {NAMES[up]: (graph[up][0], mapping) for up, mapping in inputs.items()})
            for at, (scheme, inputs) in enumerate(graph)
        ]
    )
    for event in before:
        _happens(made, event)
    live = Live(made.statuses())
    for event in after:
        known = {key: live.lacking(key).copy() for key in made.catalog.assets}
        key = _happens(made, event)
        moved = live.move(made.statuses(), [key] if key else [])
        fresh: Statuses = made.statuses()
        for one in made.catalog.assets:
            status = fresh.status(one)
            assert np.array_equal(live.lacking(one), status.lacking)
            assert np.array_equal(live.upstream_stale(one), status.upstream_stale)
            assert moved.lacking.get(one, set_of(np.zeros(0, np.bool_))) == set_of(status.lacking & ~known[one])
            assert moved.recovered.get(one, set_of(np.zeros(0, np.bool_))) == set_of(known[one] & ~status.lacking)


def test_statuses_of_another_instant_are_refused(world: Any, asset_of: Any) -> None:
    made = world([asset_of("p", DAYS)])
    live = Live(made.statuses())
    with pytest.raises(ValueError, match="another catalog or instant"):
        live.move(Statuses(made.catalog, made.cells, made.as_of + timedelta(days=1)), [])


def _happens(made: Any, event: tuple[int, int, str]) -> Any:
    at, partition, what = event
    if NAMES[at] not in made.catalog.assets:
        return None
    key = made.catalog.asset(NAMES[at]).key
    space = made.catalog.space(key, made.as_of)
    name = str(space.key_at(partition % space.size))
    if what in ("failed", "skipped"):
        made.cells.note(made.ref(key, name), what)
    else:
        made.run(key, name, what)
    return key
