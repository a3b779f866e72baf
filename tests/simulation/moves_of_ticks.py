"""What time may do: a tick asks once, however many schedulers look; lateness is told once and is over once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from tests.simulation.invariants import Tables
from tests.simulation.seen import Law, Seen

if TYPE_CHECKING:
    from tests.simulation.automation_laws import AutomationHistory

_MINUTE = timedelta(minutes=1)


def _ticked(before: Tables, after: Tables, seen: Seen) -> None:
    """The tick is one that has come, the newest, and new; it asks for one run at most; nothing else does."""
    history = cast("AutomationHistory", seen.history)
    known = {row["id"] for row in before["run"]}
    runs = [row for row in after["run"] if row["id"] not in known and row["cause"]["kind"] == "job"]
    were = {row["name"]: row for row in before["job"]}
    ticked = [row for row in after["job"] if row["last_tick"] != were.get(row["name"], row)["last_tick"]]
    assert len(runs) <= len(ticked), f"{len(runs)} runs, and no tick of the job"
    for row in ticked:
        was, at = were[row["name"]], row["last_tick"]
        assert was["paused_by"] is None, f"{row['name']} is paused"
        assert was["next_at"] <= seen.now, f"{at} has not come"
        assert (row["name"], at) not in history.ticks, f"{at} was heeded before"
        assert at > seen.now - _MINUTE, f"{at} is not the newest"
        assert row["next_at"] is not None, f"{row['name']} ticks no more"
        assert row["next_at"] > seen.now, f"after {at} comes {row['next_at']}"
        history.ticks.add((row["name"], at))


def _late(before: Tables, after: Tables, seen: Seen) -> None:
    """An asset is late in one span that is open; becoming late is told in that commit, once, and so is a budget that burns."""
    if after["freshness"] is before["freshness"] and after["late_span"] is before["late_span"]:
        return
    opened = Counter(row["asset_id"] for row in after["late_span"] if row["until_at"] is None)
    were = {row["asset_id"]: row for row in before["freshness"]}
    told = _signals(before, after)
    for row in after["freshness"]:
        was = were.get(row["asset_id"], row)
        late = row["state"] == "late"
        assert opened[row["asset_id"]] == late, (
            f"asset {row['asset_id']} is {row['state']}: {opened[row['asset_id']]} spans"
        )
        wanted = Counter(
            {"late": int(late and was["state"] != "late"), "slo_burn": int(bool(row["burn"] and not was["burn"]))}
        )
        assert told == +wanted, f"asset {row['asset_id']} is {row['state']}, {row['burn']}: told {dict(told)}"
    kept = {(row["asset_id"], row["from_at"]): row["until_at"] for row in after["late_span"]}
    history = cast("AutomationHistory", seen.history)
    for span in before["late_span"] if not history.set_back else ():
        key = (span["asset_id"], span["from_at"])
        assert span["until_at"] is None or key not in kept or kept[key] == span["until_at"], f"{key} was over"


def _signals(before: Tables, after: Tables) -> Counter[str]:
    known = {row["id"] for row in before["alert_signal"]}
    return Counter(
        row["kind"] for row in after["alert_signal"] if row["id"] not in known and row["kind"] in ("late", "slo_burn")
    )


TICKS: dict[str, Law] = {
    "a tick asks once": _ticked,
    "lateness is told once": _late,
}
