"""Cells of a partition scheme that are made of whole cells of an earlier one: seven days that are a week. Pure.

Owns what counts as made of (no gap, no overlap, by the instants of the windows) and what such a cell is recorded with. Its data
is not touched: its location names the parts. Its version carries the sum of their hashes, so that what reads it is as fresh as
what read them. Its digest is the sum of theirs: it is as fresh as they were where it reads what they read, or what was derived of
that, each once; elsewhere it is stale by data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.assets import (
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    SinglePartitions,
    TimePartitions,
    derived_version,
    join_key,
    space_of,
    split_key,
)
from partita.assets.locations import JOINABLE, joined_location
from partita.core.catalog.names import Span, names_of
from partita.core.store.values_identity import DerivedCell, FormerCell

_MODULUS = 1 << 64
_Rest = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A scheme as its one dimension of time and the others by name."""

    time: TimePartitions
    place: int
    others: Mapping[str, SinglePartitions]
    names: tuple[str, ...]

    def rest(self, key: str) -> _Rest | None:
        """The keys of the other dimensions of a stored key, by name."""
        parts = (key,) if self.names == ("",) else split_key(key)
        if parts is None or len(parts) != len(self.names):
            return None
        return tuple(sorted((name, part) for name, part in zip(self.names, parts, strict=True) if name in self.others))

    def key(self, rest: _Rest, time_key: str) -> str:
        """The stored key of a combination."""
        known = dict(rest)
        if self.names == ("",):
            return time_key
        return join_key([known.get(name, time_key) for name in self.names])


def tilings(
    new: PartitionsDef | None, old: PartitionsDef | None, held: Mapping[str, Span], as_of: datetime
) -> dict[str, tuple[str, ...]]:
    """By key of the partitions of `new` that exist: the keys of `old`, in order of time, whose windows together are its window.

    `held` are the windows (UTC) of the cells of `old` that hold something.

    >>> from datetime import UTC, timedelta
    >>> from partita.assets import Daily, Weekly
    >>> day, week = timedelta(days=1), datetime(2026, 3, 2, tzinfo=UTC)
    >>> held = {f"2026-03-0{2 + n}": (week + n * day, week + (n + 1) * day) for n in range(7)}
    >>> found = tilings(Weekly("2026-03-02"), Daily("2026-03-02"), held, week + 30 * day)
    >>> {key: len(parts) for key, parts in found.items()}
    {'2026-03-02': 7}
    """
    after, before = _shape(new), _shape(old)
    if after is None or before is None or not _fit(after, before):
        return {}
    windows = _windows(after.time, as_of)
    found: dict[str, tuple[str, ...]] = {}
    for rest, cells in _groups(before, held).items():
        if all(_exists(after.others[name], key, as_of) for name, key in rest):
            for time_key, parts in _tiled(windows, cells):
                found[after.key(rest, time_key)] = parts
    return found


def why_not(new: PartitionsDef | None, old: PartitionsDef | None) -> str:
    """Why no cell of one scheme can be made of cells of the other; "" when some may."""
    after, before = _shape(new), _shape(old)
    if after is None or before is None:
        return "only cells with a window of time can be put together, by one dimension of time"
    if not _fit(after, before):
        return "the two schemes have other dimensions beside time"
    return ""


def derived_cells(
    new: PartitionsDef | None,
    old: PartitionsDef | None,
    former: Sequence[FormerCell],
    *,
    fingerprint: str,
    dependency_hash: str,
    scheme: Any,
    as_of: datetime,
) -> list[DerivedCell]:
    """The cells to publish. `former` are the cells of the scheme `old`, whose JSON is `scheme`; of several with one key the last
    counts. `fingerprint` and `dependency_hash` are the present ones."""
    newest = {one.partition: one for one in sorted(former, key=lambda one: one.id) if one.window is not None}
    held = {key: one.window for key, one in newest.items() if one.window is not None}
    return [
        _derived(key, [newest[part] for part in parts], fingerprint, dependency_hash, scheme)
        for key, parts in sorted(tilings(new, old, held, as_of).items())
        if all(joinable(newest[part].location) for part in parts)
    ]


def joinable(location: str | None) -> bool:
    """Whether the data of a cell can be read as a part of another's."""
    return location is not None and location.partition(":")[0] in JOINABLE


def _derived(key: str, parts: Sequence[FormerCell], fingerprint: str, dependency_hash: str, scheme: Any) -> DerivedCell:
    (first, last) = (parts[0].window, parts[-1].window)
    assert first is not None
    assert last is not None
    # Made by several codes: recorded as made by one that is not the present one, if there was such, so that it counts as changed.
    codes = {one.fingerprint or "" for one in parts}
    counted = [one.rows for one in parts if one.rows is not None]
    metadata: dict[str, Any] = {"derived_from": {"scheme": scheme, "partitions": [one.partition for one in parts]}}
    if len(counted) == len(parts):
        metadata["rows"] = sum(counted)
    return DerivedCell(
        partition=key,
        window=(first[0], last[1]),
        data_version=derived_version((one.partition, one.data_version) for one in parts),
        fingerprint=min(codes - {fingerprint}, default=fingerprint),
        dependency_hash=dependency_hash,
        consumed_digest=sum(one.consumed_digest or 0 for one in parts) % _MODULUS,
        location=joined_location(one.location for one in parts if one.location is not None),
        metadata=metadata,
    )


def _shape(definition: PartitionsDef | None) -> _Shape | None:
    if isinstance(definition, TimePartitions):
        return _Shape(definition, 0, {}, ("",))
    if not isinstance(definition, MultiPartitions):
        return None
    times = [(place, one) for place, (_, one) in enumerate(definition.dims) if isinstance(one, TimePartitions)]
    if len(times) != 1:
        return None
    [(place, time)] = times
    others = {name: one for at, (name, one) in enumerate(definition.dims) if at != place}
    return _Shape(time, place, others, tuple(name for name, _ in definition.dims))


def _fit(after: _Shape, before: _Shape) -> bool:
    """The same dimensions beside time; their keys are compared one by one."""
    return after.others.keys() == before.others.keys()


def _windows(time: TimePartitions, as_of: datetime) -> dict[datetime, tuple[datetime, str]]:
    """The end and the key of each window that exists, by its start."""
    space = space_of(time, as_of)
    names = names_of(space)
    found = {}
    for ordinal in range(space.size):
        window = space.window_at(ordinal)
        assert window is not None
        found[window.start] = (window.end, names.key(ordinal))
    return found


def _groups(shape: _Shape, held: Mapping[str, Span]) -> dict[_Rest, dict[datetime, tuple[datetime, str]]]:
    """By keys of the other dimensions the end and the key of each held window by its start."""
    groups: dict[_Rest, dict[datetime, tuple[datetime, str]]] = {}
    for key, (start, end) in held.items():
        rest = shape.rest(key)
        if rest is not None:
            groups.setdefault(rest, {})[start] = (end, key)
    return groups


def _exists(definition: SinglePartitions, key: str, as_of: datetime) -> bool:
    return isinstance(definition, DynamicPartitions) or space_of(definition, as_of).find(key) is not None


def _tiled(
    windows: Mapping[datetime, tuple[datetime, str]], cells: Mapping[datetime, tuple[datetime, str]]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    for start in sorted(windows.keys() & cells.keys()):
        end, key = windows[start]
        at, parts = start, []
        while at < end and at in cells:
            at, part = cells[at]
            parts.append(part)
        if at == end:
            yield key, tuple(parts)
