"""Which code versions this server holds: loading, reloading beside the old one, draining, restarting what crashed.

Owns versions and the table of running attempts. Refuses gRPC (`app`) and processes (`warm`). A version that is loaded is
never changed: a reload adds one, and an old one goes when nothing can need it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import uuid
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

from partita.grpc.server import procs
from partita.grpc.server.attempt import Attempt, Stop, StopCause, refusal
from partita.grpc.server.hosts import TriggerHost
from partita.grpc.server.loading import Loaded, LoadOrder, LocationFailed, ModuleKilled
from partita.grpc.server.warm import ProcessGone, Warm
from partita.grpc.v1 import code_location_pb2 as pb

_log = logging.getLogger("partita.code_server")

_LONG_LIFE_S = 60.0
_MAX_BACKOFF_S = 30.0
_MAX_IDLE_VERSIONS = 2
"""Old versions kept for runs that are pinned to them. Each is a process with the user's libraries in memory, and a person
who saves a file twenty times in five minutes makes twenty."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a server serves, and its limits in seconds."""

    location: str
    root: Path
    modules: tuple[str, ...]
    import_timeout_s: float = 60.0
    """Per module (S-055)."""
    drain_s: float = 300.0
    """How long an old version waits for further attempts of the runs that are pinned to it."""


class DuplicateAttempt(Exception):
    """An attempt of this id is running: two processes must never work for one attempt."""


@dataclass(slots=True)
class _Version:
    loaded: Loaded
    processes: list[Warm] = field(default_factory=list)
    """The newest serves; older ones of the same definitions only finish what they run."""
    used_at_s: float = 0.0

    @property
    def serving(self) -> Warm | None:
        return self.processes[-1] if self.processes and self.processes[-1].alive else None

    @property
    def running(self) -> int:
        return sum(len(process.attempts) for process in self.processes)

    def holds(self, module: str) -> bool:
        return any(status.name == module and status.ok for status in self.loaded.modules)


