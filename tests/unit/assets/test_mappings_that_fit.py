"""What a mapping may ask for, and what it costs to say so when a graph is loaded."""

from __future__ import annotations

import pytest

from partita.assets import Daily, DefinitionError, Hourly, Specific, TimeOverlap, check_fit
from partita.assets.partitions.zones import changes_in


def test_a_graph_loads_without_the_clock_changes_of_millennia() -> None:
    """Each process that loads a graph pays for it: a code server at each edit, each scheduler, each command."""
    before = changes_in.cache_info().misses
    check_fit(
        TimeOverlap(), down=Daily("2026-01-01", tz="Australia/Hobart"), up=Hourly("2026-01-01", tz="Australia/Hobart")
    )
    assert changes_in.cache_info().misses - before < 500


def test_a_key_of_a_far_year_can_exist() -> None:
    check_fit(Specific(("2400-02-29",)), down=None, up=Daily("2026-01-01"))
    with pytest.raises(DefinitionError, match=r"'2025-12-31' is needed and can never exist"):
        check_fit(Specific(("2400-02-29", "2025-12-31")), down=None, up=Daily("2026-01-01"))
