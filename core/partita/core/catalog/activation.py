"""What must hold before a candidate snapshot becomes active: the union of locations is one sound graph.

Pure: the caller gives the effective snapshots of all locations as they would be. A refusal names every problem, and
changes nothing (law 10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from partita.assets import (
    AssetKey,
    AssetSpec,
    DynamicPartitions,
    PartitaError,
    PartitionsDef,
    Snapshot,
    check_fit,
    from_spec,
    self_mapping,
    suggest,
)
from partita.assets import Mapping as PartitionMapping
from partita.core.catalog.catalog import Catalog
from partita.core.catalog.dynamic import dynamic_parts
from partita.core.catalog.identity import follow_renames
from partita.core.catalog.loading import uncollected
from partita.core.catalog.values import StoredSnapshot
from partita.core.decide.identity import rename_problems
from partita.core.store.values import AssetId, LocationId, SnapshotId


class ActivationRefused(PartitaError):
    """A candidate that does not fit the other locations; `problems` are sentences, one a problem."""

    def __init__(self, what: str, *, rule: str = "", fix: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.problems = problems


def check_activation(snapshots: Iterable[Snapshot], as_of: datetime) -> None:
    """Raise ActivationRefused unless the union of these effective snapshots (one per location) is sound.

    Several candidates may be given at once, for locations that refer to each other.
    """
    union = list(snapshots)
    problems = activation_problems(union, as_of)
    if problems:
        names = ", ".join(sorted(one.location for one in union))
        raise ActivationRefused(
            f"the definitions of {names} do not fit together: " + "; ".join(problems),
            rule="the active snapshots of all locations form one graph",
            fix="the version before stays active",
            problems=tuple(problems),
        )


def activation_problems(snapshots: Iterable[Snapshot], as_of: datetime) -> list[str]:
    """Every problem of the union, in a stable order; mappings are checked at `as_of`."""
    with uncollected():  # the union is in memory as a whole, and so is the graph that is made of it
        return _problems(snapshots)


def _problems(snapshots: Iterable[Snapshot]) -> list[str]:
    union = follow_renames(sorted(snapshots, key=lambda one: one.location))
    owners: dict[AssetKey, str] = {}
    problems: list[str] = []
    for snapshot in union:
        for spec in snapshot.assets:
            owner = owners.setdefault(spec.key, snapshot.location)
            if owner != snapshot.location:
                problems.append(f"asset {spec.key!r} is defined in {owner!r} and in {snapshot.location!r}")
    problems += rename_problems(declared_keys(union))
    if problems:
        return problems
    mappings = _Mappings()
    problems += _dynamic_problems(union, mappings)
    assets = {spec.key: spec for snapshot in union for spec in snapshot.assets}
    loaded = {snapshot.location for snapshot in union}
    for snapshot in union:
        for spec in snapshot.assets:
            problems += _input_problems(spec, assets, owners, loaded, mappings)
        problems += _group_problems(snapshot, assets)
    return problems or _graph_problems(union, mappings)


class _Mappings:
    """Checks mappings between schemes, each question once: most assets of a location share a few of both."""

    def __init__(self) -> None:
        self._schemes: dict[PartitionsDef | None, PartitionsDef | None] = {}
        self._of: dict[AssetKey, PartitionsDef | None] = {}
        self._sound: set[tuple[PartitionMapping, int, int]] = set()

    def scheme(self, spec: AssetSpec) -> PartitionsDef | None:
        """The partition scheme of an asset; equal ones are one object. Raises DefinitionError."""
        if spec.key not in self._of:
            found = from_spec(spec.partitions)
            self._of[spec.key] = self._schemes.setdefault(found, found)
        return self._of[spec.key]

    def check(self, mapping: PartitionMapping, *, down: PartitionsDef | None, up: PartitionsDef | None) -> None:
        """`check_fit`, remembered where it found nothing."""
        asked = (mapping, id(down), id(up))
        if asked not in self._sound:
            check_fit(mapping, down=down, up=up)
            self._sound.add(asked)


def declared_keys(snapshots: Iterable[Snapshot]) -> dict[AssetKey, tuple[AssetKey, ...]]:
    """Every key of these snapshots with the keys that it had before."""
    return {spec.key: spec.renamed_from for one in snapshots for spec in one.assets}


def _dynamic_problems(union: Iterable[Snapshot], mappings: _Mappings) -> list[str]:
    """A dynamic scheme is one thing under its name: its keys are shared, so its cap and time to live are."""
    known: dict[str, tuple[DynamicPartitions, AssetKey]] = {}
    found: list[str] = []
    for snapshot in union:
        for spec in snapshot.assets:
            for part in dynamic_parts(mappings.scheme(spec)):
                first, key = known.setdefault(part.name, (part, spec.key))
                if first != part:
                    found.append(
                        f"dynamic partitions {part.name!r} have cap={first.cap} and ttl {_ttl(first)} in {key!r}, but "
                        f"cap={part.cap} and ttl {_ttl(part)} in {spec.key!r}; define them once and share the value"
                    )
    return found


def _ttl(part: DynamicPartitions) -> str:
    return "none" if part.ttl_s is None else f"{part.ttl_s:g} s"


def _input_problems(
    spec: AssetSpec,
    assets: Mapping[AssetKey, AssetSpec],
    owners: Mapping[AssetKey, str],
    loaded: set[str],
    mappings: _Mappings,
) -> list[str]:
    found: list[str] = []
    for one in spec.inputs:
        upstream = assets.get(one.upstream)
        if upstream is None and one.location is not None and one.location not in loaded:
            continue  # its location is not loaded yet; the planner blocks what needs it
        if upstream is None:
            hint = suggest(one.upstream, assets)
            where = f" of location {one.location!r}" if one.location else ""
            found.append(f"{spec.key!r} reads {one.upstream!r}{where}, which no location defines" + _tail(hint))
            continue
        if one.location is not None and owners[one.upstream] != one.location:
            found.append(
                f"{spec.key!r} reads {one.upstream!r} from location {one.location!r}, but {owners[one.upstream]!r} defines it"
            )
        try:
            mapping = from_spec(one.mapping)
            mappings.check(
                self_mapping(mapping) if one.upstream == spec.key else mapping,
                down=mappings.scheme(spec),
                up=mappings.scheme(upstream),
            )
        except PartitaError as refused:
            found.append(f"input {one.name!r} of {spec.key!r} from {one.upstream!r}: {refused}")
    return found


def _group_problems(snapshot: Snapshot, assets: Mapping[AssetKey, AssetSpec]) -> list[str]:
    return [
        f"step {step.id!r} makes {', '.join(repr(key) for key in step.assets)} with different partitions"
        for step in snapshot.steps
        if len({assets[key].partitions for key in step.assets if key in assets}) > 1
    ]


def _graph_problems(union: list[Snapshot], mappings: _Mappings) -> list[str]:
    keys = [spec.key for snapshot in union for spec in snapshot.assets]
    ids = {key: AssetId(index) for index, key in enumerate(keys)}
    stored = [
        StoredSnapshot(LocationId(index), snapshot.location, SnapshotId(index), "", snapshot)
        for index, snapshot in enumerate(union)
    ]
    try:
        Catalog(stored, ids)
        for snapshot in union:
            for spec in snapshot.assets:
                mappings.scheme(spec)  # also of assets that nothing reads; the inputs' mappings are known to be sound
    except PartitaError as refused:
        return [str(refused)]
    return []


def _tail(hint: str) -> str:
    return f" ({hint})" if hint else ""
