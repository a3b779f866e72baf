"""Trigger rules against their meanings in words, over every way in which three upstream tasks can end (S-003, S-108)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import get_args

import pytest

from partita.assets import TriggerRule
from partita.core.decide.rules import RULES, Ends, Verdict, verdict

GOOD, BAD, SKIPPED = "good", "bad", "skipped"
WAYS = [list(ends) for n in (1, 2, 3) for ends in product([GOOD, BAD, SKIPPED], repeat=n)]

# When it runs, once all have ended, said anew.
RUNS: dict[str, Callable[[list[str]], bool]] = {
    "all_success": lambda ends: all(end == GOOD for end in ends),
    "all_done": lambda ends: True,
    "all_failed": lambda ends: all(end == BAD for end in ends),
    "all_skipped": lambda ends: all(end == SKIPPED for end in ends),
    "one_success": lambda ends: GOOD in ends,
    "one_failed": lambda ends: BAD in ends,
    "one_done": lambda ends: GOOD in ends or BAD in ends,
    "none_failed": lambda ends: BAD not in ends,
    "none_failed_min_one_success": lambda ends: BAD not in ends and GOOD in ends,
    "none_skipped": lambda ends: SKIPPED not in ends,
    "always": lambda ends: True,
}
# Those that want success, and so pass a failure on; the others are skipped when they do not run.
PASS_FAILURE_ON = {"all_success", "one_success", "none_failed", "none_failed_min_one_success"}


def decided(rule: str, ends: list[str], waiting: int = 0) -> Verdict:
    return verdict(rule, Ends(waiting, ends.count(GOOD), ends.count(BAD), ends.count(SKIPPED)))


def test_the_rules_are_those_that_user_code_may_name() -> None:
    assert list(RULES) == list(RUNS) == list(get_args(TriggerRule))


@pytest.mark.parametrize("rule", RULES)
def test_once_all_upstream_has_ended_each_rule_does_what_its_name_says(rule: str) -> None:
    for ends in WAYS:
        if RUNS[rule](ends):
            assert decided(rule, ends) is Verdict.RUN, ends
        elif BAD in ends and rule in PASS_FAILURE_ON:
            assert decided(rule, ends) is Verdict.UPSTREAM_FAILED, ends
        else:
            assert decided(rule, ends) is Verdict.SKIPPED, ends


@pytest.mark.parametrize("rule", RULES)
def test_an_early_decision_is_never_taken_back_whatever_ends_later(rule: str) -> None:
    for ends in WAYS:
        for n in range(len(ends)):
            early = decided(rule, ends[:n], waiting=len(ends) - n)
            assert early in (Verdict.WAIT, decided(rule, ends)), (ends, n)


@pytest.mark.parametrize(
    ("rule", "ends"),
    [("one_success", [GOOD]), ("one_failed", [BAD]), ("one_done", [BAD]), ("always", []), ("all_success", [BAD])],
)
def test_what_is_certain_is_decided_without_waiting_for_the_rest(rule: str, ends: list[str]) -> None:
    assert decided(rule, ends, waiting=5) is not Verdict.WAIT


def test_a_skip_waits_where_a_failure_could_still_outweigh_it() -> None:
    for rule in PASS_FAILURE_ON:
        assert decided(rule, [SKIPPED], waiting=1) is Verdict.WAIT


def test_an_unknown_rule_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"'sometimes'.*all_success"):
        decided("sometimes", [])
