"""Mappings between products as one compiled mapping for each axis: what the cells of a product need, without listing it.

A product of 300 stores, 365 days and 24 hours has 2.6 million cells and three axes with 689 elements. Where every upstream
dimension follows at most one downstream dimension, and no two the same, sums and marks are carried along one axis after the
other; an axis that is mapped to itself costs nothing. Any other mapping is evaluated cell by cell (`edges.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import Dimensions, PartitionSet, PartitionSpace
from partita.assets.mappings.dimensions import Rule, plan_of
from partita.assets.partitions.boxes import coordinates, product_set
from partita.assets.partitions.space import UnitSpace
from partita.core.catalog.edges import Bools, EdgeMap, Hashes, Ints, Levels, everything, nothing, uniform_edge

_Array = npt.NDArray[Any]
_NONE: Ints = np.array([], dtype=np.int64)
_ALONE = UnitSpace()


@dataclass(frozen=True, slots=True)
class Axis:
    """One upstream dimension: what each element of the downstream dimension at `follows` needs of it.

    None follows nothing: every downstream cell needs the same, and the edge is uniform.
    """

    edge: EdgeMap
    follows: int | None


@dataclass(frozen=True, eq=False)
class AxesEdge(EdgeMap):
    """An `EdgeMap` that holds no ranges of its own."""

    axes: tuple[Axis, ...] = ()
    down_sizes: tuple[int, ...] = ()
    up_sizes: tuple[int, ...] = field(default=())

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
        return np.ascontiguousarray(found).reshape(self.up.size)

    def ranges_of(self, ordinal: int) -> Sequence[tuple[int, int]]:
        """The upstream ranges that one downstream ordinal needs."""
        position = coordinates(ordinal, self.down_sizes)
        box = [
            PartitionSet.from_ranges(axis.edge.ranges_of(0 if axis.follows is None else position[axis.follows]))
            for axis in self.axes
        ]
        return product_set(box, self.up_sizes).ranges

    @property
    def nbytes(self) -> int:
        """What the arrays take, in bytes."""
        return self.absent.nbytes + sum(axis.edge.nbytes for axis in self.axes)

    def _down(self, values: _Array, carry: Callable[[EdgeMap, _Array], _Array]) -> _Array:
        found = values.reshape(self.up_sizes)
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


def compile_axes(mapping: Dimensions, down: PartitionSpace, up: PartitionSpace) -> EdgeMap | None:
    """The compiled mapping; None when two upstream dimensions follow one downstream dimension."""
    plan = plan_of(mapping, down, up)
    followed = [rule.follows for rule in plan.rules if rule.follows is not None]
    if len(set(followed)) < len(followed):
        return None
    axes = tuple(Axis(_edge(rule), rule.follows) for rule in plan.rules)
    same = plan.down_sizes == plan.up_sizes and all(
        axis.edge.same and axis.follows == at for at, axis in enumerate(axes)
    )
    return AxesEdge(
        mapping,
        down,
        up,
        False,
        _NONE,
        _NONE,
        _NONE,
        _absent(axes, plan.down_sizes),
        same,
        axes,
        plan.down_sizes,
        plan.up_sizes,
    )


def _edge(rule: Rule) -> EdgeMap:
    if rule.follows is not None:
        return EdgeMap.compile(rule.mapping, down=rule.down, up=rule.up)
    needed = rule.needed(())
    beyond = bool(needed.beyond or needed.unknown)
    return uniform_edge(rule.mapping, _ALONE, rule.up, needed.existing, absent=beyond)


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
