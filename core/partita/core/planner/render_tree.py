"""A plan as a tree: each planned asset below the one that it waits for last. Reads the plan only; decides nothing.

An asset stands once, below the planned upstream that is last in order; others that it reads from the plan are named beside
it. What is blocked hangs below what blocks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from partita.assets import AssetKey
from partita.core.catalog import Catalog
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import Blocked, Plan, PlannedAsset
from partita.core.planner.words import blocked_text, counted, why_text

_DEEPEST = 10  # a chain of hundreds of assets stays on the page: deeper ones tell their depth instead


@dataclass(slots=True)
class _Node:
    planned: PlannedAsset | None = None
    blocked: list[Blocked] = field(default_factory=list)
    also: Sequence[AssetKey] = ()
    below: list[AssetKey] = field(default_factory=list)


def tree_lines(plan: Plan, catalog: Catalog) -> Iterator[str]:
    """The lines; roots are what waits for nothing in the plan."""
    nodes = {asset.key: _Node(asset) for asset in plan.assets}
    for one in plan.blocked:
        nodes.setdefault(one.key, _Node()).blocked.append(one)
    roots: list[AssetKey] = []
    for key in sorted(nodes, key=catalog.order.__getitem__):
        above = {one.upstream for one in catalog.assets[key].inputs if one.upstream in nodes and one.upstream != key}
        *nodes[key].also, waits_for = sorted(above, key=catalog.order.__getitem__) or [key]
        (roots if waits_for == key else nodes[waits_for].below).append(key)
    todo = [("", "", key, 0) for key in reversed(roots)]
    while todo:
        mark, indent, key, depth = todo.pop()
        for at, text in enumerate(_texts(plan, catalog, key, nodes[key])):
            yield (mark if at == 0 else indent) + (f"{depth}. " if depth > _DEEPEST else "") + text
        below = nodes[key].below
        deeper = indent if depth >= _DEEPEST else None
        for at, child in reversed(list(enumerate(below))):
            last_one = at == len(below) - 1
            mine = deeper if deeper is not None else indent + ("   " if last_one else "│  ")
            mark_of = mine if deeper is not None else indent + ("└─ " if last_one else "├─ ")
            todo.append((mark_of, mine, child, depth + 1))


def _texts(plan: Plan, catalog: Catalog, key: AssetKey, node: _Node) -> Iterator[str]:
    """One line for what runs, one for each reason why more does not."""
    space = catalog.space(key, plan.as_of)
    if node.planned is not None:
        what = f"{key}  {partitions_text(space, node.planned.cells)}".rstrip()
        also = f"; also after {', '.join(node.also)}" if node.also else ""
        yield f"{what}  {counted(len(node.planned.cells), 'cell')}: {why_text(node.planned)}{also}"
    for one in node.blocked:
        what = f"{key}  {partitions_text(space, one.cells)}".rstrip()
        yield f"{what}  blocked: {blocked_text(one)}"
