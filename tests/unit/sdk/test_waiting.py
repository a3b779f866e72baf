"""`wait_for=` and `context.defer` in one process: what is refused, what is handed over, what a second pass sees."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from partita.assets import DefinitionError
from partita.assets.wait_specs import fill, fill_known
from partita.sdk import Context, Daily, Relation, Static, asset, materialize, triggers
from partita.sdk.testing import Deferred, make_context
from partita.sdk.triggers import FileExists
from partita.sdk.watching import Trigger, Watch, args_of, path_of, trigger_at

ROWS = Relation.from_rows([{"n": 1}])


class Never(Trigger):
    """A trigger of the tests: not there, however often it is asked."""

    name: str = "it"

    async def check(self) -> None:
        return None


class Counts(Trigger):
    """Fires with a list; counts how often it was asked in a file."""

    file: str

    async def check(self) -> list[int]:
        with open(self.file, "a") as file:  # noqa: ASYNC230 - a few bytes
            file.write("x")
        return [1, 2]


class Odd(Trigger):
    async def check(self) -> Any:
        return {1, 2}


def test_a_wait_needs_a_deadline() -> None:
    with pytest.raises(DefinitionError, match=r'write FileExists\(\.\.\.\)\.within\("6h"\)'):
        asset(key="a", wait_for=FileExists("/in"))(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="a deadline is longer than nothing"):
        FileExists("/in").within(0)


def test_texts_name_only_what_the_partition_has() -> None:
    def orders() -> Relation:
        return ROWS

    with pytest.raises(
        DefinitionError, match=r"waits for something of \{start\}.*may name \{partition\}$|double a brace"
    ):
        asset(partitions=Static("a"), wait_for=FileExists("{start}").within("1h"))(orders)
    asset(partitions=Daily("2026-03-01"), wait_for=FileExists("{start:%Y}/{partition}").within("1h"))(orders)


def test_a_trigger_is_found_again_by_path_and_arguments() -> None:
    trigger = FileExists("/in/*.csv", at_least=2)
    assert trigger_at(path_of(FileExists), args_of(trigger)) == trigger

    class Inner(Trigger):
        pass

    with pytest.raises(DefinitionError, match="top level of a module"):
        path_of(Inner)
    with pytest.raises(DefinitionError, match="arguments are not JSON"):
        args_of(triggers.JobDone("m:f", {"at": datetime.now(UTC)}))


def test_the_partition_is_filled_in() -> None:
    names: dict[str, str | datetime] = {"partition": "2026-03-01", "start": datetime(2026, 3, 1, tzinfo=UTC)}
    assert fill({"a": ["{partition}", "{{x}}"], "n": 3}, names) == {"a": ["2026-03-01", "{x}"], "n": 3}
    assert fill_known("{partition} {'k': 1}", names) == "2026-03-01 {'k': 1}"


def test_a_step_waits_before_it_starts_and_sees_what_came(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()

    @asset(partitions=Static("a", "b"), wait_for=FileExists(f"{tmp_path}/{{partition}}.csv").within("1h"))
    def loaded(context: Context) -> Relation:
        return Relation.from_rows([{"path": context.events[0].payload[0]}])

    made = materialize(loaded, partitions="a")
    assert made.read(loaded).scalar() == str(tmp_path / "a.csv")


def test_what_does_not_come_in_time_fails_with_its_name() -> None:
    @asset(wait_for=Never().within("20ms", poll="5ms"))
    def late() -> Relation:
        raise AssertionError("it must not start")

    made = materialize(late, raise_on_error=False)
    (_, result), *_ = made.failures
    assert "Never(name='it') did not come within 0.02 s" in result.error


def test_a_deferred_step_is_called_again_with_the_payload(tmp_path: Path) -> None:
    passes: list[int] = []

    @asset
    def counted(context: Context) -> Relation:
        passes.append(len(context.deferred))
        one = context.defer(Counts(str(tmp_path / "one")), deadline="1h")
        two = context.defer(Counts(str(tmp_path / "two")), deadline="1h")
        return Relation.from_rows([{"n": sum(one + two)}])

    assert materialize(counted).read(counted).scalar() == 6
    assert passes == [0, 1, 2]
    assert [(tmp_path / name).read_text() for name in ("one", "two")] == ["x", "x"], "an event is waited for once"


def test_an_async_step_awaits(tmp_path: Path) -> None:
    @asset
    async def counted(context: Context) -> Relation:
        got = await context.defer(Counts(str(tmp_path / "one")), deadline="1h")
        return Relation.from_rows([{"n": sum(got)}])

    assert materialize(counted).read(counted).scalar() == 3


def test_the_same_trigger_twice_is_waited_for_twice() -> None:
    context = make_context(deferred=[(Never("a"), 1)])
    assert context.defer(Never("a"), deadline=1) == 1
    with pytest.raises(Deferred) as raised:
        context.defer(Never("a"), deadline=1)
    assert raised.value.deferral.place == 1


def test_another_trigger_than_the_one_that_fired_is_a_new_wait() -> None:
    context = make_context(deferred=[(Never("job-1"), "done")])
    assert context.deferred[0].trigger == Never("job-1")
    with pytest.raises(Deferred, match="waits for Never"):
        context.defer(Never("job-2"), deadline=1)


def test_catching_the_end_of_the_attempt_is_told() -> None:
    @asset
    def stubborn(context: Context) -> Relation:
        with contextlib.suppress(BaseException):
            context.defer(Never(), deadline=1)
        return ROWS

    made = materialize(stubborn, raise_on_error=False)
    assert "caught the end of its attempt at context.defer()" in made.failures[0][1].error


def test_except_exception_does_not_swallow_it(tmp_path: Path) -> None:
    @asset
    def careless(context: Context) -> Relation:
        try:
            got = context.defer(Counts(str(tmp_path / "one")), deadline="1h")
        except Exception:
            return ROWS
        return Relation.from_rows([{"n": len(got)}])

    assert materialize(careless).read(careless).scalar() == 2


def test_a_payload_is_json() -> None:
    @asset
    def odd(context: Context) -> Relation:
        context.defer(Odd(), deadline="1h")
        return ROWS

    assert "payload that is not JSON" in materialize(odd, raise_on_error=False).failures[0][1].error


def test_pauses_differ_by_up_to_a_tenth() -> None:
    watch = Watch(datetime.now(UTC), 300.0, 1.1)
    assert watch._pause_s == pytest.approx(330.0)


def test_time_triggers_say_when() -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    watch = Watch(since, 60.0)
    assert asyncio.run(triggers.After("1h").fired(watch)) == "2026-03-01T01:00:00+00:00"
    assert asyncio.run(triggers.At("2026-03-01T02:00:00+01:00").fired(watch)) == "2026-03-01T01:00:00+00:00"
