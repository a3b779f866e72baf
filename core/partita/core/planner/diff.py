"""What differs between two plans, in words: for the refusal of a plan that is no longer what was shown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from partita.assets import PartitionSet
from partita.core.catalog.dynamic import KeysAt
from partita.core.planner.values import Plan

_SHOWN = 8
_KEYS = 3


def plan_difference(old: Plan, new: Plan, keys: Sequence[str] = ()) -> str:
    """The differences in one line; the first eight, then how many more. `keys` says how dynamic keys differ."""
    found = [*keys, *_differences(old, new)]
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more if found else "its batches are cut differently"


def keys_difference(old: KeysAt, new: KeysAt) -> list[str]:
    """Per dynamic scheme that differs: which keys came and went, the first few by name."""
    found = []
    for scheme in sorted(old.keys.keys() | new.keys.keys()):
        was, now = old.keys.get(scheme, ()), new.keys.get(scheme, ())
        gone, came = set(was) - set(now), set(now) - set(was)
        words = [
            f"{_listed([key for key in keys if key in chosen])} {verb}"
            for verb, keys, chosen in (("came in", now, came), ("went", was, gone))
            if chosen
        ]
        if words:
            found.append(f"keys of {scheme!r}: {' and '.join(words)}")
        elif tuple(was) != tuple(now):
            found.append(f"keys of {scheme!r} were added anew")
    return found


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return ", ".join(map(repr, keys[:_KEYS])) + more


def _differences(old: Plan, new: Plan) -> Iterator[str]:
    before, after = dict(old.snapshots), dict(new.snapshots)
    for location in sorted(before.keys() | after.keys()):
        if location in before and location in after and before[location] != after[location]:
            yield f"location {location!r} has a new version"
    mine = {asset.key: asset for asset in old.assets}
    theirs = {asset.key: asset for asset in new.assets}
    for key in sorted(mine.keys() | theirs.keys()):
        if key in mine and key in theirs and mine[key].keys != theirs[key].keys:
            # Ordinals of other keys: they cannot be told from each other by number.
            if len(mine[key].cells) != len(theirs[key].cells):
                yield f"{_cells(theirs[key].cells)} of {key} instead of {len(mine[key].cells)}"
            continue
        was = mine[key].cells if key in mine else PartitionSet.empty()
        now = theirs[key].cells if key in theirs else PartitionSet.empty()
        if now - was:
            yield f"{_cells(now - was)} of {key} came in"
        if was - now:
            yield f"{_cells(was - now)} of {key} dropped out"
        if key in mine and key in theirs:
            moved = {
                reason
                for reason in (*mine[key].by_reason, *theirs[key].by_reason)
                if mine[key].by_reason.get(reason, PartitionSet.empty()) & now
                != theirs[key].by_reason.get(reason, PartitionSet.empty()) & was
            }
            if moved:
                yield f"cells of {key} are planned for another reason ({', '.join(sorted(moved))})"


def _cells(cells: PartitionSet) -> str:
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
