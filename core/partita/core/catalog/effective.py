"""The effective snapshot of a location: what loads now, with the last good definitions of what does not.

A definition that vanishes because its module does not load changes nothing (law 8); only a successful load of a
version that lacks an asset retires it. Pure: the caller reads the previous snapshot and stores the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partita.assets import AssetKey, AssetSpec, Snapshot


@dataclass(frozen=True, slots=True)
class Effective:
    """`kept` are the assets on their last good definition, each with the version (snapshot hash) that defines it."""

    snapshot: Snapshot
    kept: Mapping[AssetKey, str]

    def kept_json(self) -> list[dict[str, str]]:
        """The form of the column `snapshot.kept`."""
        return [{"key": key, "version": version} for key, version in sorted(self.kept.items())]


def kept_of(stored: Iterable[Mapping[str, Any]]) -> dict[AssetKey, str]:
    """The `kept` of a stored snapshot: the inverse of `Effective.kept_json`."""
    return {AssetKey(str(one["key"])): str(one["version"]) for one in stored}


def effective_snapshot(
    candidate: Snapshot, previous: Snapshot | None = None, version: str = "", kept: Mapping[AssetKey, str] | None = None
) -> Effective:
    """Merge into `candidate` what its broken modules defined in the effective snapshot `previous`.

    `version` is the hash of the previous snapshot and `kept` what it had itself kept from older ones.
    """
    broken = {module.name for module in candidate.modules if not module.ok}
    if previous is None or not broken:
        return Effective(candidate, {})
    present = {key for asset in candidate.assets for key in (asset.key, *asset.renamed_from)}
    saved = [asset for asset in previous.assets if asset.key not in present and _defined_in(asset, broken)]
    if not saved:
        return Effective(candidate, {})
    keys = {asset.key for asset in saved}
    older = kept or {}
    merged = candidate.model_copy(
        update={
            "assets": _sorted((*candidate.assets, *saved)),
            "steps": tuple(
                sorted(
                    (*candidate.steps, *(step for step in previous.steps if keys & set(step.assets))),
                    key=lambda step: step.id,
                )
            ),
            "checks": tuple(
                sorted(
                    (*candidate.checks, *(check for check in previous.checks if check.asset in keys)),
                    key=lambda check: (check.asset, check.name),
                )
            ),
        }
    )
    return Effective(merged, {key: older.get(key, version) for key in sorted(keys)})


def _sorted(assets: tuple[AssetSpec, ...]) -> tuple[AssetSpec, ...]:
    return tuple(sorted(assets, key=lambda asset: asset.key))


def _defined_in(asset: AssetSpec, modules: set[str]) -> bool:
    if asset.source is None:
        return False
    name = asset.source.module
    return name in modules or any(name.startswith(f"{module}.") for module in modules)
