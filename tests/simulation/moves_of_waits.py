"""What waits and evaluations may do: a wait is over only by what it is about, an evaluation counts once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from tests.simulation.invariants import Row, Tables
from tests.simulation.seen import Law, Seen

from partita.core.store.values_waits import WaitKey

_FIVE_MINUTES = timedelta(minutes=5)


def ends_of_waits(before: Tables, after: Tables) -> Iterator[tuple[int, str]]:
    """Tasks whose waiting came to a bad end, and to which: `broken_wait` or `late_wait`."""
    now = {row["id"]: row for row in after["task"]}
    for was in before["task"]:
        row = now[was["id"]]
        if was["state"] in ("deferred", "awaiting_input") and row["state"] in ("failed", "up_for_retry"):
            error = row["error"] or ""
            if error.startswith("waiting for "):
                yield row["id"], "broken_wait"
            elif error.startswith("it waited "):
                yield row["id"], "late_wait"


def _key(row: Row) -> WaitKey:
    return WaitKey(row["task_id"], row["place"], row["stint"])


def _fired(before: Tables, after: Tables, seen: Seen) -> None:
    """By what a triggerer saw in just this stint, by the cell that it is for, or by a person who was shown it; once."""
    were = {(row["task_id"], row["place"]): row for row in before["wait"]}
    cells = {(row["asset_id"], row["partition"]): row for row in after["cell"]}
    for row in after["wait"]:
        was = were.get((row["task_id"], row["place"]))
        if was is not None and was["state"] == "fired":
            same = all(row[name] == was[name] for name in ("state", "stint", "payload", "fired_at"))
            assert same or row["state"] == "dormant", f"wait {_key(was)} had fired"
        elif row["state"] == "fired":
            what = f"wait {_key(row)}"
            assert was is not None, what
            assert (was["state"], was["stint"]) == ("open", row["stint"]), f"{what} was {was['state']}"
            if row["asks"]:
                assert _key(row) in seen.by.answered, f"{what}: nobody who saw it approved"
            elif row["asset_id"] is None:
                assert _key(row) in seen.by.fired, f"{what}: it has not come"
            else:
                made = cells[row["asset_id"], row["partition"]]
                assert made["data_version"] is not None, f"{what}: the cell is not there"
                assert not row["newer"] or made["published_at"] > was["since"], f"{what}: the cell is older"


def _given_up(before: Tables, after: Tables, seen: Seen) -> None:
    """Waiting ends badly at its deadline, or by a trigger that raised, and not otherwise."""
    if seen.by.undoing:
        return
    opened: dict[int, list[Row]] = {}
    for row in before["wait"]:
        if row["state"] == "open":
            opened.setdefault(row["task_id"], []).append(row)
    for task_id, end in ends_of_waits(before, after):
        if end == "late_wait":
            late = any(row["deadline_at"] <= seen.now for row in opened[task_id])
            assert late, f"task {task_id}: no deadline has passed"
        else:
            raised = any(_key(row) in seen.by.broken for row in opened[task_id])
            assert raised, f"task {task_id}: no trigger of its raised"


def _counted(before: Tables, after: Tables, seen: Seen) -> None:
    """A sensor's cursor is how much it has asked for, each once and in order; a schedule has asked for each tick once."""
    if after["asked"] is before["asked"] and after["evaluator"] is before["evaluator"]:
        return
    asked: dict[int, list[Row]] = {}
    for row in after["asked"]:
        asked.setdefault(row["evaluator_id"], []).append(row["request"]["tags"])
    for one in after["evaluator"]:
        tags = asked.get(one["id"], [])
        if one["kind"] == "sensor":
            numbers = [int(own["n"]) for own in tags]
            wanted = list(range(1, int(one["cursor"] or 0) + 1))
            assert numbers == wanted, f"{one['name']}: {numbers} at cursor {one['cursor']}"
        else:
            ticks = [own["tick"] for own in tags]
            next_tick = one["tick_at"]
            wanted_ticks = [(next_tick - n * _FIVE_MINUTES).isoformat() for n in range(len(ticks), 0, -1)]
            assert ticks == wanted_ticks, f"{one['name']}: {ticks}"


def _taken_over(before: Tables, after: Tables, seen: Seen) -> None:
    """Nobody evaluates what is another's. (What was this one's by an answer that was lost, it may begin anew.)"""
    were = {row["id"]: row for row in before["evaluator"]}
    for row in after["evaluator"]:
        was = were.get(row["id"], row)
        if row["token"] != was["token"]:
            assert row["triggerer_id"] is not None, f"{row['name']} is evaluated by nobody"
            own = was["triggerer_id"] in (None, row["triggerer_id"])
            assert own, f"{row['name']} is being evaluated by {was['triggerer_id']}"
            assert row["due_at"] is not None, row["name"]
            assert row["due_at"] <= seen.now, f"{row['name']} is not due"
            assert row["paused_at"] is None, f"{row['name']} is paused"


def _asked_once(before: Tables, after: Tables, seen: Seen) -> None:
    """What was asked for becomes one run at most, and what is done stays done."""
    if after["asked"] is before["asked"]:
        return
    now = {row["id"]: row for row in after["asked"]}
    for row in before["asked"]:
        assert row["state"] == "open" or now[row["id"]] == row, f"request {row['id']} was {row['state']}"
    launched = [row["run_id"] for row in after["asked"] if row["state"] == "launched"]
    runs = sorted(row["id"] for row in after["run"] if row["cause"]["kind"] in ("sensor", "schedule"))
    assert sorted(launched) == runs, f"runs {runs} for what was asked for, and {launched} is known"


WAITS: dict[str, Law] = {
    "a wait is over by what it waits for": _fired,
    "waiting is given up at its deadline only": _given_up,
    "a cursor moves with what was asked for": _counted,
    "one evaluates at a time": _taken_over,
    "a request is launched once": _asked_once,
}
