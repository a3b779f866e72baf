"""The pure half of the command line: options, states, errors, progress, what check finds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import AssetSpec, Snapshot, asset_key
from partita.grpc.client import LocationUnavailable
from partita.grpc.v1 import code_location_pb2 as pb
from partita.ui.api.models import ComponentView, PlanRequest
from partita.ui.cli.check_rules import CheckedLocation, CheckedModule, fails, findings_of
from partita.ui.cli.follow import done_of, note_of, warnings
from partita.ui.cli.loading import loaded
from partita.ui.cli.options import Asked, known_state, modes, params
from partita.ui.cli.output import ago, counts_text, error_line, plain, problem_lines, state_text
from partita.ui.cli.problems import UsageProblem, explained

AT = datetime(2024, 1, 1, tzinfo=UTC)


def test_the_options_are_the_body_of_the_plan_request() -> None:
    """One request, whoever asks: the API validates the very same fields."""
    asked = Asked(
        "raw/*", lower="2013-01-01", upper="2013-01-31", mode="missing, failed", upstream=True, params=["days=7"]
    )
    request = PlanRequest.model_validate(asked.request("backfill"))
    assert (request.selection, request.from_key, request.to_key) == ("raw/*", "2013-01-01", "2013-01-31")
    assert (request.mode, request.intent, request.params) == (["missing", "failed"], "backfill", {"days": 7})


@given(key=st.text(min_size=1))
def test_one_partition_is_quoted_whatever_it_holds(key: str) -> None:
    """Law 9: no character of a key is grammar."""
    text = Asked("a", partition=key).request("run")["partitions"]
    assert json.loads(text) == key


def test_two_ways_to_say_which_partitions_are_refused() -> None:
    with pytest.raises(UsageProblem, match="--partitions and --from/--to are given together"):
        Asked("a", partitions="all", lower="2013").request("run")


@pytest.mark.parametrize(
    ("text", "found"), [("all", ["all"]), ("stale,failed", ["stale", "failed"]), ("stale,,stale", ["stale"])]
)
def test_modes(text: str, found: list[str]) -> None:
    assert modes(text) == found


@pytest.mark.parametrize("text", ["", "misssing", "all,failed"])
def test_modes_that_mean_nothing_are_refused_with_the_rule(text: str) -> None:
    with pytest.raises(UsageProblem, match="it is some of missing,failed,stale, or all"):
        modes(text)


def test_params_are_json_else_text() -> None:
    assert params(["n=7", "name=Ann", 'list=["a"]', "flag=true", "empty="]) == {
        "n": 7,
        "name": "Ann",
        "list": ["a"],
        "flag": True,
        "empty": "",
    }
    with pytest.raises(UsageProblem, match="NAME=VALUE"):
        params(["seven"])


def test_a_state_is_a_glyph_and_a_word() -> None:
    """UI.md: never colour alone."""
    assert state_text("upstream_stale").plain == "◌ upstream stale"
    assert counts_text({"missing": 3, "fresh": 1_200}).plain == "● fresh 1,200  ○ missing 3"


def test_errors_say_what_rule_and_fix() -> None:
    told = explained(UsageProblem("what", rule="rule", fix="fix"))
    assert told is not None
    assert problem_lines(told) == ["what", "  rule: rule", "  fix:  fix"]
    assert explained(ValueError("a bug")) is None
    with pytest.raises(ValueError, match="mode") as caught:
        PlanRequest.model_validate({"selection": "a", "mode": ["never"]})
    told = explained(caught.value)
    assert told is not None
    assert told["what"].startswith("mode.0")


def test_a_state_that_nothing_can_be_in_is_refused() -> None:
    """It would look like an empty list."""
    states = ("running", "failed")
    assert known_state(None, states) is None
    assert known_state("failed", states) == "failed"
    with pytest.raises(UsageProblem, match="did you mean 'failed'"):
        known_state("fialed", states)


def test_a_database_that_is_away_is_told_in_the_words_of_its_driver() -> None:
    away = psycopg.OperationalError("connection failed:\n\tConnection refused")
    told = explained(away)
    assert told is not None
    assert told["what"] == "the database does not answer: connection failed: Connection refused"
    assert "PARTITA_DATABASE_URL" in told["fix"]


def test_values_become_plain_json() -> None:
    assert plain({"at": AT, "rows": [AT]}) == {"at": "2024-01-01T00:00:00+00:00", "rows": ["2024-01-01T00:00:00+00:00"]}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "now"), (59, "59 s ago"), (3_700, "1 h ago"), (200_000, "2 d ago"), (-120, "in 2 min")]
)
def test_times_are_relative(seconds: float, text: str) -> None:
    assert ago(AT - timedelta(seconds=seconds), AT) == text


def test_progress_counts_what_has_ended_and_names_what_went_wrong() -> None:
    counts = {"fresh": 3, "failed": 2, "running": 1, "scheduled": 4, "upstream_failed": 1}
    assert done_of(counts) == 6
    assert note_of(counts) == "1 running, 2 failed, 1 upstream failed"


def component(kind: str, state: Any) -> ComponentView:
    return ComponentView(kind=kind, name=kind, state=state, last_seen_at=None, symptom=None)


def test_waiting_says_what_will_keep_it_from_moving() -> None:
    alive = [component("scheduler", "ok"), component("code-server", "ok")]
    [told] = warnings([*alive, component("worker", "down")])
    assert told == "no worker is alive: nothing will move; start `partita dev`, or `partita worker`"


def location(*modules: CheckedModule, assets: tuple[AssetSpec, ...] = ()) -> CheckedLocation:
    return CheckedLocation("shop", modules, Snapshot(location="shop", assets=assets))


def test_check_fails_for_what_would_break_and_warns_of_policy() -> None:
    """S-062, S-063, S-239, S-244."""
    slow = CheckedModule("shop.slow", True, "", 9.0)
    broken = CheckedModule("shop.broken", False, "ImportError: no module named 'oops'", 0.1)
    owned = AssetSpec(key=asset_key("a"), owner="team:ops")
    free, external = AssetSpec(key=asset_key("b")), AssetSpec(key=asset_key("c"), kind="external")
    findings = findings_of([location(slow, broken, assets=(owned, free, external))], ["a cycle"], max_import_s=5)
    assert [(one.severity, one.code, one.subject) for one in findings] == [
        ("error", "module_broken", "shop.broken"),
        ("error", "not_sound", ""),
        ("warning", "slow_import", "shop.slow"),
        ("warning", "no_owner", "b"),
    ]
    assert fails(findings, strict=False)
    policy = findings_of([location(slow)], [], max_import_s=5)
    assert not fails(policy, strict=False)
    assert fails(policy, strict=True)
    assert findings_of([location(CheckedModule("m", True, "", 0.1), assets=(owned,))], [], max_import_s=5) == []


class Late:
    """A client whose first connection gets no answer."""

    address = "127.0.0.1:1"

    def __init__(self) -> None:
        self.calls = 0

    async def watch(self) -> AsyncGenerator[pb.LocationStatus]:
        self.calls += 1
        if self.calls == 1:
            raise LocationUnavailable(self.address, "no answer")
        yield pb.LocationStatus(loading=True)
        yield pb.LocationStatus(active_version="v1")

    async def definitions(self, version: str) -> tuple[str, bytes | None]:
        return version, b"body"


def test_check_connects_again_while_the_server_lives_and_not_after_its_end() -> None:
    lives: Any = Late()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        status, body = asyncio.run(loaded(lives, process))
        process.communicate(b"\n")
    assert (status.active_version, body, lives.calls) == ("v1", b"body", 2)
    gone: Any = Late()
    with pytest.raises(LocationUnavailable):
        asyncio.run(loaded(gone, process))


def test_an_error_is_told_by_its_first_line() -> None:
    """DuckDB points at the place in the query with a caret on the last line."""
    error = 'ParserException: syntax error at or near "form"\n\nLINE 1: select * form t\n                 ^'
    assert error_line(error) == 'ParserException: syntax error at or near "form"'
    assert error_line("x" * 5_000) == "x" * 499 + "…"
    assert error_line(None) == ""


def test_a_folder_of_somebody_else_is_named() -> None:
    told = explained(PermissionError(13, "Permission denied", "/srv/home/logs"))
    assert told is not None
    assert "/srv/home/logs" in told["what"]
