"""Whether a mapping fits two schemes, at any time: what can be said before anything runs.

`check_mapping` asks whether a mapping can be evaluated; here also whether it asks for partitions that can never exist, because
the keys of a scheme are written down. Keys of dynamic schemes come and go, so nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from partita.assets.errors import DefinitionError, suggest
from partita.assets.mappings.definitions import (
    All,
    DimensionMapping,
    Dimensions,
    Identity,
    Mapping,
    Specific,
    StaticTable,
    dims_of,
)
from partita.assets.mappings.evaluate import check_mapping
from partita.assets.partitions.definitions import (
    DynamicPartitions,
    MultiPartitions,
    PartitionsDef,
    StaticPartitions,
    TimePartitions,
)
from partita.assets.partitions.existing import space_of
from partita.assets.partitions.space import PartitionSpace

_AHEAD = datetime(2300, 1, 1, tzinfo=UTC)
"""Nearly every window that anybody will ask for has closed by then. Every year before it costs: where clocks change, a grid knows
each change, and each process that loads the graph works them out."""
_AFTER_ALL = datetime(9000, 1, 1, tzinfo=UTC)
"""Every window that anybody will ever ask for has closed by then."""
_NAMED = 3


def check_fit(mapping: Mapping, *, down: PartitionsDef | None, up: PartitionsDef | None) -> None:
    """Raise DefinitionError when a mapping between two schemes can not be evaluated, or needs what can never exist.

    >>> check_fit(Specific(("JFX",)), down=Daily("2026-03-01"), up=Static("EWR", "JFK"))
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: partition 'JFX' is needed and can never exist; ...; did you mean 'JFK'?
    """
    if down == up and isinstance(mapping, Identity):
        return
    if isinstance(mapping, All):
        return
    check_mapping(mapping, down=_ever(down), up=_ever(up))
    if isinstance(mapping, Dimensions):
        downs, ups = dict(dims_of(down)), dict(dims_of(up))
        for pair in mapping.pairs:
            _check_keys(pair.mapping, None if pair.down is None else downs[pair.down], ups[pair.up])
    else:
        _check_keys(mapping, down, up)


def _check_keys(mapping: DimensionMapping, down: PartitionsDef | None, up: PartitionsDef | None) -> None:
    match mapping:
        case Specific(keys):
            _refuse_absent(keys, up)
        case StaticTable():
            _refuse_own(mapping.needs, down)
            _refuse_absent(mapping.touches, up)
        case Identity() if isinstance(down, StaticPartitions) and isinstance(up, StaticPartitions):
            _refuse_absent(down.keys, up)
        case Identity() if (down is None) != (up is None):
            raise DefinitionError(
                "the same key is asked for, and only one of the two is partitioned",
                rule="an unpartitioned asset has one partition without a name",
                fix="use All, Last or Specific (in user code all_, last() or specific(...)), or leave the mapping out",
            )


def _refuse_absent(needed: Iterable[str], up: PartitionsDef | None) -> None:
    absent = _never(needed, up)
    if absent:
        raise DefinitionError(
            f"partition {_listed(absent)} is needed and can never exist",
            rule=f"the upstream has {_described(up)}",
            fix=_nearest(absent[0], up) or "correct the key, or map by a table",
        )


def _refuse_own(own: Iterable[str], down: PartitionsDef | None) -> None:
    absent = _never(own, down)
    if absent:
        raise DefinitionError(
            f"the table has a row for {_listed(absent)}, which is no own partition",
            rule=f"the own scheme has {_described(down)}",
            fix=_nearest(absent[0], down) or "correct the key, or remove the row",
        )


def _never(keys: Iterable[str], scheme: PartitionsDef | None) -> list[str]:
    """The keys that can never name a partition of the scheme."""
    if any(isinstance(one, DynamicPartitions) for _, one in dims_of(scheme)):
        return []
    near = _ever(scheme)
    absent = [key for key in keys if near.find(key) is None]
    if not absent:
        return []
    far = space_of(scheme, _AFTER_ALL)
    return [key for key in absent if far.find(key) is None]


@lru_cache(maxsize=1024)
def _ever(scheme: PartitionsDef | None) -> PartitionSpace:
    return space_of(scheme, _AHEAD)


def _listed(keys: list[str]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return ", ".join(map(repr, keys[:_NAMED])) + more


def _described(scheme: PartitionsDef | None) -> str:
    if scheme is None:
        return "no partitions"
    if isinstance(scheme, StaticPartitions):
        more = f" and {len(scheme.keys) - _NAMED} more" if len(scheme.keys) > _NAMED else ""
        return f"the keys {', '.join(scheme.keys[:_NAMED])}{more}"
    if isinstance(scheme, TimePartitions):
        first = f", the first {_ever(scheme).key_at(0)}" if _ever(scheme).size else ""
        return f"the windows of {scheme.cron!r} in {scheme.tz}{first}"
    if isinstance(scheme, MultiPartitions):
        return f"keys of the dimensions {', '.join(name for name, _ in scheme)}"
    return "dynamic keys"


def _nearest(key: str, scheme: PartitionsDef | None) -> str:
    return suggest(key, scheme.keys) if isinstance(scheme, StaticPartitions) else ""
