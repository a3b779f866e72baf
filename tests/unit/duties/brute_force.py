"""How a task has to end, read naively off the rules and its history: what the duties are compared with."""

from __future__ import annotations

from typing import Any

BAD = {"failed", "upstream_failed", "cancelled", "removed"}
LOSSES = 5


def brute_verdict(rule: str, states: list[tuple[str, bool]]) -> str:
    """The rule over the final states of all upstream (state, is it the same step), read off S-108 and the design."""
    bad = any(state in BAD for state, _ in states)
    skipped = any(state == "skipped" and not same for state, same in states)
    if rule == "all_done":
        return "run"
    if rule == "none_failed":
        return "upstream_failed" if bad else "run"
    if rule == "none_skipped":
        return "skipped" if skipped else "run"
    if bad:
        return "upstream_failed"
    return "skipped" if skipped else "run"


def brute_end(row: dict[str, Any], cells: list[dict[str, Any]], ends: list[str], cancelled: bool) -> set[str]:
    """The states that a task which was allowed to run may end in, by the history of its attempts."""
    if cells and all(own["state"] in ("published", "unchanged", "skipped") for own in cells):
        made = any(own["state"] != "skipped" for own in cells)
        return {"success"} if made else {"skipped"}
    retries = row["retry"]["max_retries"]
    failures = sum(end in ("failed", "timed_out", "retry_later", "success", "skipped") for end in ends)
    losses = sum(end in ("lost", "cancelled") for end in ends)
    for_good = "failed_for_good" in ends or failures > retries or losses > LOSSES
    if cancelled:
        return {"cancelled", "failed"} if for_good else {"cancelled"}
    return {"failed"} if for_good else {"success"}
