"""What alerts and notices may do: a failure is one alert, each target is told of it once, and no two send one notice."""

from __future__ import annotations

from typing import Any

from tests.simulation.house import TARGETS
from tests.simulation.invariants import Row, Tables
from tests.simulation.seen import Law, Seen

_TRIES = 8
_OF_CELLS = ("retries_exhausted", "failed")


def claimed_notice(before: Tables, after: Tables) -> tuple[int, int] | None:
    """The notice that this commit claims, and its try."""
    if after["notice"] is before["notice"]:
        return None
    were = {row["id"]: row["tries"] for row in before["notice"]}
    claimed = [(row["id"], row["tries"]) for row in after["notice"] if row["tries"] > were.get(row["id"], 0)]
    return claimed[0] if claimed else None


def _signalled(before: Tables, after: Tables, seen: Seen) -> None:
    """A task that failed is a signal in the same transaction."""
    known = {row["id"] for row in before["alert_signal"]}
    told = {
        row["task_id"] for row in after["alert_signal"] if row["id"] not in known and row["kind"] == "retries_exhausted"
    }
    were = {row["id"]: row["state"] for row in before["task"]}
    for row in after["task"]:
        if row["kind"] == "step" and row["state"] == "failed" != were.get(row["id"]):
            assert row["id"] in told, f"task {row['id']}: {row['error']}"


def _raised(before: Tables, after: Tables, seen: Seen) -> None:
    """A signal goes when it has become an alert of each cell that is not made."""
    if after["alert_signal"] is before["alert_signal"]:
        return
    left = {row["id"] for row in after["alert_signal"]}
    gone = {row["task_id"] for row in before["alert_signal"] if row["id"] not in left and row["kind"] in _OF_CELLS}
    opened = {
        (row["asset_id"], row["partition"])
        for row in after["alert"]
        if row["ended_at"] is None and row["kind"] in _OF_CELLS
    }
    failed = {
        (row["asset_id"], row["partition"])
        for row in after["task_cell"]
        if row["task_id"] in gone and row["state"] == "failed"
    }
    assert failed <= opened, f"{failed - opened} failed, and no alert says so"


def _one_each(before: Tables, after: Tables, seen: Seen) -> None:
    """One open alert a cause; one that is over stays as it is; of a cell it is over when the cell was made."""
    if after["alert"] is before["alert"]:
        return
    causes = [row["cause"] for row in after["alert"] if row["ended_at"] is None]
    assert len(causes) == len(set(causes)), f"{sorted(causes)}"
    now = {row["id"]: row for row in after["alert"]}
    cells = {(row["asset_id"], row["partition"]): row["published_at"] for row in after["cell"]}
    for was in before["alert"]:
        row = now[was["id"]]
        assert was["ended_at"] is None or row == was, f"alert {was['id']} was over"
        if was["ended_at"] is None and row["ended_at"] is not None and row["asset_id"] is not None:
            made = cells[row["asset_id"], row["partition"]]
            assert made is not None, f"alert {row['id']} is over, and its cell is not made"
            assert made > row["since"], f"alert {row['id']} is over, and its cell was made before"


def _told(before: Tables, after: Tables, seen: Seen) -> None:
    """A new alert, and one whose snooze has ended, is in a notice to each of its targets."""
    if after["alert"] is before["alert"]:
        return
    rounds = {row["id"]: row["round"] for row in before["alert"]}
    told: dict[tuple[int, int], set[str]] = {}
    for item in after["notice_item"]:
        if item["kind"] == "problem":
            told.setdefault((item["alert_id"], item["round"]), set()).add(item["target"])
    for row in after["alert"]:
        if row["round"] > rounds.get(row["id"], 0) and not _quiet(row, seen):
            wanted = set().union(*(TARGETS[rule] for rule in row["rules"]))
            assert told.get((row["id"], row["round"]), set()) == wanted, f"alert {row['id']} in round {row['round']}"


def _quiet(row: Row, seen: Seen) -> bool:
    snoozed = row["snoozed_until"] is not None and row["snoozed_until"] > seen.now
    return row["acked_at"] is not None or snoozed


def _sent(before: Tables, after: Tables, seen: Seen) -> None:
    """A notice is claimed when it is due and nobody is at it, ended by who is, and stays as it ended."""
    if after["notice"] is before["notice"]:
        return
    now = {row["id"]: row for row in after["notice"]}
    for was in before["notice"]:
        row = now[was["id"]]
        if was["state"] != "pending":
            assert row == was, f"notice {was['id']} was {was['state']}"
        elif row["tries"] != was["tries"]:
            assert row["tries"] == was["tries"] + 1, f"notice {row['id']}"
            assert row["due_at"] <= seen.now, f"notice {row['id']} is not due"
            assert was["lease_until"] is None or was["lease_until"] <= seen.now, f"notice {row['id']} is being sent"
        elif row != was:
            assert seen.by.delivering == (row["id"], row["tries"]), f"notice {row['id']} is another's to end"
            _ended(row, after, seen)


def _ended(row: Row, after: Tables, seen: Seen) -> None:
    what = f"notice {row['id']} was {row['state']}"
    if row["state"] == "sent":
        assert (row["id"], row["tries"]) in seen.history.told, f"{what}, and nobody took it"
    elif row["state"] == "dropped":
        rounds = {item["alert_id"]: item["round"] for item in after["notice_item"] if item["notice_id"] == row["id"]}
        same = [one for one in after["alert"] if rounds.get(one["id"]) == one["round"]]
        wanted = [one["id"] for one in same if not _over(row, one, seen)]
        assert not wanted, f"{what}, and alerts {wanted} are not over"
    elif row["state"] == "failed":
        assert row["tries"] >= _TRIES, f"{what} after {row['tries']} tries"


def _over(notice: Row, alert: Row, seen: Seen) -> bool:
    return _quiet(alert, seen) or (notice["kind"] == "problem" and alert["ended_at"] is not None)


def over_and_open(tables: Any) -> list[str]:
    """Alerts of cells that were made since, and are not over yet."""
    made = {(row["asset_id"], row["partition"]): row["published_at"] for row in tables["cell"]}
    return [
        f"alert {row['id']} of a cell that was made"
        for row in tables["alert"]
        if row["ended_at"] is None and row["asset_id"] is not None
        and (at := made.get((row["asset_id"], row["partition"]))) is not None and at > row["since"]
    ]  # fmt: skip


ALERTS: dict[str, Law] = {
    "every failure is signalled": _signalled,
    "every signal becomes an alert": _raised,
    "one alert a cause": _one_each,
    "an alert is told to each target": _told,
    "a notice is sent by one at a time": _sent,
}
