"""Plans in words: the sentence, reasons, what is blocked, how long it may take. Reads values only; decides nothing."""

from __future__ import annotations

from datetime import datetime

from partita.assets import PartitionSet, split_key
from partita.core.catalog import Catalog
from partita.core.planner.estimate_values import CriticalPart, Estimate
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
_PARTS_NAMED = 6


def sentence(plan: Plan) -> str:
    """ "Materialize 31 cells of 2 assets: 28 missing, 3 stale because raw/weather changed"."""
    if plan.empty:
        stopped = blocked_count(plan)
        return f"Nothing to do; {counted(stopped, 'cell is', 'cells are')} blocked" if stopped else "Nothing to do"
    what = f"Materialize {counted(plan.cell_count, 'cell')} of {counted(len(plan.assets), 'asset')}"
    parts = [f"{n:,} {_reason(plan, reason)}" for reason, n in sorted(plan.counts().items(), key=_most)]
    return f"{what}: {', '.join(parts)}"


def why_text(asset: PlannedAsset) -> str:
    """ "7 missing, 3 stale data (2 if inputs change)"."""
    parts = [f"{len(cells):,} {reason.value.replace('_', ' ')}" for reason, cells in asset.by_reason.items()]
    return ", ".join(parts) + (f" ({len(asset.conditional):,} if inputs change)" if asset.conditional else "")


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
    rest = f"; and {counted(more, 'cell')} more" if more > 0 else ""
    return f"{counted(len(first.cells), 'cell')} of {first.key}: {blocked_text(first)}{rest}"


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


def estimate_text(one: Estimate) -> str:
    """ "about 12 min with 4 slots, 5 min with 16; never under 3 min (critical path)"."""
    here = max(1, one.slots)
    told = f"about {duration_text(one.makespan_s)} with {counted(here, 'slot')}"
    enough, enough_s = one.enough_slots, one.at(one.enough_slots)
    if enough > here and enough_s < 0.9 * one.makespan_s:
        told += f", {duration_text(enough_s)} with {enough:,}"
    limit = "critical path" if one.bound_pool is None else f"pool {one.bound_pool}"
    floor_s = one.critical_s if one.bound_pool is None else one.floor_s
    return f"{told}; never under {duration_text(floor_s)} ({limit})"


def critical_text(one: Estimate, catalog: Catalog, as_of: datetime) -> str:
    """ "raw/flights 2013-01-01 > delays 2013-01-01": the chain that makes the floor. A long one is told by its ends."""
    parts = [critical_part_text(part, catalog, as_of) for part in one.critical]
    if len(parts) > _PARTS_NAMED:
        half = _PARTS_NAMED // 2
        parts = [*parts[:half], f"{len(parts) - 2 * half} more", *parts[-half:]]
    return " > ".join(parts)


def critical_part_text(part: CriticalPart, catalog: Catalog, as_of: datetime) -> str:
    """ "delays 2013-01-01". Of a group its first asset and how many more."""
    first = part.assets[0]
    group = f" +{len(part.assets) - 1}" if len(part.assets) > 1 else ""
    # An asset may have been retired since the plan was made; the plan can still be looked at.
    keys = partitions_text(catalog.space(first, as_of), part.cells, limit=1) if first in catalog.assets else ""
    return f"{first}{group} {keys}".rstrip()


def duration_text(seconds: float) -> str:
    """A duration in the largest unit that keeps two figures: "12 s", "3 min", "2 h".

    >>> [duration_text(s) for s in (0.42, 42, 200, 7300, 200_000)]
    ['0.4 s', '42 s', '3 min', '2 h', '2 d']
    """
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def counted(count: int, one: str, many: str = "") -> str:
    """ "1 cell", "10,000 cells"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


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
