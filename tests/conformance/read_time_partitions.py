"""Cases of time partitions: windows, keys, and which partitions exist."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.conformance.judging import only

from partita.assets import PartitionSet, TimeWindows, space_of
from partita.assets.partitions.time import TimeSpace

_KNOWN = {"kind", "cron", "tz", "start", "end", "end_offset"}
OPERATIONS = ("window", "containing", "existing", "list", "first_from", "range", "count_within", "next", "prev")
_AFTER_ALL = datetime(2060, 1, 1, tzinfo=UTC)
"""Operations without an instant ask about partitions whenever they exist."""


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask one operation."""
    given, when = case["given"], case["when"]
    only(given, _KNOWN)
    asks_existing = when["op"] in ("existing", "list")
    space = space_of(
        TimeWindows(
            given["cron"],
            given["start"],
            end=given.get("end"),
            tz=given["tz"],
            horizon=given.get("end_offset", 0),
        ),
        _instant(when["at"]) if asks_existing else _AFTER_ALL,
    )
    assert isinstance(space, TimeSpace)
    match when["op"]:
        case "window":
            return _window(space, _find(space, when["key"]))
        case "containing":
            return _window(space, space.containing(_instant(when["at"])))
        case "first_from":
            return _window(space, space.first_from(_instant(when["at"])))
        case "next" | "prev":
            at = _find(space, when["key"])
            return _window(space, None if at is None else at + (1 if when["op"] == "next" else -1))
        case "range":
            return _listed(space, space.span(when["from"], when["to"]))
        case "count_within":
            return {"count": len(space.within(_instant(when["from"]), _instant(when["to"])))}
    return _listed(space, space.all())


def _find(space: TimeSpace, label: str) -> int | None:
    # The product shortens the labels of whole months and years.
    keys = (label, label.removesuffix("-01"), label.removesuffix("-01-01"))
    return next((at for at in map(space.find, keys) if at is not None), None)


def _label(space: TimeSpace, ordinal: int) -> str:
    key = str(space.key_at(ordinal))
    return key + "-01-01"[len(key) - 4 :] if len(key) < 10 else key


def _window(space: TimeSpace, ordinal: int | None) -> dict[str, Any]:
    if ordinal is None or not 0 <= ordinal < space.size:
        return {"valid": False, "key": None}
    window = space.window_at(ordinal)
    return {
        "valid": True,
        "key": _label(space, ordinal),
        "start": _text(window.start),
        "end": _text(window.end),
        "seconds": int((window.end - window.start).total_seconds()),
    }


def _listed(space: TimeSpace, chosen: PartitionSet) -> dict[str, Any]:
    keys = [_label(space, ordinal) for ordinal in chosen]
    return {
        "keys": keys,
        "count": len(keys),
        "first": keys[0] if keys else None,
        "last": keys[-1] if keys else None,
    }


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
