"""Sets as boxes against row-major sets: the algebra, counting, pages, the stored form; and that rows cost nothing."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from partita.assets import PartitionSet
from partita.assets.partitions.boxsets import BoxSet

sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], PartitionSet, PartitionSet]:
    """Two sets of one product; boxes, single cells, or both."""
    shape = draw(sizes)
    return shape, *(draw(_sets(shape)) for _ in range(2))  # type: ignore[return-value]


@st.composite
def _sets(draw: st.DrawFn, shape: tuple[int, ...]) -> PartitionSet:
    boxes = [
        [PartitionSet.from_ordinals(draw(st.sets(st.integers(0, size - 1)))) for size in shape]
        for _ in range(draw(st.integers(0, 3)))
    ]
    some = draw(st.sets(st.integers(0, prod(shape) - 1), max_size=5))
    return BoxSet.of(shape, boxes).to_set() | PartitionSet.from_ordinals(some)


@given(pairs(), st.integers(0, 40), st.integers(0, 10))
def test_boxes_equal_row_major_sets(
    case: tuple[tuple[int, ...], PartitionSet, PartitionSet], offset: int, limit: int
) -> None:
    shape, one, two = case
    mine, theirs = BoxSet.from_set(one, shape), BoxSet.from_set(two, shape)
    assert mine.to_set() == one
    assert len(mine) == len(one)
    assert bool(mine) == bool(one)
    assert (mine | theirs).to_set() == one | two
    assert (mine & theirs).to_set() == one & two
    assert (mine - theirs).to_set() == one - two
    assert mine.complement().to_set() == one.complement(prod(shape))
    assert mine.page(offset, limit) == list(one.page(offset, limit))
    assert [at for at in range(prod(shape)) if at in mine] == list(one)
    assert BoxSet.from_json(mine.to_json(), shape) == mine


@given(pairs())
def test_equal_sets_are_equal_values(case: tuple[tuple[int, ...], PartitionSet, PartitionSet]) -> None:
    """Whatever the way that they were made: the form is canonical."""
    shape, one, two = case
    mine, theirs = BoxSet.from_set(one, shape), BoxSet.from_set(two, shape)
    assert (mine | theirs) == (theirs | mine) == BoxSet.from_set(one | two, shape)
    assert (mine - theirs) == mine - (mine & theirs) == BoxSet.from_set(one - two, shape)
    assert (mine.complement().complement()) == mine


def test_rows_cost_nothing() -> None:
    """One day of 300 stores and 24 hours is one box, and so is the rest of the year."""
    shape = (300, 24, 365)
    full = BoxSet.full(shape)
    day = BoxSet.of(shape, [(full.boxes[0][0], full.boxes[0][1], PartitionSet.from_ordinals([7]))])
    assert len(full - day) == 300 * 24 * 364
    assert len((full - day).boxes) == 1
    assert day.page(7_199, 5) == [299 * 24 * 365 + 23 * 365 + 7]
