"""Alerts over the store in memory with virtual time: one notice per cause, to whom it concerns, and no more than needed (S-202,
S-206)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.alerts.alert_world import alerts_of, rule
from tests.unit.duties.duty_world import START, World, cell, report, step

from partita.core.alerts import people
from partita.core.alerts.decide import TRIES
from partita.core.alerts.people import AlertRefused
from partita.core.config_alerts import MaintenanceConfig
from partita.core.duties.deadlines import judge_deadlines
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import LaunchTask
from partita.core.duties.values_attempts import CellOutcome, CheckResult
from partita.core.store.values import AttemptOutcome
from partita.core.store.values_alerts import AlertId

OPS = {"team:ops": {"to": ("mailto://ops",)}}


def fail(world: World, *tasks: LaunchTask, error: str = "no such table\nat line 3") -> dict[str, Any]:
    """Launches, starts and fails every task once."""
    world.launch(*tasks)
    started = world.start()
    world.finish(*(report(one, AttemptOutcome.FAILED, error=error) for one in started.values()))
    return started


def make(world: World, *tasks: LaunchTask) -> None:
    world.launch(*tasks)
    world.run_all()


def test_retries_exhausted_tells_the_owner_once(world: World) -> None:
    """S-154, S-202."""
    alerts = alerts_of(world, rule(), owners=OPS)
    fail(world, step(1), step(3))
    assert alerts.told() == ["[warning] s1 failed and is not tried again: no such table"]
    assert alerts.sent[0].url == "mailto://ops"
    assert alerts.told() == [], "told once"
    assert {row["subject"] for row in alerts.alerts()} == {"s1", "s3"}, "an alert that nobody is sent is still seen"


def test_many_cells_that_fail_together_are_one_notice(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    several = [f"p{n:03}" for n in range(400)]
    fail(world, step(1, partitions=several), step(2, partitions=several), step(3, partitions=several[:12]))
    (title,) = alerts.told()
    assert title == "[warning] 812 cells of 3 assets failed"
    assert "s1: 400 cells failed, such as s1 p000 failed and is not tried again: no such table" in alerts.sent[0].body
    assert len(alerts.alerts()) == 812


def test_a_failed_attempt_and_the_last_one_are_told_apart(world: World) -> None:
    """S-114: a failed attempt is told, whatever becomes of its run. S-206: a rule may be about attempts."""
    alerts = alerts_of(
        world, rule("all", "failed", to=("json://all",)), rule("end", "retries_exhausted", to=("json://end",))
    )
    fail(world, step(1, retries=1))
    assert alerts.told() == ["[warning] an attempt at s1 failed: no such table"]
    assert [one.url for one in alerts.sent] == ["json://all"]


def test_what_is_lost_is_no_failure_of_the_code(world: World) -> None:
    alerts = alerts_of(world, rule("all", "failed", to=("json://all",)))
    world.launch(step(1))
    started = world.start()
    world.finish(report(started["s1"], AttemptOutcome.LOST, error="the worker went"))
    assert alerts.told() == []


def test_a_cause_that_ended_before_it_was_due_tells_nobody(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",), recovery=True))
    fail(world, step(1))
    alerts.raised()
    world.clock.forward(1)
    make(world, step(1))
    alerts.watch()
    world.clock.forward(60)
    assert alerts.deliver().dropped == 1
    assert alerts.told() == [], "and no recovery of what nobody heard of"


def test_recovery_is_told_to_those_who_heard_of_it_where_the_rule_asks(world: World) -> None:
    alerts = alerts_of(world, rule("loud", to=("json://a",), recovery=True), rule("quiet", to=("json://b",)))
    fail(world, step(1))
    assert len(alerts.told()) == 2
    make(world, step(1))
    assert alerts.watch().ended == 1
    assert alerts.told() == ["[over] s1 failed and is not tried again: no such table"]
    assert alerts.sent[-1].url == "json://a"
    fail(world, step(1, reason="forced"))
    assert len(alerts.told()) == 2, "what comes again after its end is another cause"


def test_a_cause_that_is_met_again_is_counted_and_not_told_again(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    for _ in range(3):
        fail(world, step(1))
        alerts.told()
    assert [row["times"] for row in alerts.alerts()] == [3]
    assert len(alerts.sent) == 1


def test_a_target_hears_at_its_pace_and_of_everything(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",), wait="5s", every="10m"))
    fail(world, step(1))
    assert len(alerts.told(5)) == 1
    for n in (2, 3, 4):
        fail(world, step(n))
        assert alerts.told(60) == []
    assert alerts.told(600) == ["[warning] 3 cells of 3 assets failed"]


def test_two_rules_that_mean_one_target_send_it_one_notice(world: World) -> None:
    alerts = alerts_of(world, rule("one"), rule("two", severity="critical"), owners=OPS)
    fail(world, step(1))
    assert alerts.told() == ["[critical] s1 failed and is not tried again: no such table"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"assets": "owner:team:bi"}, ["s3"]),
        ({"owner": "team:bi"}, ["s3"]),
        ({"assets": "s1 or s4"}, ["s1", "s4"]),
        ({"assets": "no_such_asset"}, ["s1", "s3", "s4"]),  # too much rather than nothing
    ],
)
def test_a_rule_is_about_the_assets_it_selects(world: World, more: dict[str, Any], told: list[str]) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",), **more))
    fail(world, step(1), step(3), step(4))
    alerts.told()
    assert [row["subject"] for row in alerts.alerts()] == told


def test_everybody_hears_of_what_has_no_owner_of_its_own(world: World) -> None:
    alerts = alerts_of(world, rule(), owners={**OPS, "*": {"to": ("json://all",), "runbook": "https://wiki/oncall"}})
    fail(world, step(1), step(3), step(4))
    assert sorted(alerts.told()) == [
        "[warning] 2 cells of 2 assets failed",
        "[warning] s1 failed and is not tried again: no such table",
    ]
    assert "runbook: https://wiki/oncall" in next(one.body for one in alerts.sent if one.url == "json://all")


def test_without_rules_what_needs_a_person_is_raised(world: World) -> None:
    alerts = alerts_of(world)
    fail(world, step(1))
    alerts.raised()
    assert [(row["kind"], row["rules"]) for row in alerts.alerts()] == [("retries_exhausted", ["default"])]


# ------------------------------------------------------------------------------------------------- kinds
def test_a_failed_check_is_told_also_where_the_data_is_published(world: World) -> None:
    alerts = alerts_of(world, rule("checks", "check_failed", to=("json://hook",)))
    world.launch(step(1))
    started = world.start()["s1"]
    world.finish(report(started, checks=(CheckResult(cell(1), "not_empty", passed=False, blocking=False),)))
    assert alerts.told() == ["[warning] s1 fails the check not_empty"]
    assert alerts.watch().ended == 0, "that publication is the one that failed it"
    make(world, step(1, reason="forced"))
    assert alerts.watch().ended == 1


def test_a_missed_deadline_is_told_and_ends_when_the_data_comes(world: World) -> None:
    """S-203."""
    alerts = alerts_of(world, rule("late", "late", to=("json://hook",), recovery=True))
    world.launch(replace(step(1), deadline_s=60.0))
    started = world.start()["s1"]
    world.clock.forward(61)
    world.finish(report(started))  # after the deadline, before anybody looked
    assert judge_deadlines(world.store).missed == 1
    alerts.raised()
    assert alerts.watch().ended == 1, "it came after all"


def test_a_step_that_waits_for_too_long_is_told_once_for_all_its_tasks(world: World) -> None:
    """S-163, S-206: nothing fails, and nothing moves."""
    alerts = alerts_of(world, rule("stuck", "blocked", to=("json://hook",), blocked_after="1h"))
    made = world.launch(step(1), step(2, 0, partitions=["a", "b"]))
    world.start()
    world.clock.forward(3_599)
    assert alerts.watch().raised == 0
    world.clock.forward(2)
    assert alerts.watch().raised == 1
    assert alerts.watch().raised == 0
    (title,) = alerts.told()
    assert title == (f"[warning] s2 waits since {START:%Y-%m-%d %H:%M:%S} UTC in run {made.run_id}: 1 task, upstream")
    (running,) = [one for one in world.rows("task") if one["state"] == "running"]
    assert running["step"] == "s1"


def test_a_failed_run_is_told_and_over_when_all_of_it_was_made(world: World) -> None:
    alerts = alerts_of(world, rule("runs", "run_failed", to=("json://hook",), owner="team:ops"))
    fail(world, step(1), step(3, 0))
    fold_tallies(world.store)
    assert alerts.told() == ["[warning] run 1 failed: 1 failed, 1 upstream failed"]
    make(world, step(1))
    assert alerts.watch().ended == 0
    make(world, step(3))
    assert alerts.watch().ended == 1


# ------------------------------------------------------------------------------------------------- people
def test_what_somebody_knows_is_sent_no_more(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",), recovery=True))
    fail(world, step(1))
    alerts.raised()
    (row,) = alerts.alerts()
    assert people.acknowledge(world.store, [row["id"]], who="ada", note="the source is late").ids == (row["id"],)
    assert alerts.told() == []
    make(world, step(1))
    assert alerts.watch().ended == 1
    assert alerts.told() == [], "nor that it is over"
    assert "alert_ack" in {one["action"] for one in world.rows("audit")}


def test_a_snooze_ends_and_what_did_not_is_told_again(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1), step(2))
    assert len(alerts.told()) == 1
    people.snooze(world.store, [row["id"] for row in alerts.alerts()], for_s=3600, who="ada")
    make(world, step(2))
    world.clock.forward(3599)
    alerts.watch()
    assert alerts.told(0) == []
    world.clock.forward(1)
    alerts.watch()
    assert alerts.told() == ["[warning] s1 failed and is not tried again: no such table"]
    alerts.watch()
    assert alerts.told() == []


def test_unknown_alerts_change_nothing(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    alerts.raised()
    with pytest.raises(AlertRefused, match="there is no alert 99"):
        people.acknowledge(world.store, [AlertId(1), AlertId(99)], who="ada")
    assert len(alerts.told()) == 1


@pytest.mark.parametrize("by_hand", [True, False])
def test_in_a_maintenance_window_notices_wait_for_its_end(world: World, by_hand: bool) -> None:
    end = START + timedelta(hours=2)
    window = MaintenanceConfig(name="upgrade", assets="s1", start=START, end=end)
    alerts = alerts_of(world, rule(to=("json://hook",)), windows=() if by_hand else (window,))
    if by_hand:
        people.hold_back(world.store, "s1", for_s=7200, who="ada", reason="upgrade")
    fail(world, step(1), step(2))
    assert alerts.told() == ["[warning] s2 failed and is not tried again: no such table"]
    world.clock.forward(7200 - 60)
    alerts.watch()
    assert alerts.told() == ["[warning] s1 failed and is not tried again: no such table"]


def test_a_window_that_is_ended_by_hand_lets_go_what_it_held(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    made = people.hold_back(world.store, "*", for_s=7200, who="ada", reason="upgrade")
    fail(world, step(1))
    assert alerts.told() == []
    people.end_hold(world.store, made, who="ada")
    alerts.watch()
    assert len(alerts.told()) == 1
    with pytest.raises(AlertRefused, match="no open maintenance window"):
        people.end_hold(world.store, made, who="ada")


# ------------------------------------------------------------------------------------------------- delivery
def test_a_target_that_takes_nothing_is_tried_later_and_given_up_in_the_end(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://a", "json://b")))
    alerts.down["json://a"] = "connection refused"
    fail(world, step(1))
    assert len(alerts.told()) == 1, "the other target is not kept waiting"
    waits = []
    for _ in range(TRIES - 1):
        (row,) = [one for one in world.rows("notice") if one["state"] == "pending"]
        waits.append((row["due_at"] - world.clock.now).total_seconds())
        world.clock.forward(waits[-1])
        alerts.deliver()
    (row,) = [one for one in world.rows("notice") if one["state"] == "failed"]
    assert (row["tries"], row["error"]) == (TRIES, "connection refused")
    assert waits == [15 * 2**n for n in range(TRIES - 1)]


def test_a_notice_whose_sender_died_is_sent_when_its_lease_is_over_and_counts_the_try(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    alerts.raised()
    world.clock.forward(10)
    with world.store.begin() as tx:
        assert len(tx.claim_notices_skip(5, 60.0)) == 1  # and dies
    assert alerts.deliver().sent == 0
    world.clock.forward(60)
    assert alerts.deliver().sent == 1
    assert [row["tries"] for row in world.rows("notice")] == [2]


def test_what_is_reopened_is_open_at_once_and_told_once_more(world: World) -> None:
    """S-202: whoever takes an acknowledgement back takes back that nobody was told meanwhile."""
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    assert len(alerts.told()) == 1
    [one] = [row["id"] for row in alerts.alerts()]
    people.acknowledge(world.store, [one], who="ada", note="known")
    assert people.reopen(world.store, [one], who="bob").ids == (one,)
    assert people.reopen(world.store, [one], who="bob").ids == (), "it is open"
    [row] = alerts.alerts()
    assert (row["acked_by"], row["note"]) == (None, "")
    alerts.watch()
    assert alerts.told() == ["[warning] s1 failed and is not tried again: no such table"]
    alerts.watch()
    assert alerts.told() == []
    make(world, step(1))
    alerts.watch()
    assert people.reopen(world.store, [one], who="bob").ids == (), "it is over"


def test_a_sender_that_comes_back_after_its_lease_overwrites_nothing(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    alerts.raised()
    world.clock.forward(10)
    plain = alerts.send

    def slow(*message: Any) -> str | None:
        world.clock.forward(60)
        alerts.send = plain  # type: ignore[method-assign]
        assert alerts.deliver().sent == 1
        return "timed out"

    alerts.send = slow  # type: ignore[method-assign]
    assert alerts.deliver().again == 0
    assert [row["state"] for row in world.rows("notice")] == ["sent"]


def test_a_place_that_is_gone_from_the_configuration_says_so(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    alerts.raised()
    alerts.routing = alerts_of(world, rule("other")).routing
    world.clock.forward(60)
    alerts.deliver()
    (error,) = [row["error"] for row in world.rows("notice")]
    assert "the configuration that the scheduler started with names no alert:nightly#1" in error


def test_a_rule_is_tried_through_the_same_outbox(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://a", "json://b")))
    people.try_rule(world.store, alerts.routing, "nightly", [], who="ada")
    assert alerts.deliver().sent == 2
    assert {one.title for one in alerts.sent} == {"[test] partita can reach you"}
    with pytest.raises(AlertRefused, match="no alert rule 'nigthly'"):
        people.try_rule(world.store, alerts.routing, "nigthly", [], who="ada")
    with pytest.raises(AlertRefused, match="nobody is told"):
        people.try_rule(world.store, alerts_of(world, rule()).routing, "nightly", [], who="ada")


def test_what_is_old_is_forgotten(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    fail(world, step(1))
    alerts.told()
    make(world, step(1))
    alerts.watch()
    world.clock.forward(30 * 86_400 + 1)
    alerts.watch()
    assert [world.rows(name) for name in ("alert", "notice", "notice_item")] == [[], [], []]


def test_cells_that_an_attempt_did_make_are_not_alerted(world: World) -> None:
    alerts = alerts_of(world, rule(to=("json://hook",)))
    world.launch(step(1, partitions=["a", "b"]))
    started = world.start()["s1"]
    kinds = {cell(1, "a"): CellOutcome.WRITTEN, cell(1, "b"): CellOutcome.FAILED}
    world.finish(report(started, kinds=kinds))
    alerts.raised()
    assert [row["partition"] for row in alerts.alerts()] == ["b"]
