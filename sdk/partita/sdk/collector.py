"""Where definitions register while a module is imported.

Owns the registry of the loading location, the attribution of a definition to a module, and rolling a broken module
back. Outside of a load an ambient collector takes definitions leniently (the last one of a key wins), so that tests
and notebooks can define assets freely; the strict rules hold where it counts, in `load_location`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from partita.assets import AssetKey, DefinitionError
from partita.sdk.definitions import AssetDef, CheckDef, ModuleDefaults, Place, StepDef

if TYPE_CHECKING:
    from partita.sdk.evaluators import EvaluatorDef
    from partita.sdk.io.base import IOManager


@dataclass(frozen=True, slots=True)
class CallSite:
    """Who called a decorator: its place, the modules on the way out to the import, and the nearest local names."""

    place: Place
    modules: tuple[str, ...]
    local_names: dict[str, Any]


class Collector:
    """The definitions of one location, in order of registration."""

    def __init__(self, *, root: Path | None = None, listed: Sequence[str] = (), strict: bool = False) -> None:
        self.root = root
        self.listed = tuple(listed)
        self.strict = strict
        self.loading: str | None = None
        self.steps: dict[str, StepDef] = {}
        self.assets: dict[AssetKey, AssetDef] = {}
        self.checks: dict[tuple[str, str], CheckDef] = {}
        self.defaults: dict[str, ModuleDefaults] = {}
        self.io: dict[str, tuple[IOManager, Place]] = {}
        self.evaluators: dict[str, EvaluatorDef] = {}

    def add_step(self, step: StepDef) -> None:
        """Register a step and its assets, all or none."""
        for made in step.assets:
            self._refuse_twice(made)
        self.steps[step.id] = step
        for made in step.assets:
            self.assets[made.key] = made

    def add_external(self, asset: AssetDef) -> None:
        """Register an asset that nothing here makes."""
        self._refuse_twice(asset)
        self.assets[asset.key] = asset

    def add_check(self, check: CheckDef) -> None:
        """Register a check; its name is unique per asset."""
        asset = check.asset if isinstance(check.asset, str) else check.asset.key
        known = self.checks.get((asset, check.name))
        if known is not None and self.strict:
            raise DefinitionError(
                f"check {check.name!r} of {asset!r} is defined twice: {known.place} and {check.place}",
                rule="the name of a check is unique for its asset",
                fix="rename one of the functions, or give name=",
            )
        self.checks[asset, check.name] = check

    def add_evaluator(self, made: EvaluatorDef) -> None:
        """Register an observer, schedule or sensor; its name is unique within a location."""
        known = self.evaluators.get(made.spec.name)
        if known is not None and self.strict:
            raise DefinitionError(
                f"{made.spec.kind} {made.spec.name!r} is defined twice: {known.place} and {made.place}",
                rule="observers, schedules and sensors of a location have names of their own",
                fix="rename one of the functions, or give name=",
            )
        self.evaluators[made.spec.name] = made

    def observe_external(self, key: AssetKey) -> None:
        """From now on somebody says which versions this external asset holds."""
        known = self.assets.get(key)
        if known is not None and known.kind == "external":
            self.assets[key] = replace(known, observed=True)

    def add_io(self, manager: IOManager, place: Place) -> None:
        """Register an IO manager under its name; another of the same name and settings is the same."""
        known = self.io.get(manager.name)
        if known is not None and self.strict and known[0] != manager:
            raise DefinitionError(
                f"IO manager {manager.name!r} is defined twice with different settings: {known[1]} and {place}",
                rule="the name of an IO manager is unique within a location",
                fix="rename one of them",
            )
        self.io.setdefault(manager.name, (manager, place))

    def set_defaults(self, site: CallSite, said: ModuleDefaults) -> None:
        """Record `defaults()` of the calling module; once, and above its assets."""
        module = site.modules[0]
        known = self.defaults.get(module)
        if known is not None and self.strict:
            raise DefinitionError(
                f"defaults() is called twice in module {module}: {known.place} and {said.place}",
                rule="a module has one set of defaults",
                fix="join the two calls",
            )
        own = [asset for asset in self.assets.values() if asset.place.file == said.place.file]
        earlier = [asset for asset in own if asset.kind == "asset"]
        if earlier and self.strict:
            raise DefinitionError(
                f"defaults() at {said.place} comes after {earlier[0].key!r} ({earlier[0].place})",
                rule="defaults apply to the assets below them",
                fix="move defaults() to the top of the module",
            )
        self.defaults[module] = said

    def defaults_for(self, site: CallSite) -> ModuleDefaults:
        """The defaults of the nearest module on the call path that has some."""
        found = next((self.defaults[module] for module in site.modules if module in self.defaults), None)
        return found or ModuleDefaults(place=site.place)

    def drop_module(self, module: str) -> None:
        """Forget everything that the import of a listed module registered."""
        self.steps = {key: one for key, one in self.steps.items() if one.place.module != module}
        self.assets = {key: one for key, one in self.assets.items() if one.place.module != module}
        self.checks = {key: one for key, one in self.checks.items() if one.place.module != module}
        self.defaults = {key: one for key, one in self.defaults.items() if one.place.module != module}
        self.io = {key: one for key, one in self.io.items() if one[1].module != module}
        self.evaluators = {key: one for key, one in self.evaluators.items() if one.place.module != module}

    def site(self, frame: FrameType) -> CallSite:
        """Describe the caller whose frame is `frame`."""
        modules = tuple(dict.fromkeys(_modules_until_import(frame)))
        listed = next((owner for name in modules if (owner := self.owner_of(name)) is not None), None)
        place = Place(listed or self.loading or modules[0], self._file(frame), frame.f_lineno)
        local_names = {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
        return CallSite(place, modules, local_names)

    def owner_of(self, module: str) -> str | None:
        """The most specific listed module that is `module` or a package above it."""
        owners = [name for name in self.listed if module == name or module.startswith(f"{name}.")]
        return max(owners, key=len, default=None)

    def _file(self, frame: FrameType) -> str:
        file = Path(frame.f_code.co_filename)
        if self.root is None:
            return str(file)
        if file.is_relative_to(self.root):
            return file.relative_to(self.root).as_posix()
        # Installed beside the location: its folder differs between machines, its module name does not.
        return str(frame.f_globals.get("__name__", "?")).replace(".", "/") + ".py"

    def _refuse_twice(self, asset: AssetDef) -> None:
        known = self.assets.get(asset.key)
        if known is None or not self.strict:
            return
        raise DefinitionError(
            f"asset {asset.key!r} is defined twice: {known.place} and {asset.place}",
            rule="a key belongs to one definition",
            fix="rename one of them, or give key=",
        )


_ambient = Collector()
_active: ContextVar[Collector] = ContextVar("partita_collector", default=_ambient)


def current() -> Collector:
    """The collector of the loading location, or the ambient one."""
    return _active.get()


@contextmanager
def collecting(collector: Collector) -> Iterator[Collector]:
    """Definitions made inside register in `collector`."""
    token = _active.set(collector)
    try:
        yield collector
    finally:
        _active.reset(token)


def caller(depth: int) -> CallSite:
    """The call site `depth` frames above the function that calls this."""
    return current().site(sys._getframe(depth + 1))


def _modules_until_import(frame: FrameType | None) -> Iterator[str]:
    # Beyond the import machinery stands whoever imported the module: its defaults are not this module's.
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        yield str(frame.f_globals.get("__name__", "?"))
        frame = frame.f_back
