"""Plans as plain text: a table or a tree of the assets, then waves, pools, estimate and what is blocked.

Fits a width without cutting a key: what is too long goes on in lines of its own. Reads the plan only; decides nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

from partita.assets import AssetKey
from partita.core.catalog import Catalog
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.render_tree import tree_lines
from partita.core.planner.values import Plan
from partita.core.planner.warnings import unserved_warnings, warnings_of
from partita.core.planner.waves import alike_waves
from partita.core.planner.words import (
    blocked_hint,
    blocked_text,
    counted,
    critical_text,
    duration_text,
    estimate_text,
    sentence,
    why_text,
)

Form = Literal["table", "tree"]
WIDTH = 80
_NAMED_IN_WAVE = 6
_WAVES_SHOWN = 12


def render_text(
    plan: Plan, catalog: Catalog, form: Form = "table", *, width: int = WIDTH, limited: bool = False
) -> str:
    """The plan as lines of at most `width` columns, but where one key is longer. `limited`: it is to be launched with a limit of
    tasks at once, so that what would be too many without one is not said."""
    found: list[str] = []
    for line in _lines(plan, catalog, form, width, limited=limited):
        found += wrapped(line, width)
    return "\n".join(found)


def wrapped(line: str, width: int) -> list[str]:
    """A line in pieces of `width`, broken between words only; the later ones are indented, below the branches of a tree.

    >>> wrapped("├─ delays  2013-02-01  blocked: airlines is missing", 40)
    ['├─ delays  2013-02-01  blocked: airlines', '│      is missing']
    """
    if len(line) <= width:
        return [line]
    branches = line[: len(line) - len(line.lstrip(" │├└─"))]
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=branches.replace("├─", "│ ").replace("└─", "  ") + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(plan: Plan, catalog: Catalog, form: Form, width: int, *, limited: bool) -> Iterator[str]:
    yield sentence(plan)
    if not plan.empty:
        yield ""
        yield from tree_lines(plan, catalog) if form == "tree" else _table(plan, catalog, width)
        yield ""
        yield from _waves(plan)
        tasks = counted(plan.task_count, "task")
        yield tasks + (f"; {plan.joined:,} cells are already under way and are joined" if plan.joined else "")
    for pool in plan.pools:
        of = "a pool to be made" if pool.slots is None else f"{pool.held:,} of {pool.slots:,} slots held"
        yield f"pool {pool.name}: wants {pool.wanted:,}, {of}"
    if plan.estimate is not None:
        yield f"{estimate_text(plan.estimate)}; {plan.estimate.basis}"
        chain = critical_text(plan.estimate, catalog, plan.as_of)
        yield f"critical path ({duration_text(plan.estimate.critical_s)}): {chain}"
    for stopped in plan.blocked if form == "table" or plan.empty else ():
        keys = partitions_text(catalog.space(stopped.key, plan.as_of), stopped.cells)
        yield f"blocked: {stopped.key} {keys}".rstrip() + f": {blocked_text(stopped)}"
    if hint := blocked_hint(plan):
        yield f"hint: {hint}"
    for one in unserved_warnings(plan, catalog) if limited else warnings_of(plan, catalog):
        yield f"warning: {one.text}. {one.fix}."
    if not plan.empty:
        yield f"plan {plan.hash[:14]}"


def _table(plan: Plan, catalog: Catalog, width: int) -> Iterator[str]:
    rows = [("asset", "cells", "why", "partitions")]
    rows += [
        (
            str(asset.key),
            f"{len(asset.cells):,}",
            why_text(asset),
            partitions_text(catalog.space(asset.key, plan.as_of), asset.cells),
        )
        for asset in plan.assets
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    # Partitions go below their assets, for all of them, when a line would be too long: columns that come and go are hard
    # to read.
    beside = sum(widths) + 6 <= width
    for index, (key, cells, why, keys) in enumerate(rows):
        head = f"{key:<{widths[0]}}  {cells:>{widths[1]}}  {why:<{widths[2]}}"
        yield (f"{head}  {keys}" if beside else head).rstrip()
        if keys and index and not beside:
            yield f"    {keys}"


def _waves(plan: Plan) -> Iterator[str]:
    told = alike_waves(plan)
    shown = told if len(told) <= _WAVES_SHOWN else told[: _WAVES_SHOWN - 1]
    for one in shown:
        name = f"wave {one.first + 1}" if one.count == 1 else f"waves {one.first + 1}..{one.first + one.count}"
        yield f"{name}: {_wave_text(list(one.cells.items()))}" + (" each" if one.count > 1 else "")
    if len(shown) < len(told):
        yield f"and {plan.wave_count() - told[len(shown)].first:,} more waves"


def _wave_text(wave: Sequence[tuple[AssetKey, int]]) -> str:
    named = ", ".join(f"{key} ({n:,})" for key, n in wave[:_NAMED_IN_WAVE])
    rest = wave[_NAMED_IN_WAVE:]
    cells = counted(sum(n for _, n in rest), "cell")
    return named + (f" and {cells} of {counted(len(rest), 'more asset')}" if rest else "")
