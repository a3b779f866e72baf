"""The command line on real Postgres: what it prints, launches, refuses and returns."""

from __future__ import annotations

import json
import signal
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from partita.ui.cli import follow

Partita = Callable[..., tuple[int, str, str]]


@contextmanager
def worker(world: Any, **options: Any) -> Iterator[None]:
    """Something that makes what is launched, beside the command that waits for it."""
    stopping = threading.Event()

    def loop() -> None:
        while not stopping.is_set():
            if not world.work(**options):
                stopping.wait(0.05)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(60)


def test_plan_shows_and_changes_nothing(world: Any, partita: Partita) -> None:
    world.activate()
    code, out, _ = partita("plan", "raw/flights", "--from", "2013-01-01", "--to", "2013-01-03")
    assert code == 0
    assert out.splitlines()[0] == "Materialize 3 cells of 1 asset: 3 missing"
    code, out, _ = partita("plan", "raw/flights", "--partition", "2013-01-05", "--json")
    plan = json.loads(out)
    assert (plan["cell_count"], plan["cli"]) == (1, "partita materialize raw/flights --partitions '\"2013-01-05\"'")
    assert world.services.runs.page().total == 0


def test_a_command_that_changes_something_asks_and_without_a_terminal_refuses(world: Any, partita: Partita) -> None:
    """Law 6."""
    world.activate()
    code, out, err = partita("materialize", "raw/flights", "--partition", "2013-01-05")
    assert code == 2
    assert out.startswith("Materialize 1 cell of 1 asset")
    assert "add --yes" in err
    code, out, err = partita("materialize", "raw/flights", "--partition", "2013-01-05", "--json")
    assert json.loads(out)["error"]["fix"].endswith("--yes")
    assert "Materialize 1 cell" in err, "the plan is shown beside the value"
    assert world.services.runs.page().total == 0


def test_materialize_waits_and_tells_the_end(world: Any, partita: Partita) -> None:
    world.activate()
    with worker(world):
        code, out, err = partita(
            "materialize", "delays", "--partitions", "2013-01-01..2013-01-02", "--upstream", "--yes"
        )
    assert code == 0, err
    assert "● success  run 1: 12 of 12 cells published" in out
    assert "raw/flights" in err, "progress is drawn on stderr"
    assert "no scheduler is alive" in err
    code, out, _ = partita("materialize", "delays", "--partitions", "2013-01-01..2013-01-02", "--yes")
    assert (code, out.strip()) == (0, "Nothing to do")
    summary = world.services.runs.summary(1)
    assert summary.cause.kind == "cli"


@pytest.mark.usefixtures("world")
def test_nothing_loaded_is_not_nothing_to_do(partita: Partita) -> None:
    """A pipeline that deploys what does not load must not go on as if all were fresh."""
    code, out, err = partita("materialize", "*", "--partitions", "all", "--yes")
    assert (code, out) == (2, "")
    assert "no asset is known yet" in err
    assert "`partita locations` says what does not load" in " ".join(err.split())


def test_a_plan_as_tree_and_compared_with_an_earlier_one(world: Any, partita: Partita) -> None:
    world.activate()
    code, out, _ = partita("plan", "+delays", "--partitions", "2013-01-01..2013-01-02", "--format", "tree")
    assert code == 0
    assert "└─ delays  2013-01-01..2013-01-02  2 cells: 2 missing" in out
    earlier = out.split()[-1]
    code, out, err = partita("plan", "+delays", "--partitions", "2013-01-02..2013-01-03", "--compare", earlier)
    assert code == 0, err
    told = out.partition(f"compared with plan {earlier}:\n")[2].splitlines()
    assert "  1 cell of delays (2013-01-03) came in" in told
    assert "  1 cell of delays (2013-01-01) dropped out" in told
    code, out, _ = partita(
        "plan", "+delays", "--partitions", "2013-01-01..2013-01-02", "--compare", earlier, "--format", "json"
    )
    assert (code, json.loads(out)["difference"]["same"]) == (0, True)
    code, _, err = partita("plan", "delays", "--format", "tre")
    assert (code, err.splitlines()[0]) == (2, "--format 'tre' is not known")
    code, _, err = partita("plan", "delays", "--format", "tree", "--json")
    assert (code, err.splitlines()[0]) == (2, "--json and --format tree are given together")


