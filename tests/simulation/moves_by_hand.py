"""What people may do to cells and tasks by hand: a pause holds what it is about and nothing else, a wipe can be taken back."""

from __future__ import annotations

from typing import Any

from tests.simulation.house import SHUT_FOR_PAUSE
from tests.simulation.invariants import TERMINAL, Row, Tables
from tests.simulation.seen import Law, Seen

from partita.core.store.encode import pool_set_of
from partita.core.store.memory.launch import CELL_FACTS
from partita.core.store.values_actions import EVERYTHING

_HELD = ("published_attempt", "published_at", "data_version")


def _paused(before: Tables, after: Tables, seen: Seen) -> None:
    """No task of a paused asset is admitted, each says which pauses hold it, and nothing else is held."""
    if all(after[name] is before[name] for name in ("pause", "task", "open_cell")):
        return
    paused = {row["asset_id"] for row in after["pause"]}
    held = {row["id"]: _pauses(row) for row in after["task"] if row["state"] not in TERMINAL}
    if not paused and not any(held.values()):
        return
    made: dict[int, set[int]] = {}
    for row in after["open_cell"]:
        made.setdefault(row["task_id"], set()).add(row["asset_id"])
    for row in after["task"]:
        if row["kind"] != "step" or row["state"] in TERMINAL:
            continue
        wanted = paused & {EVERYTHING, *made[row["id"]]}
        assert held[row["id"]] == wanted, f"task {row['id']} is held by {held[row['id']]}, not by {wanted}"
        assert not wanted or row["state"] != "queued", f"task {row['id']} is queued, and {wanted} are paused"
        if row["reason"] == "paused" and "asset" in row["reason_detail"]:
            assert row["reason_detail"]["asset"] in wanted, f"task {row['id']}: {row['reason_detail']}"


def _pauses(row: Row) -> set[int]:
    names = (use.name for use in pool_set_of(row["pool_set"]))
    return {int(name.removeprefix(SHUT_FOR_PAUSE)) for name in names if name.startswith(SHUT_FOR_PAUSE)}


def _handled(before: Tables, after: Tables, seen: Seen) -> None:
    """Cells that nobody makes, under a new fence, and kept as they were for whoever takes it back."""
    if after["cell"] is before["cell"]:
        return
    owned = {(row["asset_id"], row["partition"]) for row in before["open_cell"]}
    were = {_place(row): row for row in before["cell"]}
    entries = {row["id"] for row in before["audit"]}
    new = {row["id"]: row for row in after["audit"] if row["id"] not in entries}
    kept = {(row["audit_id"], *_place(row)): row for row in after["kept_cell"]}
    kept |= {(row["audit_id"], *_place(row)): row for row in before["kept_cell"]}
    for row in after["cell"]:
        was = were.get(_place(row))
        if was is None or row["fence"] == was["fence"] or all(row[name] == was[name] for name in _HELD):
            continue
        what = f"{_place(row)}"
        [entry] = [one for one in new.values() if one["action"] in ("mark", "wipe", "undo")]
        of = entry["undo_of"]
        if of is None:
            assert _place(row) not in owned, f"{what} is in the hands of a task"
            assert _facts(kept[entry["id"], *_place(row)]) == _facts(was), f"{what} is not kept as it was"
            assert entry["action"] != "wipe" or not any(_facts(row).values()), f"{what} is not wiped"
            assert kept[entry["id"], *_place(row)]["fence"] == row["fence"], f"{what} has another fence"
        else:
            before_it = kept[of, *_place(row)]
            assert was["fence"] == before_it["fence"], f"{what} was attempted or changed since"
            assert _facts(row) == _facts(before_it), f"{what} does not hold what it held"


def _taken_back(before: Tables, after: Tables, seen: Seen) -> None:
    """Once, and every cell that nobody touched since."""
    entries = {row["id"] for row in before["audit"]}
    fences = {_place(row): row["fence"] for row in before["cell"]}
    now = {_place(row): row for row in after["cell"]}
    for entry in after["audit"]:
        if entry["id"] in entries or entry["undo_of"] is None:
            continue
        of = entry["undo_of"]
        twice = [row["id"] for row in after["audit"] if row["undo_of"] == of]
        assert twice == [entry["id"]], f"entries {twice} take {of} back"
        for row in after["kept_cell"]:
            if row["audit_id"] == of and fences[_place(row)] == row["fence"]:
                assert _facts(now[_place(row)]) == _facts(row), f"{_place(row)} is not given back"


def _place(row: Row) -> tuple[Any, Any]:
    return row["asset_id"], row["partition"]


def _facts(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in CELL_FACTS}


BY_HAND: dict[str, Law] = {
    "a pause holds": _paused,
    "cells are changed by hand when nobody makes them": _handled,
    "what was done by hand is taken back once": _taken_back,
}
