"""How a task has to end, read naively off the rules and its history: what the duties are compared with."""

from __future__ import annotations

from typing import Any

BAD = {"failed", "upstream_failed", "cancelled", "removed"}
LOSSES = 5


def brute_verdict(rule: str, states: list[tuple[str, bool]]) -> str:
    """The rule over the final states of all upstream (state, is it the same step), read off S-108 and the design."""
    if not states:
        return "run"
    kinds = ["bad" if s in BAD else "skipped" if s == "skipped" and not same else "good" for s, same in states]
    good, bad, skipped = (kind in kinds for kind in ("good", "bad", "skipped"))
    runs = {
        "all_success": not bad and not skipped,
        "all_done": True,
        "all_failed": not good and not skipped,
        "all_skipped": not good and not bad,
        "one_success": good,
        "one_failed": bad,
        "one_done": good or bad,
        "none_failed": not bad,
        "none_failed_min_one_success": good and not bad,
        "none_skipped": not skipped,
        "always": True,
    }[rule]
    if runs:
        return "run"
    wants_success = rule in ("all_success", "one_success", "none_failed", "none_failed_min_one_success")
    return "upstream_failed" if bad and wants_success else "skipped"


def brute_end(row: dict[str, Any], cells: list[dict[str, Any]], ends: list[str], cancelled: bool) -> set[str]:
    """The states that a task which was allowed to run may end in, by the history of its attempts."""
    if cells and all(own["state"] in ("published", "unchanged", "skipped") for own in cells):
        made = any(own["state"] != "skipped" for own in cells)
        return {"success"} if made else {"skipped"}
    retries = row["retry"]["max_retries"]
    failures = sum(end in ("failed", "timed_out", "retry_later", "success", "skipped", "broken_wait") for end in ends)
    losses = sum(end in ("lost", "cancelled") for end in ends)
    rejected = (row["error"] or "").startswith("rejected by ")
    for_good = rejected or {"failed_for_good", "late_wait"} & set(ends) or failures > retries or losses > LOSSES
    if cancelled:
        return {"cancelled", "failed"} if for_good else {"cancelled"}
    return {"failed"} if for_good else {"success"}
