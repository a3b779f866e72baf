"""Plans in words and as plain text, for the CLI, the API and logs. Reads the plan only; decides nothing."""

from __future__ import annotations

from collections.abc import Iterator

from partita.assets import PartitionSet, split_key
from partita.core.catalog import Catalog
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import Blocked, Plan, PlannedAsset, Reason

WORDS = {
    Reason.MISSING: "missing",
    Reason.FAILED: "failed",
    Reason.STALE_CODE: "stale because the code changed",
    Reason.STALE_DEPENDENCIES: "stale because dependencies changed",
    Reason.STALE_DATA: "stale",
    Reason.FORCED: "asked for again",
}
_BLOCKED = {
    "upstream_missing": "{upstream} {absent} {verb} missing and not in the plan",
    "upstream_in_progress": "{upstream} is still being made by another run",
    "upstream_absent": "{upstream} {absent} does not exist",
    "upstream_blocked": "{upstream} is itself blocked",
    "upstream_unloaded": "{upstream} is in a location that was never loaded",
}


def sentence(plan: Plan) -> str:
    """ "Materialize 31 cells of 2 assets: 28 missing, 3 stale because raw/weather changed"."""
    if plan.empty:
        stopped = blocked_count(plan)
        return f"Nothing to do; {_n(stopped, 'cell is', 'cells are')} blocked" if stopped else "Nothing to do"
    what = f"Materialize {_n(plan.cell_count, 'cell', 'cells')} of {_n(len(plan.assets), 'asset', 'assets')}"
    parts = [f"{n:,} {_reason(plan, reason)}" for reason, n in sorted(plan.counts().items(), key=_most)]
    return f"{what}: {', '.join(parts)}"


def blocked_count(plan: Plan) -> int:
    """How many cells are blocked, each counted once."""
    cells: dict[str, PartitionSet] = {}
    for one in plan.blocked:
        cells[one.key] = cells.get(one.key, PartitionSet.empty()) | one.cells
    return sum(len(found) for found in cells.values())


def blocked_summary(plan: Plan) -> str:
    """Of the first blocked asset how many cells and why, then how many more: one line for a refusal. "" when none are."""
    if not plan.blocked:
        return ""
    first = plan.blocked[0]
    more = blocked_count(plan) - len(first.cells)
    rest = f"; and {_n(more, 'cell', 'cells')} more" if more > 0 else ""
    return f"{_n(len(first.cells), 'cell', 'cells')} of {first.key}: {blocked_text(first)}{rest}"


def blocked_text(one: Blocked) -> str:
    """Why these cells cannot run."""
    names = [" × ".join(split_key(key) or (key,)) for key in one.absent[:3]]
    shown = ", ".join(names) + (" ..." if len(one.absent) > 3 else "")
    verb = "are" if len(one.absent) > 1 else "is"
    return _BLOCKED[one.reason].format(upstream=one.upstream, absent=shown, verb=verb).replace("  ", " ")


def blocked_hint(plan: Plan) -> str:
    """What would unblock cells whose upstream is missing; "" when there are none, or it is asked for already."""
    missing = any(one.reason == "upstream_missing" and one.upstream != one.key for one in plan.blocked)
    return "--upstream plans missing upstream partitions too" if missing and not plan.request.upstream else ""


def render_text(plan: Plan, catalog: Catalog) -> str:
    """The plan as lines of plain text: sentence, table by asset, waves, pools, estimate, what is blocked."""
    return "\n".join(_lines(plan, catalog))


def _lines(plan: Plan, catalog: Catalog) -> Iterator[str]:
    yield sentence(plan)
    if not plan.empty:
        yield ""
        yield from _table(plan, catalog)
        yield ""
        for index, wave in enumerate(plan.cells_by_wave()):
            yield f"wave {index + 1}: " + ", ".join(f"{key} ({len(cells):,})" for key, cells in wave.items())
        tasks = f"{_n(plan.task_count, 'task', 'tasks')}"
        yield tasks + (f"; {plan.joined:,} cells are already under way and are joined" if plan.joined else "")
    for pool in plan.pools:
        of = "a pool to be made" if pool.slots is None else f"{pool.held} of {pool.slots} slots held"
        yield f"pool {pool.name}: wants {pool.wanted}, {of}"
    if plan.estimate is not None:
        one = plan.estimate
        yield f"about {duration_text(one.makespan_s)} (at least {duration_text(one.critical_s)}; {one.basis})"
    for stopped in plan.blocked:
        keys = partitions_text(catalog.space(stopped.key, plan.as_of), stopped.cells)
        yield f"blocked: {stopped.key} {keys}".rstrip() + f": {blocked_text(stopped)}"
    if hint := blocked_hint(plan):
        yield f"hint: {hint}"


def _table(plan: Plan, catalog: Catalog) -> Iterator[str]:
    rows = [("asset", "cells", "why", "partitions")]
    rows += [
        (
            asset.key,
            f"{len(asset.cells):,}",
            _why(asset),
            partitions_text(catalog.space(asset.key, plan.as_of), asset.cells),
        )
        for asset in plan.assets
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for key, cells, why, keys in rows:
        yield f"{key:<{widths[0]}}  {cells:>{widths[1]}}  {why:<{widths[2]}}  {keys}".rstrip()


def _why(asset: PlannedAsset) -> str:
    parts = [f"{len(cells):,} {reason.value.replace('_', ' ')}" for reason, cells in asset.by_reason.items()]
    return ", ".join(parts) + (f" ({len(asset.conditional):,} if inputs change)" if asset.conditional else "")


def duration_text(seconds: float) -> str:
    """A duration in the largest unit that keeps two figures: "12 s", "3 min", "2 h"."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def _reason(plan: Plan, reason: Reason) -> str:
    if reason is not Reason.STALE_DATA or not plan.because:
        return WORDS[reason]
    moved = sorted(set(plan.because.values()))
    planned = {asset.key for asset in plan.assets}
    verb = "may change" if all(key in planned for key in moved) else "changed"
    shown = ", ".join(moved[:3]) + (f" and {len(moved) - 3} more" if len(moved) > 3 else "")
    return f"stale because {shown} {verb}"


def _most(item: tuple[Reason, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _n(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
