"""Partition sets against Python's own sets (S-116: status is counts over partitions, never one colour)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from partita.assets import PartitionSet
from partita.assets.partitions.boxes import boxes_of, coordinates, product_set, row_major, union_of_boxes

ordinals = st.frozensets(st.integers(-5, 40), max_size=30)


def _set(members: frozenset[int]) -> PartitionSet:
    return PartitionSet.from_ordinals(members)


def _is_canonical(one: PartitionSet) -> bool:
    flat = [edge for pair in one.ranges for edge in pair]
    return flat == sorted(set(flat))


@given(ordinals, ordinals)
def test_algebra_is_that_of_plain_sets(a: frozenset[int], b: frozenset[int]) -> None:
    """Every operation agrees with frozenset and gives canonical ranges."""
    left, right = _set(a), _set(b)
    for ours, plain in (
        (left | right, a | b),
        (left & right, a & b),
        (left - right, a - b),
        (left ^ right, a ^ b),
        (left.complement(30), frozenset(range(30)) - a),
        (left.shift(7), frozenset(one + 7 for one in a)),
    ):
        assert list(ours) == sorted(plain)
        assert _is_canonical(ours)
    assert left.isdisjoint(right) == a.isdisjoint(b)
    assert left.issubset(right) == a.issubset(b)
    assert (left == right) == (a == b)
    assert hash(left) == hash(_set(a))


@given(ordinals, st.integers(0, 35), st.none() | st.integers(0, 35))
def test_a_page_is_a_slice(members: frozenset[int], offset: int, limit: int | None) -> None:
    """Paging is by position among the members."""
    stop = None if limit is None else offset + limit
    assert list(_set(members).page(offset, limit)) == sorted(members)[offset:stop]


@given(ordinals)
def test_counts_membership_and_json(members: frozenset[int]) -> None:
    """len, bool, in, first, last, JSON."""
    one = _set(members)
    assert len(one) == len(members)
    assert bool(one) == bool(members)
    assert all((i in one) == (i in members) for i in range(-6, 42))
    assert "3" not in one
    assert PartitionSet.from_json(one.to_json()) == one
    if members:
        assert (one.first, one.last) == (min(members), max(members))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8))
def test_ranges_in_any_order_are_normalised(ranges: list[tuple[int, int]]) -> None:
    """Empty and overlapping ranges do no harm."""
    plain = {i for start, stop in ranges for i in range(start, stop)}
    one = PartitionSet.from_ranges(ranges)
    assert list(one) == sorted(plain)
    assert _is_canonical(one)


sizes_and_members = st.lists(st.integers(1, 4), min_size=0, max_size=3).flatmap(
    lambda sizes: st.tuples(
        st.just(sizes), st.frozensets(st.integers(0, max(_product(sizes) - 1, 0)), max_size=_product(sizes))
    )
)


def _product(sizes: list[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


@given(sizes_and_members)
def test_boxes_compose_back_and_are_disjoint(pair: tuple[list[int], frozenset[int]]) -> None:
    """A set is the disjoint union of its boxes."""
    sizes, members = pair
    chosen = _set(members)
    boxes = boxes_of(chosen, sizes)
    assert union_of_boxes(boxes, sizes) == chosen
    assert sum(len(product_set(box, sizes)) for box in boxes) == len(chosen)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_row_major_round_trip(sizes: list[int], data: st.DataObject) -> None:
    """Ordinal and position follow from each other."""
    ordinal = data.draw(st.integers(0, _product(sizes) - 1))
    assert row_major(coordinates(ordinal, sizes), sizes) == ordinal


def test_a_year_of_hours_by_origin_is_one_box() -> None:
    """A selection that is a product stays a product, whatever its size."""
    sizes = (8_760, 3)
    one = product_set((PartitionSet.from_ranges([(24, 744)]), PartitionSet.from_ordinals([0, 2])), sizes)
    assert len(one) == 720 * 2
    assert len(boxes_of(one, sizes)) == 1


def test_the_repr_says_how_many_and_which() -> None:
    """For 3 a.m."""
    assert repr(PartitionSet.from_ranges([(1, 4), (6, 7)])) == "<PartitionSet 4: 1..3, 6>"
