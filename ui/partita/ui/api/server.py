"""The API as a process, and as a part of another one (`partita dev`).

Owns uvicorn. Loopback is the default; another address is the configuration's wish and is said in the log, because this release
has no sign-in.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial

import uvicorn

from partita.core.alerts import Routing
from partita.core.config import Config
from partita.core.duties.channels import Channel
from partita.core.runtime.deployment import Deployment
from partita.ui.api.app import create_app
from partita.ui.api.guard import LOOPBACK
from partita.ui.api.problems import Unavailable
from partita.ui.api.services import Services, services_of

log = logging.getLogger("partita.api")

_STREAMS_END_S = 3
_TICK_S = 0.5


def run_api(config: Config, *, root_path: str = "", public_hosts: Sequence[str] = ()) -> None:
    """One API process, until SIGTERM or SIGINT."""
    from partita.core.runtime.process import run_parts

    run_parts(config, ("api", api_part(root_path=root_path, public_hosts=public_hosts)))


def api_part(
    *, root_path: str = "", public_hosts: Sequence[str] = (), on_serving: Callable[[str], None] | None = None
) -> Callable[[Deployment, asyncio.Event], Awaitable[None]]:
    """The API as a part of a process: serves until the event is set. Its call subscribes to wake-ups, so it comes before they
    start. `on_serving` is called with its address once it answers."""

    def part(deployment: Deployment, stopping: asyncio.Event) -> Awaitable[None]:
        services = deployment_services(deployment, who="web", kind="api")
        hosts = hosts_of(deployment.config.api.host, public_hosts)
        return serve(services, deployment.config, stopping, root_path=root_path, hosts=hosts, on_serving=on_serving)

    return part


def deployment_services(deployment: Deployment, *, who: str, kind: str) -> Services:
    def on_wake(callback: Callable[[], None]) -> None:
        deployment.hub.subscribe([Channel.EVENT], callback)

    return services_of(
        deployment.store,
        deployment.logs,
        wake=deployment.hub.wake,
        on_wake=on_wake,
        who=who,
        kind=kind,
        routing=Routing.of(deployment.config),
    )


def hosts_of(host: str, public_hosts: Sequence[str]) -> frozenset[str] | None:
    """The names to answer to: on loopback those of loopback and the public ones that were named; elsewhere any."""
    return LOOPBACK | {host, *public_hosts} if host in LOOPBACK else None


async def serve(
    services: Services,
    config: Config,
    stopping: asyncio.Event,
    *,
    root_path: str = "",
    hosts: Collection[str] | None = None,
    on_serving: Callable[[str], None] | None = None,
) -> None:
    """Listens until `stopping` is set; then ends the streams and what is in flight."""
    listening = listen(config.api.host, config.api.port)
    server = server_of(services, root_path=root_path, hosts=hosts)
    address = f"http://{config.api.host}:{listening.getsockname()[1]}{root_path}"
    log.info("the API listens on %s", address)
    if on_serving is not None:
        server.on_started = partial(on_serving, address)
    if config.api.host not in LOOPBACK:
        log.warning("the API listens on %s: everybody who reaches it may launch and cancel runs", config.api.host)
    serving = asyncio.create_task(server.serve([listening]), name="api")
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    services.events.close()
    server.should_exit = True
    with suppress(asyncio.CancelledError):
        await serving


class Server(uvicorn.Server):
    """A uvicorn server inside somebody else's event loop: the signals are that one's."""

    on_started: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts, and says so to `on_started`."""
        await super().startup(sockets)
        if self.started and self.on_started is not None:
            self.on_started()

    async def main_loop(self) -> None:
        """Twice a second and not ten times: it refreshes the Date header and notices that it is to end."""
        while not await self.on_tick(0):  # noqa: ASYNC110 - `should_exit` is a flag of uvicorn, no event
            await asyncio.sleep(_TICK_S)

    def install_signal_handlers(self) -> None:
        """None: the process has its own."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """None: the process has its own."""
        return nullcontext()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises Unavailable when the address is taken or not of this machine."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise Unavailable(
            f"the API cannot listen on {host}:{port}: {error.strerror}",
            rule="one process listens on a port",
            fix="choose another one: --port, PARTITA_API_PORT, or port under [api] in partita.toml",
        ) from error
    return listening


def server_of(services: Services, *, root_path: str = "", hosts: Collection[str] | None = None) -> Server:
    """A server that is not started yet; `await server.serve([listen(...)])` runs it, `should_exit = True` ends it."""
    return Server(
        uvicorn.Config(
            create_app(services, root_path=root_path, hosts=hosts),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_STREAMS_END_S,
            loop="none",
            lifespan="on",
        )
    )
