"""Mappings between products as one compiled mapping for each axis: what the cells of a product need, without listing it.

A product of 300 stores, 365 days and 24 hours has 2.6 million cells and three axes with 689 elements. Every upstream dimension
follows at most one downstream dimension: sums and marks are carried along one axis after the other, and an axis that is mapped to
itself costs nothing. Upstream dimensions that follow the same one are one axis together, whose elements are their combinations:
what an element of the downstream dimension needs of it is a box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from partita.assets import Dimensions, PartitionSet, PartitionSpace
from partita.assets.mappings.dimensions import Rule, plan_of
from partita.assets.partitions.boxes import coordinates, product_set
from partita.assets.partitions.definitions import MultiPartitions
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.space import UnitSpace
from partita.core.catalog.edges import Bools, EdgeMap, Hashes, Ints, Levels, everything, nothing, uniform_edge

_Array = npt.NDArray[Any]
_NONE: Ints = np.array([], dtype=np.int64)
_ALONE = UnitSpace()
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_Ranges = tuple[Ints, Ints, Ints]


@dataclass(frozen=True, slots=True)
class Axis:
    """Upstream dimensions `dims`, mostly one: what each element of the downstream dimension at `follows` needs of them, their
    combinations in row-major order.

    None follows nothing: every downstream cell needs the same, and the edge is uniform.
    """

    edge: EdgeMap
    follows: int | None
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AxesEdge(EdgeMap):
    """An `EdgeMap` that holds no ranges of its own. `parts` are the upstream dimensions one by one, `axes` those along which
    values are carried: no two follow the same downstream dimension."""

    parts: tuple[Axis, ...] = ()
    axes: tuple[Axis, ...] = ()
    down_sizes: tuple[int, ...] = ()
    up_sizes: tuple[int, ...] = field(default=())

    @property
    def held(self) -> bool:
        """The axes say it."""
        return False

    def sums(self, values: Hashes) -> Hashes:
        """Per downstream ordinal the sum modulo 2^64 of the upstream values."""
        return self._down(values, EdgeMap.sums)

    def any(self, marked: Bools) -> Bools:
        """The downstream ordinals that need at least one marked upstream ordinal."""
        return self._down(marked, EdgeMap.any)

    def highest(self, values: Levels) -> Levels:
        """Per downstream ordinal the largest upstream value, -1 where it needs none."""
        return self._down(values, EdgeMap.highest)

    def needed(self, marked: Bools) -> Bools:
        """The upstream ordinals that the marked downstream ordinals need."""
        found: _Array = marked.reshape(self.down_sizes)
        followed = [axis.follows for axis in self.axes if axis.follows is not None]
        idle = tuple(at for at in range(len(self.down_sizes)) if at not in followed)
        # Downstream dimensions that nothing follows first: what is left has an axis for each that is followed, in their order.
        found = np.asarray(found.any(axis=idle))
        kept = sorted(followed)
        found = found.transpose([kept.index(at) for at in followed])
        for at, axis in enumerate(self.axes):
            if axis.follows is None:
                alone = axis.edge.needed(everything(1))
                found = np.expand_dims(found, at) & alone.reshape([-1 if i == at else 1 for i in range(found.ndim + 1)])
            else:
                found = _along(found, at, axis.edge.needed)
        order = self._order
        found = found.reshape([self.up_sizes[at] for at in order]).transpose(np.argsort(order))
        return np.ascontiguousarray(found).reshape(self.up.size)

    def ranges_of(self, ordinal: int) -> Sequence[tuple[int, int]]:
        """The upstream ranges that one downstream ordinal needs."""
        position = coordinates(ordinal, self.down_sizes)
        box = [
            PartitionSet.from_ranges(axis.edge.ranges_of(0 if axis.follows is None else position[axis.follows]))
            for axis in self.parts
        ]
        return product_set(box, self.up_sizes).ranges

    @property
    def nbytes(self) -> int:
        """What the arrays take, in bytes."""
        return self.absent.nbytes + sum(axis.edge.nbytes for axis in {*self.parts, *self.axes})

    @property
    def _order(self) -> list[int]:
        """The upstream dimensions in the order of the axes."""
        return [at for axis in self.axes for at in axis.dims]

    def _down(self, values: _Array, carry: Callable[[EdgeMap, _Array], _Array]) -> _Array:
        sizes = [prod(self.up_sizes[at] for at in axis.dims) for axis in self.axes]
        found = values.reshape(self.up_sizes).transpose(self._order).reshape(sizes)
        # What every cell needs alike first: those axes shrink to one element.
        for alike in (True, False):
            for at, axis in enumerate(self.axes):
                if (axis.follows is None) is alike:
                    found = _along(found, at, _carried(axis.edge, carry))
        shape = [1] * len(self.down_sizes)
        followed = [(axis.follows, at) for at, axis in enumerate(self.axes) if axis.follows is not None]
        for place, at in followed:
            shape[place] = found.shape[at]
        order = [at for _, at in sorted(followed)]
        rest = [at for at in range(found.ndim) if at not in order]
        spread = np.broadcast_to(found.transpose(order + rest).reshape(shape), self.down_sizes)
        return np.ascontiguousarray(spread).reshape(self.down.size)


def compile_axes(mapping: Dimensions, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
    """The compiled mapping."""
    plan = plan_of(mapping, down, up)
    parts = tuple(Axis(_edge(rule), rule.follows, (at,)) for at, rule in enumerate(plan.rules))
    same = plan.down_sizes == plan.up_sizes and all(
        axis.edge.same and axis.follows == at for at, axis in enumerate(parts)
    )
    return AxesEdge(
        mapping,
        down,
        up,
        False,
        _NONE,
        _NONE,
        _NONE,
        _absent(parts, plan.down_sizes),
        same,
        parts,
        _joined(parts, up),
        plan.down_sizes,
        plan.up_sizes,
    )


def _edge(rule: Rule) -> EdgeMap:
    if rule.follows is not None:
        return EdgeMap.compile(rule.mapping, down=rule.down, up=rule.up)
    needed = rule.needed(())
    beyond = bool(needed.beyond or needed.unknown)
    return uniform_edge(rule.mapping, _ALONE, rule.up, needed.existing, absent=beyond)


def _joined(parts: Sequence[Axis], up: PartitionSpace) -> tuple[Axis, ...]:
    """The axes along which values are carried, dimensions that follow the same one as one of them."""
    groups: dict[tuple[int | None, int], list[Axis]] = {}
    for at, part in enumerate(parts):
        groups.setdefault((part.follows, at if part.follows is None else -1), []).append(part)
    return tuple(found[0] if len(found) == 1 else _together(found, up) for found in groups.values())


def _together(parts: Sequence[Axis], up: PartitionSpace) -> Axis:
    assert isinstance(up, ProductSpace)  # several dimensions
    # The widest last: a box is a range in each row of the dimensions before it.
    parts = sorted(parts, key=lambda part: int((part.edge.hi - part.edge.lo).sum()))
    held = _ranges(parts[0].edge)
    for part in parts[1:]:
        held = _boxes(held, _ranges(part.edge), part.edge.up.size)
    dims = tuple(at for part in parts for at in part.dims)
    named = list(up.definition)
    combined = ProductSpace(MultiPartitions(tuple(named[at] for at in dims)), tuple(up.parts[at] for at in dims))
    first = parts[0].edge
    edge = EdgeMap(first.mapping, first.down, combined, False, *held, nothing(first.down.size))
    return Axis(edge, parts[0].follows, dims)


def _ranges(edge: EdgeMap) -> _Ranges:
    """Owners, ascending, with the starts and stops of their ranges."""
    if not edge.same:
        return edge.owner, edge.lo, edge.hi
    every = np.arange(edge.down.size, dtype=np.int64)
    return every, every, every + 1


def _boxes(outer: _Ranges, inner: _Ranges, size: int) -> _Ranges:
    """The ranges of the combinations of two dimensions, the second one of so many elements."""
    owner, lo, hi = outer
    which, row = _counted(lo, hi)
    owner = owner[which]
    first, last = (np.searchsorted(inner[0], owner, side) for side in _SIDES)
    which, place = _counted(first, last)
    rows = row[which] * size
    return owner[which], rows + inner[1][place], rows + inner[2][place]


def _counted(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """All numbers of some ranges in a row, with the place of the range of each."""
    lengths = hi - lo
    which = np.repeat(np.arange(len(lo), dtype=np.int64), lengths)
    before = np.cumsum(lengths) - lengths
    return which, np.arange(len(which), dtype=np.int64) - before[which] + lo[which]


def _absent(axes: Sequence[Axis], down_sizes: Sequence[int]) -> Bools:
    """The cells that need something in every dimension, and in some of them something that does not exist."""
    if not any(axis.edge.any_absent for axis in axes):
        return nothing(prod(down_sizes))
    lacks: Bools = np.zeros(down_sizes, dtype=np.bool_)
    wants: Bools = np.ones(down_sizes, dtype=np.bool_)
    for axis in axes:
        shape = [-1 if at == axis.follows else 1 for at in range(len(down_sizes))]
        absent = axis.edge.absent.reshape(shape)
        lacks |= absent
        wants &= absent | axis.edge.touching.reshape(shape)
    return (lacks & wants).reshape(-1)


def _carried(edge: EdgeMap, carry: Callable[[EdgeMap, _Array], _Array]) -> Callable[[_Array], _Array]:
    return lambda rows: carry(edge, rows)


def _along(values: _Array, axis: int, carry: Callable[[_Array], _Array]) -> _Array:
    """`carry`, which works on the first axis, along another one."""
    return np.moveaxis(carry(np.moveaxis(values, axis, 0)), 0, axis)
