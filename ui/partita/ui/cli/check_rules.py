"""What `partita check` finds wrong with loaded definitions (S-062, S-063, S-239, S-244). Pure: what loaded in, findings out.

Errors are what would break the deployment: a module that does not load in time, a key twice, a cycle, an unknown upstream.
Warnings are policy: slow imports, threads at import, assets without an owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from partita.assets import Snapshot


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """How the import of one module went; `import_s` in seconds."""

    name: str
    ok: bool
    error: str
    import_s: float
    warning: str = ""


@dataclass(frozen=True, slots=True)
class CheckedLocation:
    """What the loader said of one location; no snapshot when nothing could be loaded."""

    name: str
    modules: tuple[CheckedModule, ...]
    snapshot: Snapshot | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Literal["error", "warning"]
    code: str
    location: str
    subject: str
    what: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("severity", "code", "location", "subject", "what", "fix")}


def findings_of(locations: Sequence[CheckedLocation], problems: Iterable[str], *, max_import_s: float) -> list[Finding]:
    """All findings, errors first; `problems` are those of the union of all locations."""
    found = [finding for location in locations for finding in _of_location(location, max_import_s)]
    found += [Finding("error", "not_sound", "", "", problem) for problem in problems]
    return sorted(found, key=lambda one: one.severity != "error")


def fails(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Whether a CI job must stop here."""
    return any(strict or one.severity == "error" for one in findings)


def _of_location(location: CheckedLocation, max_import_s: float) -> list[Finding]:
    found: list[Finding] = []
    if location.error:
        found.append(Finding("error", "location_broken", location.name, "", location.error))
    for module in location.modules:
        found += _of_module(location.name, module, max_import_s)
    for asset in location.snapshot.assets if location.snapshot is not None else ():
        if asset.kind == "asset" and asset.owner is None:
            fix = "give owner=, or defaults(owner=...) for its module"
            found.append(Finding("warning", "no_owner", location.name, asset.key, "it has no owner", fix))
    return found


def _of_module(location: str, module: CheckedModule, max_import_s: float) -> list[Finding]:
    if not module.ok:
        return [Finding("error", "module_broken", location, module.name, module.error.strip() or "it does not load")]
    found = []
    if module.import_s > max_import_s:
        what = f"its import takes {module.import_s:.1f} s, more than {max_import_s:g} s"
        fix = "move network calls and heavy imports from the top level into the functions"
        found.append(Finding("warning", "slow_import", location, module.name, what, fix))
    found += [Finding("warning", "module_warning", location, module.name, one) for one in module.warning.splitlines()]
    return found
