"""What is owed to whom at the end of a story of automation, read naively from the tables and from what happened outside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation.automation_house import EAGER, IDS, WINDOWS
from tests.simulation.automation_laws import AutomationHistory
from tests.simulation.ending import still_to_do
from tests.simulation.house import PARTITIONS
from tests.simulation.watching import Broken
from tests.unit.duties.duty_world import START

from partita.assets import space_of
from partita.assets.digest import cell_hash, digest_of_inputs

if TYPE_CHECKING:
    from tests.simulation.automation_story import AutomationStory

Row = dict[str, Any]
_A_LOOK = timedelta(seconds=25)
_BEHIND_S = 10.0
_A_RUN = timedelta(seconds=60)


def owed(story: AutomationStory, what: str) -> list[str]:
    """What is still owed of one kind."""
    if story.watch.before["evaluator"]:
        _nobody_is_delayed(story)
    return _OWED[what](story)


def _nobody_is_delayed(story: AutomationStory) -> None:
    """Beside one that hangs the others are evaluated in time: from when they are due and nobody who is gone holds them."""
    for row in story.watch.before["evaluator"]:
        waits = row["triggerer_id"] is None and row["paused_at"] is None and row["due_at"] is not None
        if not waits or row["due_at"] > story.clock.now:
            story.waiting_since.pop(row["name"], None)
        elif story.seconds - story.waiting_since.setdefault(row["name"], story.seconds) > _BEHIND_S:
            raise Broken("a slow evaluation delays nobody", f"{row['name']} has been due since {row['due_at']}")


def _ticks(story: AutomationStory) -> list[str]:
    return [
        f"job {row['name']} was due at {row['next_at']}"
        for row in story.watch.before["job"]
        if row["next_at"] is not None and row["next_at"] < story.clock.now
    ]


def _reports(story: AutomationStory) -> list[str]:
    outside = story.outside
    left = [f"{one.key} is not answered" for one in outside.outbox if one.key not in outside.answers]
    cells = _cells(story)
    for letter in PARTITIONS:
        events = [
            row["body"]["data_version"]
            for row in story.watch.before["event"]
            if row["kind"] == "observed" and (row["asset_id"], row["partition"]) == (IDS["pushed"], letter)
        ]
        held = cells.get(("pushed", letter), {}).get("data_version")
        if events and held != events[-1]:
            left.append(f"pushed {letter} holds {held}, and {events[-1]} was told last")
    return left


def _observations(story: AutomationStory) -> list[str]:
    cells = _cells(story)
    held = {letter: cells.get(("watched", letter), {}).get("data_version") for letter in PARTITIONS}
    return [
        f"watched {letter} holds {held[letter]}, and is at w{n}"
        for letter, n in story.outside.watched.items()
        if held[letter] != f"w{n}"
    ]


def _runs(story: AutomationStory) -> list[str]:
    return still_to_do(story.watch.before, story.clock.now)


def _callbacks(story: AutomationStory) -> list[str]:
    history, told = _history(story), story.outside.ends
    for task_id, keys in told.items():
        if len(keys) > 1:
            raise Broken("a callback is told of an end by one key", f"task {task_id}: {sorted(keys)}")
        if task_id not in history.ended:
            raise Broken("a callback comes after the commit", f"task {task_id} has not ended, and was told of")
    return [
        f"task {one} ended as {end}, and no callback is told" for one, end in history.told_of.items() if one not in told
    ]


def _news(story: AutomationStory) -> list[str]:
    return [
        f"{one} was published, and no sensor is told" for one in sorted(_history(story).published - story.outside.news)
    ]


def _consumers(story: AutomationStory) -> list[str]:
    """A consumer holds what comes of what its inputs hold, unless its last task, which ended after they moved, did not make it,
    or somebody who resumed it did without."""
    history, cells = _history(story), _cells(story)
    skipped = {(r["asset_id"], r["partition"]) for r in story.watch.before["automation_request"] if r["run_id"] is None}
    there = {row["key"] for row in story.watch.before["dynamic_key"] if row["ended"] is None}
    left = []
    for name, reads in EAGER.items():
        for partition in sorted(there) if name == "thumb" else PARTITIONS:
            above = [cells.get((up, partition), {}) for up in reads]
            if any(one.get("data_version") is None for one in above):
                continue
            own = cells.get((name, partition), {})
            sums = [
                (IDS[up], up, cell_hash(partition, one["data_version"])) for up, one in zip(reads, above, strict=True)
            ]
            if own.get("data_version") is not None and own["consumed_digest"] % 2**64 == digest_of_inputs(sums):
                continue
            moved = max(history.moved.get((IDS[up], partition), 0) for up in reads)
            state, ended = history.tried.get((IDS[name], partition), ("", 0))
            without = state not in ("", "success", "removed") and ended > moved
            if not without and (IDS[name], partition) not in skipped:
                left.append(f"{name} {partition} is not made of what is there (its last task: {state})")
    return left


def _windows(story: AutomationStory) -> list[str]:
    """Each window that closed was made, unless its last task failed or somebody did without."""
    history, cells = _history(story), _cells(story)
    skipped = {(r["asset_id"], r["partition"]) for r in story.watch.before["automation_request"] if r["run_id"] is None}
    closed = space_of(WINDOWS, min(story.clock.now, START + timedelta(minutes=2)))
    left = []
    for partition in closed.keys(closed.all()):
        made = cells.get(("windows", partition), {}).get("data_version") is not None
        state, _ = history.tried.get((IDS["windows"], partition), ("", 0))
        if not made and state in ("", "success") and (IDS["windows"], partition) not in skipped:
            left.append(f"window {partition} was not made (its last task: {state})")
    return left


def _versions(story: AutomationStory) -> list[str]:
    """What follows its code was made with the code that is active, unless its last task was to do that, and did not make it."""
    base = story.live.active().by_id[IDS["built"]]
    tasks, left = story.watch.before["task"], []
    for (name, partition), cell in _cells(story).items():
        if name != "built" or cell["data_version"] is None:
            continue
        code = story.memory.database.fingerprint.rows[cell["fingerprint_id"]]["text"]
        own = {row["task_id"] for row in story.watch.before["task_cell"] if _is(row, "built", partition)}
        last = max((row for row in tasks if row["id"] in own), key=lambda row: row["id"], default=None)
        if last is None:
            continue  # how it was tried went with the history
        tried = last["snapshot_id"] == base.snapshot_id and last["state"] not in ("success", "removed")
        if code != base.spec.fingerprint and not tried:
            left.append(f"built {partition} was made with {code}, and {base.spec.fingerprint} is active")
    return left


def _is(row: Row, name: str, partition: str) -> bool:
    return (row["asset_id"], row["partition"]) == (IDS[name], partition)


def _rates(story: AutomationStory) -> list[str]:
    """What goes by ticks was made since the last one, unless it failed since."""
    now, cells, left = story.clock.now, _cells(story), []
    tick = (now - _A_RUN).replace(second=0, microsecond=0)
    tick = tick.replace(minute=tick.minute // 2 * 2)
    for letter in PARTITIONS:
        cell = cells.get(("rates", letter), {})
        made, tried = cell.get("published_at"), cell.get("last_attempt_at")
        failed = cell.get("last_outcome") in ("failed", "lost") and tried is not None and tried >= tick
        if not failed and (made is None or made < tick):
            left.append(f"rates {letter} was made at {made}, and a tick was at {tick}")
    return left


def _collected(story: AutomationStory) -> list[str]:
    """What collects was made of all that there is."""
    cells, tasks = _cells(story), {row["id"]: row for row in story.watch.before["task"]}
    own = cells.get(("summary", ""), {})
    mine = [row["task_id"] for row in story.watch.before["task_cell"] if row["asset_id"] == IDS["summary"]]
    if not mine or story.deeds.removals or tasks[max(mine)]["state"] != "success":
        return []
    if any(run["cancel_requested_at"] for run in story.watch.before["run"]):
        return []  # somebody did without
    there = [row["key"] for row in story.watch.before["dynamic_key"] if row["ended"] is None]
    held = {key: cells.get(("parsed", key), {}).get("data_version") for key in there}
    if None in held.values():
        return []  # it waits for what is missing
    made = sum(cell_hash(key, version) for key, version in held.items() if version is not None) % 2**64
    if own["consumed_digest"] % 2**64 != digest_of_inputs([(IDS["parsed"], "parsed", made)]):
        return [f"summary is not made of {held}"]
    return []


def _freshness(story: AutomationStory) -> list[str]:
    policies = {row["asset_id"]: row for row in story.watch.before["freshness"]}
    opened = [
        row for row in story.watch.before["alert"] if row["ended_at"] is None and row["kind"] in ("late", "slo_burn")
    ]
    left = [
        f"alert {row['id']} ({row['kind']}) is open"
        for row in opened
        if row["asset_id"] is None
        and (
            policies[row["detail"]["asset"]]["state"] != "late"
            if row["kind"] == "late"
            else policies[row["detail"]["asset"]]["burn"] is None
        )
    ]
    late = [one for one, row in policies.items() if row["state"] == "late"]
    known = {row["detail"]["asset"] for row in opened if row["kind"] == "late" and row["asset_id"] is None}
    return left + [f"asset {one} is late, and no alert says so" for one in late if one not in known]


def _rows(story: AutomationStory) -> list[str]:
    tables = ("pool_slot", "open_cell", "run_tally", "event_todo", "fan_out", "pause", "alert_signal")
    return [f"{len(rows)} rows in {table}" for table in tables if (rows := story.watch.before[table])]


def _cells(story: AutomationStory) -> dict[tuple[str, str], Row]:
    names = {id: name for name, id in IDS.items()}
    return {(names[row["asset_id"]], row["partition"]): row for row in story.watch.before["cell"]}


def _history(story: AutomationStory) -> AutomationHistory:
    assert isinstance(story.watch.history, AutomationHistory)
    return story.watch.history


_OWED: dict[str, Callable[[AutomationStory], list[str]]] = {
    "ticks": _ticks,
    "reports": _reports,
    "observations": _observations,
    "runs": _runs,
    "callbacks": _callbacks,
    "news": _news,
    "consumers": _consumers,
    "windows": _windows,
    "versions": _versions,
    "rates": _rates,
    "collected": _collected,
    "freshness": _freshness,
    "rows": _rows,
}
