"""Who says what about which external cell: names become cells, or the whole is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.assets import PartitaError
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.names import names_of
from partita.core.decide.observe import Observation
from partita.core.store.values import CellRef

MOST_VERSION_CHARS = 1_000


class ObservationRefused(PartitaError):
    """What was said cannot be recorded."""


@dataclass(frozen=True, slots=True)
class Said:
    """One partition of an external asset holds this data version; `partition` is "" for one without partitions."""

    asset: str
    partition: str
    data_version: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def observations_of(catalog: Catalog, said: Iterable[Said], now: datetime) -> list[Observation]:
    """Raises ObservationRefused for an asset that nobody observes, and UnknownAsset and UnknownPartition."""
    return [_observation(catalog, one, now) for one in said]


def _observation(catalog: Catalog, one: Said, now: datetime) -> Observation:
    asset = _observed(catalog, one.asset)
    if not 0 < len(one.data_version) <= MOST_VERSION_CHARS:
        raise ObservationRefused(
            f"asset {one.asset!r}, partition {one.partition!r}: a data version of {len(one.data_version):,} characters",
            rule=f"it has 1 to {MOST_VERSION_CHARS:,}",
            fix="give a digest of what identifies the data",
        )
    space = catalog.space(asset.key, now)
    ordinal = space.ordinal_of(one.partition)
    names = names_of(space)
    return Observation(CellRef(asset.id, names.key(ordinal)), one.data_version, names.window(ordinal), one.metadata)


def _observed(catalog: Catalog, key: str) -> CatalogAsset:
    asset = catalog.asset(key)
    if not asset.external:
        raise ObservationRefused(
            f"asset {key!r} is made by partita", rule="external assets are observed", fix="materialize it"
        )
    if not asset.spec.observed:
        raise ObservationRefused(
            f"external asset {key!r} is observed by nobody",
            rule="it is taken as present with a version that never moves",
            fix=f'declare external({key!r}, observe="push"), or write an @observe function for it',
        )
    return asset
