"""What changes between two versions of a location's definitions, and what that does to its cells."""

from partita.core.changes.accept import AcceptPreview, AssetAcceptance, preview_acceptance
from partita.core.changes.compare import code_change, compare
from partita.core.changes.deploy import DeployDiff, deploy_diff
from partita.core.changes.impact import Impact, impact_of
from partita.core.changes.values import (
    AssetChange,
    CodeChange,
    Difference,
    PartitionsChange,
    Rename,
)

__all__ = [
    "AcceptPreview",
    "AssetAcceptance",
    "AssetChange",
    "CodeChange",
    "DeployDiff",
    "Difference",
    "Impact",
    "PartitionsChange",
    "Rename",
    "code_change",
    "compare",
    "deploy_diff",
    "impact_of",
    "preview_acceptance",
]
