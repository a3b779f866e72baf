"""Pauses of the garbage collector while many definitions are loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from partita.core.catalog.loading import uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    assert gc.isenabled()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


def is_old(asked: object) -> bool:
    return any(one is asked for one in gc.get_objects(generation=2))


def test_what_was_loaded_counts_as_old_at_once() -> None:
    with uncollected():
        assert not gc.isenabled()
        made: list[object] = [[]]
        assert not is_old(made)
    assert gc.isenabled()
    assert is_old(made)
    assert gc.get_freeze_count() == 0, "a full collection still visits it"


def test_what_somebody_froze_stays_frozen() -> None:
    made: list[object] = [[]]
    gc.freeze()
    with uncollected():
        pass
    assert gc.get_freeze_count() > 0
    assert not is_old(made)


def test_a_pause_in_a_pause_ends_with_the_outer_one() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
