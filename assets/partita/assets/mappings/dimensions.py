"""Mappings dimension by dimension: products, projections, and single schemes seen as one dimension.

A set of cells is taken apart into boxes, each dimension is mapped on its own, and the images are multiplied. A box
is exact because the dimensions do not constrain each other; where two upstream dimensions follow one downstream
dimension, boxes are first cut to single elements of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from partita.assets.errors import DefinitionError, suggest
from partita.assets.keys import join_key
from partita.assets.mappings import single
from partita.assets.mappings.definitions import All, DimensionMapping, Dimensions, Last, Specific
from partita.assets.mappings.single import Needed
from partita.assets.partitions.boxes import (
    Box,
    boxes_of,
    coordinates,
    split_dimension,
    union_of_boxes,
)
from partita.assets.partitions.boxsets import BoxSet
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace, UnitSpace

Answer = tuple[PartitionSet, tuple[str, ...], int]
"""Existing partitions, the first absent keys, how many are absent."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One upstream dimension, and the position of the downstream dimension that it follows (None: none)."""

    up: PartitionSpace
    follows: int | None
    down: PartitionSpace
    mapping: DimensionMapping

    def needed(self, box: Box) -> Needed:
        chosen = self.down.all() if self.follows is None else box[self.follows]
        return single.upstream(self.mapping, self.down, self.up, chosen)


@dataclass(frozen=True, slots=True)
class Plan:
    """A Dimensions mapping bound to two spaces."""

    rules: tuple[Rule, ...]
    down_sizes: tuple[int, ...]
    down_parts: tuple[PartitionSpace, ...]
    up_sizes: tuple[int, ...]
    multi_up: bool

    def boxes(self, cells: PartitionSet) -> list[Box]:
        """The boxes of downstream cells, fine enough to be mapped dimension by dimension."""
        boxes = boxes_of(cells, self.down_sizes)
        followed = [rule.follows for rule in self.rules if rule.follows is not None]
        for dimension in {one for one in followed if followed.count(one) > 1}:
            boxes = split_dimension(boxes, dimension)
        return boxes


def plan_of(mapping: Dimensions, down: PartitionSpace, up: PartitionSpace) -> Plan:
    """Bind a mapping to spaces; raises DefinitionError naming a dimension that does not exist or does not fit."""
    down_dims, up_dims = _dims(down), _dims(up)
    pairs = {pair.up: pair for pair in mapping.pairs}
    for name in pairs:
        _known(name, up_dims, "upstream")
    rules: list[Rule] = []
    for name, space in up_dims.items():
        pair = pairs.get(name)
        inner = All() if pair is None else pair.mapping
        if pair is None or pair.down is None or isinstance(inner, All | Last | Specific):
            # The dimension does not depend on downstream, whatever the pair says; its own space stands in.
            rules.append(Rule(space, None, space, inner))
            continue
        _known(pair.down, down_dims, "downstream")
        follows = list(down_dims).index(pair.down)
        single.check(inner, down_dims[pair.down], space)
        rules.append(Rule(space, follows, down_dims[pair.down], inner))
    return Plan(
        rules=tuple(rules),
        down_sizes=tuple(space.size for space in down_dims.values()),
        down_parts=tuple(down_dims.values()),
        up_sizes=tuple(space.size for space in up_dims.values()),
        multi_up=isinstance(up, ProductSpace),
    )


def upstream(mapping: Dimensions, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet, limit: int) -> Answer:
    """What a non-empty set of downstream partitions needs."""
    plan = plan_of(mapping, down, up)
    return _answer(plan, [[rule.needed(box) for rule in plan.rules] for box in plan.boxes(cells)], limit)


def downstream(mapping: Dimensions, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet) -> PartitionSet:
    """The downstream partitions that need any of a non-empty set of existing upstream partitions."""
    plan = plan_of(mapping, down, up)
    images = (_image(plan, box) for box in boxes_of(cells, plan.up_sizes))
    return union_of_boxes((image for image in images if image is not None), plan.down_sizes)


