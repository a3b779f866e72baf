"""One command per process: dev, scheduler, worker, triggerer, api, code-server.

Owns their logging and options. What they do is the core's runtime.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from partita.core.config import Config

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log debugging detail too.")]
Port = Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Of the API; default: the configuration's.")]
Prefix = Annotated[
    str, typer.Option("--prefix", help="Path under which a proxy publishes the UI, such as /data/partita.")
]


def register(app: typer.Typer) -> None:
    app.command()(dev)
    app.command()(scheduler)
    app.command()(worker)
    app.command()(triggerer)
    app.command()(api)
    app.command("code-server")(code_server)


def dev(
    *,
    port: Port = None,
    reload: Annotated[
        bool | None,
        typer.Option("--reload/--no-reload", help="Load a location again when its modules change; default: yes."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Everything on this machine: Postgres, code servers, scheduler, worker, triggerer, API and UI."""
    from partita.core.runtime.process import run_dev
    from partita.ui.api.server import api_part, listen

    _log(verbose)
    config = _config(None, port)
    if reload is not None:
        config = config.model_copy(update={"dev": config.dev.model_copy(update={"reload": reload})})
    listen(config.api.host, config.api.port).close()  # before anything starts: the commonest mistake is a second `dev`
    run_dev(config, ("api", api_part(on_serving=_say_where)))


def scheduler(*, verbose: Verbose = False) -> None:
    """One scheduler; run as many as you like, on any machine."""
    from partita.core.runtime.process import run_scheduler

    _log(verbose)
    run_scheduler(_config(None, None))


def worker(
    *,
    capacity: Annotated[int | None, typer.Option("--capacity", min=1, help="Attempts at a time.")] = None,
    queues: Annotated[
        str | None,
        typer.Option("--queues", help="Whose tasks it runs, such as gpu,default; '*': of all; default: `default`."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """One worker; run as many as you like, on any machine that reaches the code servers."""
    from partita.assets.queues import served_queues
    from partita.core.runtime.process import run_worker

    _log(verbose)
    config = _config(None, None)
    said: dict[str, object] = {} if capacity is None else {"capacity": capacity}
    if queues is not None:
        said["queues"] = served_queues(queues.split(","), "--queues")
    run_worker(config.model_copy(update={"worker": config.worker.model_copy(update=said)}) if said else config)


def triggerer(
    *,
    capacity: Annotated[int | None, typer.Option("--capacity", min=1, help="Waits at a time.")] = None,
    verbose: Verbose = False,
) -> None:
    """One triggerer: watches what deferred tasks wait for; run two, so that one may die."""
    from partita.core.runtime.process import run_triggerer

    _log(verbose)
    config = _config(None, None)
    if capacity is not None:
        config = config.model_copy(update={"triggerer": config.triggerer.model_copy(update={"capacity": capacity})})
    run_triggerer(config)


def api(
    *,
    host: Annotated[
        str | None, typer.Option("--host", help="Default: the configuration's, else this machine only.")
    ] = None,
    port: Port = None,
    prefix: Prefix = "",
    public_host: Annotated[
        list[str], typer.Option("--public-host", help="A name under which a proxy publishes the UI. Repeatable.")
    ] = [],  # noqa: B006 - Typer's form of "none given"; never changed
    verbose: Verbose = False,
) -> None:
    """The REST API and the web UI."""
    from partita.ui.api.server import run_api

    _log(verbose)
    config = _config(host, port)
    run_api(config, root_path=prefix, public_hosts=public_host)


def code_server(
    location: Annotated[str, typer.Option("--location", help="The name of a location in partita.toml.")],
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one.")] = 0,
) -> None:
    """The server of one code location; the only process that loads its modules."""
    from partita.core.runtime.servers import exec_server
    from partita.ui.cli.session import configuration

    config = configuration()
    exec_server(config, config.location(location), host=host, port=port)


def _say_where(address: str) -> None:
    typer.echo(f"open {address} (Ctrl-C ends everything)", err=True)


def _config(host: str | None, port: int | None) -> Config:
    from partita.ui.cli.session import configuration

    config = configuration()
    changes = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return config.model_copy(update={"api": config.api.model_copy(update=changes)}) if changes else config


def _log(verbose: bool) -> None:
    """To stderr, one line a record; the libraries' own chatter from warnings up."""
    logging.basicConfig(level=logging.WARNING, format=_FORMAT, stream=sys.stderr, force=True)
    logging.getLogger("partita").setLevel(logging.DEBUG if verbose else logging.INFO)
