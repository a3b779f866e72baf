"""Trigger rules: what a task does once it knows how its upstream tasks ended. Pure.

A task keeps four counts of its direct upstream: still `waiting`, ended `good` (success, `unchanged` among them), `bad` (failed,
upstream_failed, cancelled, removed) and `skipped`. The rules are the field's (S-003, S-108). Three things hold for all of them:

- What a rule needs decides as early as it is certain, and nothing that ends later takes it back: `one_success` starts at the
  first success, `all_success` ends at the first failure.
- The order of the ends never decides between two outcomes. So a skip waits until all upstream has ended wherever a failure
  could still outweigh it.
- `always` waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What becomes of the task; all but `WAIT` are final."""

    WAIT = "wait"
    RUN = "run"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"


@dataclass(frozen=True, slots=True)
class Ends:
    """How the direct upstream of a task stands."""

    waiting: int
    good: int = 0
    bad: int = 0
    skipped: int = 0


def _all_success(t: Ends) -> Verdict:
    if t.bad:
        return Verdict.UPSTREAM_FAILED
    return _at_the_end(t, Verdict.SKIPPED if t.skipped else Verdict.RUN)


def _all_done(t: Ends) -> Verdict:
    return _at_the_end(t, Verdict.RUN)


def _all_failed(t: Ends) -> Verdict:
    return Verdict.SKIPPED if t.good or t.skipped else _at_the_end(t, Verdict.RUN)


def _all_skipped(t: Ends) -> Verdict:
    return Verdict.SKIPPED if t.good or t.bad else _at_the_end(t, Verdict.RUN)


def _one_success(t: Ends) -> Verdict:
    if t.good:
        return Verdict.RUN
    return _at_the_end(t, Verdict.UPSTREAM_FAILED if t.bad else Verdict.SKIPPED)


def _one_failed(t: Ends) -> Verdict:
    return Verdict.RUN if t.bad else _at_the_end(t, Verdict.SKIPPED)


def _one_done(t: Ends) -> Verdict:
    # A skip is no "done": nothing was tried.
    return Verdict.RUN if t.good or t.bad else _at_the_end(t, Verdict.SKIPPED)


def _none_failed(t: Ends) -> Verdict:
    return Verdict.UPSTREAM_FAILED if t.bad else _at_the_end(t, Verdict.RUN)


def _none_failed_min_one_success(t: Ends) -> Verdict:
    if t.bad:
        return Verdict.UPSTREAM_FAILED
    return _at_the_end(t, Verdict.RUN if t.good else Verdict.SKIPPED)


def _none_skipped(t: Ends) -> Verdict:
    return Verdict.SKIPPED if t.skipped else _at_the_end(t, Verdict.RUN)


def _always(_: Ends) -> Verdict:
    return Verdict.RUN


def _at_the_end(t: Ends, then: Verdict) -> Verdict:
    return Verdict.WAIT if t.waiting else then


RULES: dict[str, Callable[[Ends], Verdict]] = {
    "all_success": _all_success,
    "all_done": _all_done,
    "all_failed": _all_failed,
    "all_skipped": _all_skipped,
    "one_success": _one_success,
    "one_failed": _one_failed,
    "one_done": _one_done,
    "none_failed": _none_failed,
    "none_failed_min_one_success": _none_failed_min_one_success,
    "none_skipped": _none_skipped,
    "always": _always,
}
"""Every rule by its name; a task without upstream runs under each of them."""


def verdict(rule: str, tally: Ends) -> Verdict:
    """What the rule says of these ends. Raises ValueError for a name that is no rule.

    >>> verdict("all_success", Ends(waiting=1, good=1, bad=1))
    <Verdict.UPSTREAM_FAILED: 'upstream_failed'>
    >>> verdict("one_failed", Ends(waiting=2, good=1))
    <Verdict.WAIT: 'wait'>
    """
    try:
        decide = RULES[rule]
    except KeyError:
        raise ValueError(f"trigger rule {rule!r}: one of {', '.join(RULES)}") from None
    return decide(tally)
