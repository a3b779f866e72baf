"""What the services say in words: reasons, causes, durations. Pure text, no I/O.

Owns sentences that people read; codes and evidence come from the code that decided (law 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

_WAITS = {
    "upstream": "waits for {waiting_on} upstream task{s}",
    "pool_full": "waits for pool {pool}: {held} of {slots} slots are held, it wants {wants}",
    "retry_at": "is tried again at {at}",
    "no_worker": "waits for a worker: none is alive; start `partita worker`",
    "no_server": "waits for a code server of location {location}: none serves it",
    "version_gone": "waits for version {version} of location {location}: no server has it any more",
    "workers_busy": "waits for a worker: all {capacity} slots are taken",
    "backfill_cap": "waits for its backfill: {max_active} of its tasks are active, which is its limit",
    "asset_cap": "waits for asset {asset}: {max_active} tasks of it are active, which is its max_active",
    "location_cap": "waits for location {location}: {max_running} of its tasks are active, which is its max_running",
    "running_cap": "waits: {max_running} tasks are active in all, which is max_running under [limits]",
    "in_progress": "the cell runs in run {run} already",
}


class _Blank(dict[str, Any]):
    """Evidence that lacks a field still gives a sentence."""

    def __missing__(self, key: str) -> str:
        return "?"


def wait_text(code: str, evidence: Mapping[str, Any] | None) -> str:
    """The sentence (without subject) of a reason why a task waits."""
    fields = _Blank(evidence or {})
    waiting_on = fields.get("waiting_on")
    fields["s"] = "" if waiting_on == 1 else "s"
    if code == "version_gone" and isinstance(fields.get("version"), str):
        fields["version"] = fields["version"][:12]
    template = _WAITS.get(code)
    return template.format_map(fields) if template is not None else code.replace("_", " ")


def unchanged_text(*, attempted: bool) -> str:
    """Why a cell that was planned holds what it held before."""
    if attempted:
        return "made again; its data came out the same"
    return "no attempt was needed: its inputs hold what it was made from"


def seconds_text(seconds: float) -> str:
    """A duration with two units at most: `48 ms`, `3.2 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, sub, sub_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // sub
            return f"{whole // size} {unit}" + (f" {rest} {sub_unit}" if rest else "")
    raise AssertionError("unreachable: under a minute is handled above")


def cause_text(cause: Mapping[str, Any]) -> str:
    """Why a run exists."""
    kind, by = str(cause.get("kind", "?")), cause.get("by")
    if cause.get("text"):
        return str(cause["text"])
    names = {
        "eager": "an upstream was materialized",
        "rebuild": "its code or its dependencies changed",
        "replan": "planned again at the end of another run",
        "backfill": "backfill",
        "cli": "command line",
        "api": "web UI",
        "person": "asked",
    }
    told = names.get(kind, kind)
    return f"{told} by {by}" if by else told


def eta_s(*, done: int, total: int, started_at: datetime | None, now: datetime) -> float | None:
    """Seconds to the end at the speed so far; None while there is too little to tell."""
    if started_at is None or done < 3 or done >= total:
        return None
    elapsed = (now - started_at) / timedelta(seconds=1)
    return elapsed * (total - done) / done


def plural(count: int, one: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"