def test_everything_blocked_is_exit_code_1_with_the_reason(world: Any, partita: Partita) -> None:
    world.activate()
    code, out, err = partita("materialize", "delays", "--partition", "2013-01-05", "--yes")
    assert code == 1
    assert out.splitlines()[0] == "Nothing to do; 1 cell is blocked"
    assert "nothing can run: 1 cell of delays: raw/flights 2013-01-05 is missing and not in the plan" in err
    code, out, err = partita("materialize", "delays", "--partition", "2013-01-05", "--yes", "--json")
    assert (code, json.loads(out)["run"]) == (1, None)
    assert json.loads(out)["plan"]["blocked"][0]["reason"] == "upstream_missing"
    code, _, _ = partita("plan", "delays", "--partition", "2013-01-05")
    assert code == 0, "looking is no wish"
    assert world.services.runs.page().total == 0


def test_a_failed_run_is_exit_code_1_with_the_errors_and_where_to_read_on(world: Any, partita: Partita) -> None:
    world.activate()
    with worker(world, result=world.failed):
        code, out, _ = partita("materialize", "raw/flights", "--partitions", "2013-01-01..2013-01-07", "--yes")
    assert code == 1
    assert "✕ failed  run 1: 0 of 7 cells published, 7 failed" in out
    assert "raw/flights 2013-01-01: ValueError: no such column 'dep_delay'; partita logs --attempt" in out
    assert "and 2 more: partita runs show 1" in out
    with worker(world, result=world.failed):
        code, out, _ = partita("materialize", "raw/flights", "--partition", "2013-01-09", "--yes", "--json")
    told = json.loads(out)
    assert (code, told["run"]["state"], told["backfill_id"]) == (1, "failed", None)


def test_a_backfill_is_made_shown_listed_and_cancelled(world: Any, partita: Partita) -> None:
    world.activate()
    command = ["backfill", "create", "raw/flights", "--from", "2013-01-01", "--to", "2013-01-04", "--name", "first"]
    code, out, err = partita(*command, "--max-active", "2", "--detach", "--yes")
    assert code == 0, err
    assert "Launched backfill 1, run 1." in out
    assert len(world.claim(20)) == 2
    code, out, _ = partita("backfill", "show", "1")
    assert "▶ running  backfill 1 first: raw/flights 2013-01-01..2013-01-04" in out
    assert "▶ running 2" in out
    code, out, _ = partita("backfill", "cancel", "1")
    assert code == 2
    code, out, _ = partita("backfill", "cancel", "1", "--yes", "--json")
    assert json.loads(out)["progress"][0]["counts"] == {"running": 2, "cancelled": 2}
    code, out, _ = partita("backfill", "list", "--json")
    assert json.loads(out)["total"] == 1
    code, _, err = partita("backfill", "show", "9")
    assert (code, err.splitlines()[0]) == (2, "there is no backfill 9")


def test_looking_at_assets_partitions_and_reasons(world: Any, partita: Partita) -> None:
    world.activate()
    world.launch("raw/flights", partitions="2013-01-02")
    world.work()
    code, out, _ = partita("assets", "raw/*")
    assert code == 0
    assert out.splitlines()[1].split()[:2] == ["raw/flights", "flights"]
    assert "○ missing 30  ● fresh 1" in out
    code, out, _ = partita("partitions", "raw/flights", "--state", "fresh", "--json")
    [item] = json.loads(out)["items"]
    assert (item["partition"], item["location"]) == ("2013-01-02", "lake:2013-01-02")
    code, out, _ = partita("partitions", "weather", "--json")
    assert len(json.loads(out)["items"]) == 124
    code, out, _ = partita("partitions", "weather", "--partitions", "day=2013-01-02", "--count", "--json")
    assert json.loads(out)["count"] == 4
    code, out, _ = partita("partitions", "weather", "--limit", "3")
    assert "and 121 more" in out
    code, out, _ = partita("why", "raw/flights", "2013-01-03")
    assert out.splitlines()[0] == "raw/flights 2013-01-03 is missing: it was never materialized"
    code, out, _ = partita("why", "health")
    assert out.startswith("health is missing")
    code, _, err = partita("why", "raw/flights", "2013-01")
    assert (code, "means 31 partitions" in err) == (2, True)
    code, _, err = partita("why", "raw/flihgts", "x")
    assert (code, "raw/flights" in err) == (2, True)


