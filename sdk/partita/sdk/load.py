"""Imports the modules of a location and gives its snapshot and its steps.

Owns import isolation: modules load one after another; one that raises is rolled back (its definitions, and the project
modules which only it had imported) and reported, and the others stay. Refuses to limit time: whoever runs this process
does, by the announcements of `on_progress`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from partita.assets import AssetKey, DefinitionError, ModuleSpec, Snapshot, suggest
from partita.sdk.collector import Collector, collecting
from partita.sdk.definitions import AssetDef
from partita.sdk.evaluators import EvaluatorDef
from partita.sdk.executable import StepHandle
from partita.sdk.fingerprint import Sources
from partita.sdk.fresh import compile_from_text
from partita.sdk.io.base import IOManager
from partita.sdk.snapshot import build_snapshot, resolve_all

Progress = Callable[[str, str], None]

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_ours: set[str] = set()
"""Project modules that loads of this process imported: a later load imports them anew."""


@dataclass(frozen=True, slots=True)
class LoadedLocation:
    """A location as this process imported it."""

    snapshot: Snapshot
    steps: Mapping[str, StepHandle]
    io: Mapping[str, IOManager] = field(default_factory=dict)
    """The managers that its modules declared, by name."""
    assets: Mapping[AssetKey, AssetDef] = field(default_factory=dict)
    """All definitions, external ones too."""
    evaluators: Mapping[str, EvaluatorDef] = field(default_factory=dict)
    """Observers, schedules and sensors by name."""


def load_location(
    name: str,
    root: Path,
    modules: Sequence[str],
    *,
    on_progress: Progress = lambda event, module: None,
    left_out: Mapping[str, str] | None = None,
) -> LoadedLocation:
    """Import `modules` (names; "package.*" means every module in that package) with `root` first on sys.path.

    `on_progress` hears ("importing", module), then ("imported", module) or ("broken", module). `left_out` maps modules
    that must not be imported (they hung or crashed before) to the error to report. Raises DefinitionError when `root`
    is no folder or no module is named; broken modules are in `snapshot.modules` instead.
    """
    root = root.resolve()
    if not root.is_dir():
        raise DefinitionError(f"location {name!r}: {root} is no folder", fix="correct its root in partita.toml")
    listed = expand_modules(root, modules)
    if not listed:
        raise DefinitionError(f"location {name!r} names no module", fix="list one or more modules in partita.toml")
    _forget_earlier_loads(listed)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    sources = Sources(root)
    compile_from_text(root, sources)

    collector = Collector(root=root, listed=listed, strict=True)
    broken: dict[str, str] = {module: why for module, why in (left_out or {}).items() if module in listed}
    import_s: dict[str, float] = {}
    for module in listed:
        if module in broken:
            continue
        on_progress("importing", module)
        started_s = time.perf_counter()
        error = _import(module, collector, sources)
        import_s[module] = time.perf_counter() - started_s
        if error is not None:
            broken[module] = error
        on_progress("imported" if error is None else "broken", module)

    resolved = resolve_all(collector, broken)
    for manager in {one for handle in resolved.steps.values() for one in handle.io.values() if one is not None}:
        manager.preload()
    specs = [
        ModuleSpec(name=module, ok=module not in broken, error=broken.get(module), import_s=import_s.get(module, 0.0))
        for module in listed
    ]
    snapshot = build_snapshot(name, resolved, specs, sources)
    managers = {key: manager for key, (manager, _) in collector.io.items()}
    return LoadedLocation(snapshot, resolved.steps, managers, dict(collector.assets), dict(collector.evaluators))


def expand_modules(root: Path, modules: Sequence[str]) -> tuple[str, ...]:
    """The modules to import, each once: "package.*" stands for the modules directly in that package, by name."""
    found: dict[str, None] = {}
    for name in modules:
        package, star, _ = name.partition(".*")
        if not star:
            found[name] = None
            continue
        folder = root.joinpath(*package.split("."))
        if not folder.is_dir():
            raise DefinitionError(
                f"module {name!r}: there is no package {package!r} in the location",
                rule="PACKAGE.* means the modules in the folder of that package",
                fix=suggest(package, [one.name for one in root.iterdir() if one.is_dir()]),
            )
        found.update(dict.fromkeys(f"{package}.{one.name}" for one in pkgutil.iter_modules([str(folder)])))
    return tuple(found)


def _import(module: str, collector: Collector, sources: Sources) -> str | None:
    """Import one module; its error text when it is broken, after which it left no trace."""
    before = set(sys.modules)
    collector.loading = module
    error: str | None = None
    with collecting(collector):
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as raised:
            error = _error_text(raised, collector.root or Path(), sources)
    collector.loading = None
    local = {name for name in set(sys.modules) - before if _is_local(name, sources)}
    if error is not None:
        collector.drop_module(module)
        for name in local:
            # What a listed module of its own registered stays registered, so that module stays imported.
            if collector.owner_of(name) in (None, module):
                del sys.modules[name]
    _ours.update(local)
    return error


def _is_local(name: str, sources: Sources) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and sources.is_local(Path(file)) and name.partition(".")[0] != "partita"


def _forget_earlier_loads(listed: Sequence[str]) -> None:
    for name in list(sys.modules):
        if name in _ours or any(name == one or name.startswith(f"{one}.") for one in listed):
            del sys.modules[name]
    _ours.clear()


def _error_text(error: BaseException, root: Path, sources: Sources) -> str:
    """The error with the frames of user code; the same text on every machine, because it is part of the snapshot."""
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file.is_absolute() and sources.is_local(file):
            lines.append(f"  {file.relative_to(root).as_posix()}:{frame.lineno} in {frame.name}: {frame.line}")
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(root):
        lines.append(
            f"  {Path(error.filename).relative_to(root).as_posix()}:{error.lineno}: {(error.text or '').strip()}"
        )
        message = error.msg
    else:
        message = str(error)
    text = "\n".join([*lines, f"{type(error).__name__}: {message}"])
    return _ADDRESS.sub("0x...", text.replace(f"{root}/", "").replace(str(root), "."))
