"""Cases of mappings: what a downstream partition needs, and what an upstream partition touches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.conformance.judging import only

from partita.assets import (
    All,
    DimensionPair,
    Dimensions,
    Dynamic,
    Identity,
    Last,
    Mapping,
    Multi,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    Specific,
    Static,
    StaticTable,
    TimeOverlap,
    TimePartitions,
    TimeWindows,
    downstream_of,
    join_key,
    self_mapping,
    space_of,
    split_key,
    upstream_of,
)

OPERATIONS = ("upstream_of", "downstream_of")
_FIELDS: dict[str, set[str]] = {
    "none": set(),
    "time": {"cron", "tz", "start", "end", "end_offset"},
    "static": {"keys"},
    "dynamic": {"name", "keys"},
    "multi": {"dims"},
}
_MAPPINGS: dict[str, set[str]] = {
    "identity": set(),
    "time_window": {"start_offset", "end_offset"},
    "all": set(),
    "last": set(),
    "specific": {"keys"},
    "static": {"pairs"},
    "multi": {"dims"},
    "project": {"dim"},
}
Key = str | None | dict[str, str]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask one direction."""
    given, when = case["given"], case["when"]
    only(given, {"upstream", "downstream", "mapping", "now", "self"})
    up, down = (_space(given[side], given["now"]) for side in ("upstream", "downstream"))
    mapping = _mapping(given["mapping"], up, down)
    if given.get("self"):
        mapping = self_mapping(mapping)
    if when["op"] == "downstream_of":
        found = downstream_of(mapping, down=down, up=up, cells=_cells(up, when["keys"]))
        return _listed(down, found)
    mapped = upstream_of(mapping, down=down, up=up, cells=_cells(down, when["keys"]), shown=10_000)
    return {**_listed(up, mapped.existing), "missing": [_label(up, key) for key in mapped.absent]}


def _space(given: dict[str, Any], now: str) -> PartitionSpace:
    lists = {one["name"]: one["keys"] for one in (given, *given.get("dims", {}).values()) if one["kind"] == "dynamic"}
    return space_of(_definition(given), datetime.fromisoformat(now).astimezone(UTC), lists)


def _definition(given: dict[str, Any]) -> PartitionsDef | None:
    only(given, _FIELDS[given["kind"]] | {"kind"})
    match given["kind"]:
        case "none":
            return None
        case "static":
            return Static(*given["keys"])
        case "dynamic":
            return Dynamic(given["name"])
        case "multi":
            return Multi(**{name: _definition(inner) for name, inner in given["dims"].items()})  # type: ignore[arg-type]
    return TimeWindows(
        given["cron"], given["start"], end=given.get("end"), tz=given["tz"], horizon=given.get("end_offset", 0)
    )


def _mapping(given: dict[str, Any], up: PartitionSpace, down: PartitionSpace) -> Mapping:
    only(given, _MAPPINGS[given["type"]] | {"type"})
    match given["type"]:
        case "multi":
            return Dimensions(
                tuple(
                    DimensionPair(name, inner.get("from"), _mapping(inner["mapping"], up, down))  # type: ignore[arg-type]
                    for name, inner in given["dims"].items()
                )
            )
        case "project":
            # One side is multi, the other has one dimension only, which the product calls "".
            dimension = given["dim"]
            pair = DimensionPair(dimension if up.dims else "", dimension if down.dims else "", Identity())
            return Dimensions((pair,))
        case "time_window":
            return TimeOverlap(given["start_offset"], given["end_offset"])
        case "specific":
            return Specific(tuple(given["keys"]))
        case "static":
            table: dict[str, list[str]] = {}
            for up_key, down_keys in given["pairs"].items():
                for down_key in down_keys:
                    table.setdefault(down_key, []).append(up_key)
            return StaticTable(tuple((key, tuple(needs)) for key, needs in table.items()))
    plain: dict[str, Mapping] = {"identity": Identity(), "all": All(), "last": Last()}
    return plain[given["type"]]


def _cells(space: PartitionSpace, keys: list[Key]) -> PartitionSet:
    return PartitionSet.from_ordinals(_ordinal(space, key) for key in keys)


def _ordinal(space: PartitionSpace, key: Key) -> int:
    if key is None:
        return space.ordinal_of("")
    if isinstance(key, dict):
        return space.ordinal_of(join_key([key[name] for name in space.dims]))
    # The product shortens the labels of whole months and years.
    shorter = (key, key.removesuffix("-01"), key.removesuffix("-01-01"))
    return next(at for at in map(space.find, shorter) if at is not None)


def _label(space: PartitionSpace, key: str) -> Key:
    if space.definition is None:
        return None
    if space.dims:
        return dict(zip(space.dims, split_key(key) or (), strict=True))
    short = isinstance(space.definition, TimePartitions) and len(key) < 10
    return key + "-01-01"[len(key) - 4 :] if short else key


def _listed(space: PartitionSpace, found: PartitionSet) -> dict[str, Any]:
    keys = [_label(space, key) for key in space.keys_of(found)]
    return {"keys": keys, "count": len(keys), "first": keys[0] if keys else None, "last": keys[-1] if keys else None}