def test_runs_and_logs(world: Any, partita: Partita) -> None:
    world.activate()
    world.launch("raw/flights", partitions="2013-01-01..2013-01-02")

    def made(claimed: Any) -> Any:
        writer = world.logs.writer(claimed.log)
        writer.write([(1, "stdout", "", "reading [bold]"), (2, "log", "WARNING", "odd :smile:")])
        writer.close(3)
        return world.written(claimed)

    world.work(result=made)
    code, out, _ = partita("runs")
    assert (code, "● success" in out, "2/2" in out) == (0, True, True)
    code, out, _ = partita("runs", "show", "1")
    assert "raw/flights  2013-01-01" in out
    code, out, _ = partita("runs", "--json")
    assert json.loads(out)["runs"][0]["cells"]["published"] == 2
    # Neither markup nor emoji codes are read in what people logged.
    code, out, _ = partita("logs", "raw/flights", "--partition", "2013-01-01", "--follow")
    assert out.splitlines() == ["00:00:00.000 reading [bold]", "00:00:00.000 WARNING odd :smile:"]
    code, out, _ = partita("logs", "--run", "1", "--level", "WARNING", "--json")
    assert [len(one["lines"]) for one in json.loads(out)["attempts"]] == [1, 1]
    code, out, err = partita("runs", "cancel", "1", "--yes", "--json")
    assert json.loads(out)["state"] == "success", "what has ended stays as it is"
    assert (code, "run 1 has ended: there is nothing to cancel" in err) == (0, True)
    code, _, err = partita("runs", "--state", "succes")
    assert (code, "did you mean 'success'?" in err) == (2, True)
    code, _, err = partita("partitions", "raw/flights", "--state", "frsh")
    assert (code, "did you mean 'fresh'?" in err) == (2, True)
    code, _, err = partita("logs", "raw/flights")
    assert (code, "this asks about one" in err) == (2, True)


def test_locations_and_pools(world: Any, partita: Partita) -> None:
    world.activate()
    code, out, _ = partita("locations", "--json")
    assert (code, json.loads(out)[0]["state"]) == (0, "serving")
    code, out, _ = partita("pools")
    assert "default" in out
    code, _, err = partita("pools", "set", "default", "0")
    assert (code, "Make it 0: nothing of it starts any more?" in err) == (2, True), "shown and asked, not done"
    code, out, _ = partita("pools", "set", "default", "7", "--reason", "the night", "--yes")
    assert (code, out) == (0, "default has 7 slots; 0 are held, 0 tasks wait\n")
    code, _, err = partita("lanes", "set", "backfill", "--weight", "2")
    assert (code, "Give it weight 2 and 0% of each pool kept for it?" in err) == (2, True)
    code, out, _ = partita("lanes", "set", "backfill", "--weight", "2", "--yes")
    assert (code, "lane backfill has weight 2 and 0% of each pool" in out) == (0, True)
    code, out, _ = partita("lanes")
    assert (code, [line.split()[:2] for line in out.splitlines()[1:] if "backfill" in line]) == (0, [["backfill", "2"]])
    code, _, err = partita("lanes", "set", "backfil", "--weight", "2")
    assert (code, "did you mean 'backfill'?" in err) == (2, True)
    code, _, err = partita("pools", "set", "all", "7")
    assert (code, "max_running under [limits]" in err) == (2, True)
    code, _, err = partita("locations", "reload", "flights", "--yes")
    assert (code, "unavailable" in err) == (2, True)


def test_ctrl_c_stops_the_waiting_and_not_the_run(
    world: Any, partita: Partita, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.activate()

    class Pause(threading.Event):
        """The wait between two looks: no statement is under way, so the interruption hits nothing but the wait."""

        def wait(self, timeout: float | None = None) -> bool:
            signal.raise_signal(signal.SIGINT)
            return super().wait(timeout)

    monkeypatch.setattr(follow, "threading", types.SimpleNamespace(Event=Pause))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
    code, _, err = partita("materialize", "raw/flights", "--partition", "2013-01-05", "--yes")
    signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "run 1 goes on; to stop it: partita runs cancel 1" in err
    assert world.services.runs.summary(1).state == "running"


def test_why_old_names_the_cell_that_holds_the_data_back(world: Any, partita: Partita) -> None:
    world.activate()
    world.launch("+delays", partitions="2013-01-01..2013-01-04", upstream=True)
    world.work()
    code, out, _ = partita("why", "delays", "--old")
    assert code == 0
    assert "delays reaches 2013-01-05 05:00 UTC, held back by raw/flights 2013-01-05 is missing" in out
    assert "through delays 2013-01-05 ← raw/flights 2013-01-05" in out
    told = json.loads(partita("why", "delays", "--old", "--json")[1])
    assert told["held_back_by"] == {"asset": "raw/flights", "partition": "2013-01-05"}
    assert partita("why", "delays", "2013-01-01", "--old")[0] == 2


def test_why_says_that_nothing_is_alive_of_a_task_that_is_open(world: Any, partita: Partita) -> None:
    world.activate()
    world.launch("raw/flights", partitions="2013-01-01")
    code, _, err = partita("why", "raw/flights", "2013-01-01")
    assert code == 0
    assert "no scheduler is alive: nothing will move" in " ".join(err.split())
    assert "no scheduler" not in partita("why", "raw/flights", "2013-01-02")[2]