def upstream_by_cell(
    mapping: Dimensions, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet, limit: int
) -> Iterator[tuple[int, PartitionSet, tuple[str, ...], int]]:
    """What each downstream partition needs; the images of a dimension's elements are computed once."""
    plan = plan_of(mapping, down, up)
    known: dict[tuple[int, int], Needed] = {}
    for cell in cells:
        position = coordinates(cell, plan.down_sizes)
        needs: list[Needed] = []
        for i, rule in enumerate(plan.rules):
            at = (i, -1 if rule.follows is None else position[rule.follows])
            if at not in known:
                known[at] = rule.needed(tuple(PartitionSet(((one, one + 1),)) for one in position))
            needs.append(known[at])
        yield cell, *_answer(plan, [needs], limit)


def _image(plan: Plan, box: Box) -> list[PartitionSet] | None:
    image = [part.all() for part in plan.down_parts]
    for rule, chosen in zip(plan.rules, box, strict=True):
        touched = single.downstream(rule.mapping, rule.down, rule.up, chosen)
        if not touched:
            return None
        if rule.follows is not None:
            image[rule.follows] &= touched
    return image


def _answer(plan: Plan, boxes: Sequence[Sequence[Needed]], limit: int) -> Answer:
    existing = union_of_boxes([[needed.existing for needed in box] for box in boxes], plan.up_sizes)
    if not any(needed.beyond or needed.unknown for box in boxes for needed in box):
        return existing, (), 0
    axes = [_Axis(rule.up, [box[i] for box in boxes]) for i, rule in enumerate(plan.rules)]
    sizes = [axis.size for axis in axes]
    # As boxes: a window before the start is one, where row-major it is one run for every row around it.
    wanted = [[axis.wanted(needed) for axis, needed in zip(axes, box, strict=True)] for box in boxes]
    present = [[needed.existing.shift(-axis.low) for axis, needed in zip(axes, box, strict=True)] for box in boxes]
    absent = BoxSet.of(sizes, wanted) - BoxSet.of(sizes, present)
    keys: list[str] = []
    for ordinal in absent.page(0, limit):
        parts = [axis.label(at) for axis, at in zip(axes, coordinates(ordinal, sizes), strict=True)]
        keys.append(join_key(parts) if plan.multi_up else parts[0])
    return existing, tuple(keys), len(absent)


class _Axis:
    """One upstream dimension, made long enough to hold what is needed but does not exist.

    Ordinals from `low` on come first (windows before the start have negative ones), then the unknown keys.
    """

    def __init__(self, space: PartitionSpace, needs: Sequence[Needed]) -> None:
        beyond = [one for needed in needs for one in needed.beyond.ranges]
        self._space = space
        self.low = min([0, *(start for start, _ in beyond)])
        self._high = max([space.size, *(stop for _, stop in beyond)])
        self._unknown = list(dict.fromkeys(key for needed in needs for key in needed.unknown))
        self._position = {key: i for i, key in enumerate(self._unknown, start=self._high - self.low)}
        self.size = self._high - self.low + len(self._unknown)

    def wanted(self, needed: Needed) -> PartitionSet:
        ordinals = (needed.existing | needed.beyond).shift(-self.low)
        return ordinals | PartitionSet.from_ordinals(self._position[key] for key in needed.unknown)

    def label(self, position: int) -> str:
        ordinal = position + self.low
        if ordinal >= self._high:
            return self._unknown[ordinal - self._high]
        return self._space.label_at(ordinal)


def _dims(space: PartitionSpace) -> dict[str, PartitionSpace]:
    if isinstance(space, UnitSpace):
        return {}
    if isinstance(space, ProductSpace):
        return dict(zip(space.dims, space.parts, strict=True))
    return {"": space}


def _known(name: str, dims: dict[str, PartitionSpace], side: str) -> None:
    if name not in dims:
        shown = ", ".join(one or "(its only one)" for one in dims) or "none"
        raise DefinitionError(
            f"there is no {side} dimension {name!r}",
            rule=f"the {side} dimensions are {shown}",
            fix=suggest(name, dims),
        )