class Supervisor:
    """The state of a code-location server. One per process."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.server_id = uuid.uuid4().hex
        self._loop = asyncio.get_running_loop()
        self._versions: dict[str, _Version] = {}  # in the order of loading
        self._active = ""
        self._error = ""
        self._processes: set[Warm] = set()
        self._loads_wanted = 1
        self._loads_done = 0
        self._restart_due = False
        self._changed = asyncio.Condition()
        self._revision = 0
        self._attempts: dict[str, Attempt] = {}
        self._hosts: set[TriggerHost] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._crashes = 0
        self._closing = False

    def __repr__(self) -> str:
        return f"<Supervisor {self.config.location} active={self._active[:12]} versions={len(self._versions)}>"

    @property
    def loading(self) -> bool:
        """Whether a load is under way or about to start."""
        return self._loads_done < self._loads_wanted or self._restart_due

    @property
    def process_ids(self) -> set[int]:
        """The zygotes of this server, those that load or stop included."""
        return {process.pid for process in self._processes}

    def start(self) -> None:
        """Begin the first load."""
        self._spawn_task(self._load_loop())

    def status(self) -> pb.LocationStatus:
        """What the server holds now."""
        versions = sorted(self._versions.items(), key=lambda item: item[0] != self._active)
        active = self._versions.get(self._active)
        return pb.LocationStatus(
            location=self.config.location,
            active_version=self._active,
            versions=[
                pb.VersionStatus(version=key, accepts_new=version.serving is not None, running_attempts=version.running)
                for key, version in versions
            ],
            modules=active.loaded.modules if active else (),
            server_id=self.server_id,
            loading=self.loading,
            error=self._error,
        )

    async def watch(self) -> AsyncIterator[pb.LocationStatus]:
        """Yield the status now and after each change of versions, modules or loading, until the server closes."""
        while True:
            seen = self._revision
            yield self.status()
            async with self._changed:
                await self._changed.wait_for(lambda: self._closing or self._revision != seen)  # noqa: B023 - awaited here
            if self._closing:
                return

    def definitions(self, version: str) -> Loaded | None:
        """The loaded version, the active one for "", None when it is not here."""
        found = self._versions.get(version or self._active)
        return found.loaded if found else None

    async def reload(self) -> None:
        """Load again and return when that load, begun after this call, has ended."""
        wanted = self._want_load()
        async with self._changed:
            await self._changed.wait_for(lambda: self._closing or self._loads_done >= wanted)

    def _want_load(self) -> int:
        self._loads_wanted += 1
        if self._loads_done == self._loads_wanted - 1:  # else the loop that runs will take it up
            self._spawn_task(self._load_loop())
        return self._loads_wanted

    async def execute(self, request: pb.ExecuteRequest) -> Attempt | pb.ExecuteEvents:
        """Start an attempt, or return the stream that says why not. Raises DuplicateAttempt."""
        while True:
            version = await self._version_when_loaded(request.version)
            if self._closing:
                return refusal(pb.Finished.LOST, StopCause.SHUTDOWN.value)
            if request.attempt_id in self._attempts:
                raise DuplicateAttempt(f"attempt {request.attempt_id} is running in this server already")
            process = version.serving if version else None
            if version is None or process is None:
                return refusal(pb.Finished.VERSION_GONE, self._version_gone(request.version))
            if unknown := version.loaded.unknown(request):
                return refusal(pb.Finished.VERSION_GONE, unknown)
            version.used_at_s = self._loop.time()
            try:
                attempt = process.start_attempt(request)
            except ProcessGone:
                await process.exited.wait()  # and with it its replacement begins to load
                continue
            except OSError as error:
                return refusal(pb.Finished.LOST, f"the code-location server could not start a process: {error}")
            self._attempts[attempt.attempt_id] = attempt
            self._spawn_task(self._forget_when_ended(attempt, version))
            return attempt

    async def open_host(self, version: str) -> TriggerHost | str:
        """Start a host of triggers of a version, or say why there is none."""
        while True:
            found = await self._version_when_loaded(version)
            if self._closing:
                return StopCause.SHUTDOWN.value
            process = found.serving if found else None
            if found is None or process is None:
                return self._version_gone(version)
            found.used_at_s = self._loop.time()
            try:
                host = process.start_host(f"triggers-{uuid.uuid4().hex[:8]}")
            except ProcessGone:
                await process.exited.wait()
                continue
            self._hosts.add(host)
            self._spawn_task(self._forget_host(host, found))
            return host

    async def _version_when_loaded(self, name: str) -> _Version | None:
        """The version of that name, the active one for "". One that does not serve may be back when a load has ended."""
        version = self._versions.get(name or self._active)
        if (version is None or version.serving is None) and self.loading:
            # A restarted server, or a zygote that crashed.
            async with self._changed:
                await self._changed.wait_for(lambda: self._closing or not self.loading)
            version = self._versions.get(name or self._active)
        return version

    async def _forget_host(self, host: TriggerHost, version: _Version) -> None:
        await host.ended.wait()
        self._hosts.discard(host)
        version.used_at_s = self._loop.time()
        self._retire()

    def cancel(self, attempt_id: str, reason: str) -> bool:
        """Stop an attempt. False when it does not run here."""
        attempt = self._attempts.get(attempt_id)
        if attempt is None:
            return False
        attempt.stop(Stop(StopCause.CANCELLED, reason or "cancelled"))
        return True

    async def close(self, grace_s: float) -> None:
        """Stop every attempt, with at most `grace_s` seconds to end by itself, then every process."""
        self._closing = True
        self._announce()
        running = list(self._attempts.values())
        for attempt in running:
            attempt.stop(Stop(StopCause.SHUTDOWN, StopCause.SHUTDOWN.value))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await asyncio.gather(*(attempt.ended.wait() for attempt in running))
        for attempt in running:
            attempt.kill()
        for host in self._hosts:
            host.kill(StopCause.SHUTDOWN.value)
        await asyncio.gather(*(process.stop() if process.loaded else process.kill() for process in self._processes))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end_orphans(self) -> None:
        """Kill and reap adopted processes whose zygote died before it could. On SIGCHLD; the process must be ours alone."""
        for pid in procs.children() - self.process_ids:
            procs.signal_group(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    async def _load_loop(self) -> None:
        while self._loads_done < self._loads_wanted and not self._closing:
            wanted = self._loads_wanted
            self._announce()
            try:
                await self._load_once()
            except LocationFailed as failure:
                self._error = str(failure)
                _log.error("location %s: %s", self.config.location, failure)
            except Exception:
                self._error = "the server failed to load the location; see its log"
                _log.exception("location %s", self.config.location)
            self._loads_done = wanted
            self._retire()
            self._announce()

    async def _load_once(self) -> None:
        """Load in fresh processes until one comes through: each module that takes a process down is left out of the next."""
        left_out: dict[str, str] = {}
        while not self._closing:
            order = LoadOrder(self.config.location, self.config.root, self.config.modules, dict(left_out))
            process = Warm(order, self._on_process_exit)
            self._processes.add(process)
            try:
                loaded = await process.load(self.config.import_timeout_s)
            except ModuleKilled as killed:
                _log.warning("location %s, module %s: %s", self.config.location, killed.module, killed.why)
                left_out[killed.module] = killed.why
            else:
                self._adopt(loaded, process)
                return

    def _adopt(self, loaded: Loaded, process: Warm) -> None:
        version = self._versions.pop(loaded.version, None) or _Version(loaded)
        version.loaded = loaded  # same definitions, newer import times
        version.processes.append(process)
        version.used_at_s = self._loop.time()
        self._versions[loaded.version] = version
        self._active = loaded.version
        self._error = ""
        broken = [module for module in loaded.modules if not module.ok]
        for module in broken:
            _log.warning(
                "location %s: module %s does not load: %s", self.config.location, module.name, module.error.strip()
            )
        also = f", broken modules: {', '.join(module.name for module in broken)}" if broken else ""
        _log.info("location %s serves version %s%s", self.config.location, loaded.version[:12], also)
        self._loop.call_later(_LONG_LIFE_S, self._forgive, process)

    def _forgive(self, process: Warm) -> None:
        if process.alive:
            self._crashes = 0

    def _on_process_exit(self, process: Warm) -> None:
        self._processes.discard(process)
        if process.loaded is None:
            return  # `Warm.load` tells
        version = self._versions.get(process.loaded.version)
        if version is None or process not in version.processes:
            return
        was_serving = version.processes[-1] is process
        version.processes.remove(process)
        if process.stopping or self._closing:
            return
        _log.error("zygote %d of version %s died (%s)", process.pid, process.loaded.version[:12], process.exit_code)
        if was_serving and process.loaded.version == self._active:
            delay_s = min(_MAX_BACKOFF_S, 0.25 * 2**self._crashes) if self._crashes else 0.0
            self._crashes += 1
            self._restart_due = True
            self._loop.call_later(delay_s, self._restart)
        self._retire()
        self._announce()

    def _restart(self) -> None:
        self._restart_due = False
        if not self._closing:
            self._want_load()

    async def _forget_when_ended(self, attempt: Attempt, version: _Version) -> None:
        await attempt.ended.wait()
        del self._attempts[attempt.attempt_id]
        version.used_at_s = self._loop.time()
        if version.loaded.version != self._active or len(version.processes) > 1:
            self._retire()

    def _retire(self) -> None:
        """Stop the processes that nothing can need any more; look again when the next one may be due."""
        needed = self._needed()
        idle = []
        for key, version in self._versions.items():
            for process in version.processes[:-1]:
                if not process.attempts and process.alive:
                    self._spawn_task(process.stop())
            if key not in needed and not version.running:
                idle.append(version)
        idle.sort(key=lambda version: version.used_at_s, reverse=True)
        for rank, version in enumerate(idle):
            wait_s = version.used_at_s + self.config.drain_s - self._loop.time()
            if rank >= _MAX_IDLE_VERSIONS or not version.processes or wait_s <= 0:
                self._drop(version)
            else:
                self._loop.call_later(wait_s + 0.01, self._retire)

    def _drop(self, version: _Version) -> None:
        del self._versions[version.loaded.version]
        for process in version.processes:
            self._spawn_task(process.stop())
        self._announce()

    def _needed(self) -> set[str]:
        """The active version, and for each of its broken modules the last version that holds it (S-060, S-068)."""
        needed = {self._active}
        active = self._versions.get(self._active)
        if active is None:
            return needed
        for module in [status.name for status in active.loaded.modules if not status.ok]:
            last_good = [key for key, version in self._versions.items() if version.holds(module) and version.serving]
            needed.update(last_good[-1:])
        return needed

    def _announce(self) -> None:
        """Wake those who wait for a change."""
        self._revision += 1
        self._spawn_task(self._notify())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _spawn_task(self, coroutine: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _version_gone(self, version: str) -> str:
        held = ", ".join(key[:12] for key in self._versions) or "none"
        if not version:
            return f"location {self.config.location!r} has loaded nothing: {self._error or 'see its modules'}"
        return (
            f"version {version[:12]} of location {self.config.location!r} is not in this server any more (it holds: {held}). "
            "Pin the run to the active version, or start it again"
        )
