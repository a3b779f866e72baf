"""The catalog: the definitions of the active snapshots, or of a pinned run, as one graph with spaces and mappings."""

from typing import TYPE_CHECKING

from partita.core.faces import on_demand

if TYPE_CHECKING:
    from partita.core.catalog.activation import ActivationRefused, activation_problems, check_activation, declared_keys
    from partita.core.catalog.catalog import Catalog
    from partita.core.catalog.edges import EdgeMap, mask_of, set_of
    from partita.core.catalog.effective import Effective, effective_snapshot, kept_of
    from partita.core.catalog.identity import KnownIdentities, active_definitions
    from partita.core.catalog.inputs import CatalogInputs, resolve_inputs
    from partita.core.catalog.load import CatalogCache, load_catalog
    from partita.core.catalog.loading import read_snapshot
    from partita.core.catalog.moment import Link, Moment
    from partita.core.catalog.values import (
        CatalogAsset,
        CatalogInput,
        DefinitionsReader,
        StepKey,
        StoredSnapshot,
        Vector,
    )
else:
    __getattr__ = on_demand(
        __name__,
        {
            "partita.core.catalog.activation": "ActivationRefused activation_problems check_activation declared_keys",
            "partita.core.catalog.catalog": "Catalog",
            "partita.core.catalog.edges": "EdgeMap mask_of set_of",
            "partita.core.catalog.effective": "Effective effective_snapshot kept_of",
            "partita.core.catalog.identity": "KnownIdentities active_definitions",
            "partita.core.catalog.inputs": "CatalogInputs resolve_inputs",
            "partita.core.catalog.load": "CatalogCache load_catalog",
            "partita.core.catalog.loading": "read_snapshot",
            "partita.core.catalog.moment": "Link Moment",
            "partita.core.catalog.values": (
                "CatalogAsset CatalogInput DefinitionsReader StepKey StoredSnapshot Vector"
            ),
        },
    )

__all__ = [
    "ActivationRefused",
    "Catalog",
    "CatalogAsset",
    "CatalogCache",
    "CatalogInput",
    "CatalogInputs",
    "DefinitionsReader",
    "EdgeMap",
    "Effective",
    "KnownIdentities",
    "Link",
    "Moment",
    "StepKey",
    "StoredSnapshot",
    "Vector",
    "activation_problems",
    "active_definitions",
    "check_activation",
    "declared_keys",
    "effective_snapshot",
    "kept_of",
    "load_catalog",
    "mask_of",
    "read_snapshot",
    "resolve_inputs",
    "set_of",
]
