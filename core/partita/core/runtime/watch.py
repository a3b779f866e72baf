"""Reload on change in `partita dev`: sees that modules of a location changed on disk, and asks its servers to load them again.

Owns looking (stat only, nothing is opened), waiting until an editor has finished, and asking until a server listens. What is
loaded, and what becomes active, is decided where it always is: by the server and by `LocationSync`. The pause between two looks
grows with what a look costs, so that watching takes about one hundredth of a core at most, however large the folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from partita.core.config import Config
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.servers import read_announcements
from partita.grpc.client import CodeLocationClient, CodeServerError

log = logging.getLogger(__name__)

Seen = Mapping[str, tuple[int, int]]
"""Per file its time of change in nanoseconds and its size in bytes."""

_LOOK_S = 0.5
_QUIET_S = 0.3
_SETTLING_S = 0.1
_RETRY_S = 1.0
_SHARE = 100
"""A look that takes 20 ms of CPU is followed by a pause of 2 s."""
_NAMED = 3


class Settling:
    """Says when a change is complete: the files have been other than before, and alike, for `quiet_s` seconds."""

    def __init__(self, seen: Seen, *, quiet_s: float = _QUIET_S) -> None:
        self._acted_on = seen
        self._last = seen
        self._since_s = 0.0
        self._quiet_s = quiet_s

    def look(self, seen: Seen, now_s: float) -> tuple[str, ...]:
        """The files that changed since the last complete change, sorted; empty while nothing did or it still goes on."""
        if seen != self._last:
            self._last, self._since_s = seen, now_s
        if seen == self._acted_on or now_s - self._since_s < self._quiet_s:
            return ()
        before, self._acted_on = self._acted_on, seen
        return tuple(sorted(name for name in before.keys() | seen.keys() if before.get(name) != seen.get(name)))

    @property
    def pending(self) -> bool:
        """Whether something changed that `look` has not told yet."""
        return self._last != self._acted_on


def look(root: Path, skipped: Iterable[Path] = ()) -> dict[str, tuple[int, int]]:
    """The Python files below `root`. Hidden folders, caches, virtual environments, links to folders and `skipped` are not
    walked into; what vanishes meanwhile is left out."""
    hidden = {str(one) for one in skipped}
    found: dict[str, tuple[int, int]] = {}
    pending = [str(root)]
    while pending:
        folder = pending.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            listed = list(entries)
            if folder != str(root) and any(one.name == "pyvenv.cfg" for one in listed):
                continue
            pending += [one.path for one in _folders(listed) if one.path not in hidden]
            found.update(_modules(listed))
    return found


def _folders(listed: Iterable[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for one in listed:
        if not one.name.startswith(".") and one.name not in {"__pycache__", "node_modules"}:
            with suppress(OSError):
                if one.is_dir(follow_symlinks=False):
                    yield one


def _modules(listed: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, tuple[int, int]]]:
    for one in listed:
        # Editors write through hidden files beside the real one.
        if one.name.endswith(".py") and not one.name.startswith("."):
            with suppress(OSError):
                facts = one.stat()
                yield one.path, (facts.st_mtime_ns, facts.st_size)


async def reload_on_change(deployment: Deployment, stopping: asyncio.Event) -> None:
    """A part of `partita dev`: watches the roots of the locations whose servers it started, until `stopping` is set."""
    config = deployment.config
    locations: dict[Path, list[str]] = {}
    for location in config.locations:
        if location.modules:
            locations.setdefault(location.root, []).append(location.name)
    watches = [_watch(config, root, names, stopping) for root, names in locations.items()]
    await asyncio.gather(*watches, _passed(stopping, None))


async def _watch(config: Config, root: Path, names: list[str], stopping: asyncio.Event) -> None:
    seen, cost_s = await asyncio.to_thread(_timed_look, root, config.home)
    settling = Settling(seen)
    due: set[str] = set()
    while True:
        calm_s = max(_LOOK_S, cost_s * _SHARE)
        pause_s = max(_SETTLING_S, cost_s) if settling.pending else min(calm_s, _RETRY_S) if due else calm_s
        if await _passed(stopping, pause_s):
            return
        seen, cost_s = await asyncio.to_thread(_timed_look, root, config.home)
        changed = settling.look(seen, time.monotonic())
        if changed:
            log.info("%s changed: loading %s again", _named(root, changed), ", ".join(names))
            due.update(names)
        for name in sorted(due):
            if await _reload(config, name):
                due.discard(name)


def _timed_look(root: Path, home: Path) -> tuple[Seen, float]:
    started_s = time.thread_time()
    return look(root, [home]), time.thread_time() - started_s


async def _reload(config: Config, location: str) -> bool:
    """Whether all servers of the location have loaded it again; one that is just starting is asked later."""
    addresses = read_announcements(config).get(location, [])
    for address in addresses:
        try:
            async with CodeLocationClient(address) as client:
                status = await client.reload()
        except CodeServerError as error:
            log.debug("location %s is not loaded again yet: %s", location, error)
            return False
        broken = [one.name for one in status.modules if not one.ok]
        if broken:
            log.warning("location %s: %s does not load: partita locations", location, ", ".join(broken))
    return bool(addresses)


def _named(root: Path, changed: tuple[str, ...]) -> str:
    names = [os.path.relpath(one, root) for one in changed[:_NAMED]]
    return ", ".join(names) + (f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else "")


async def _passed(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Whether the event was set within the time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()
