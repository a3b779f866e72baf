"""`partita run FILE::asset`: one asset made once, in a process that a debugger can stop, with what the deployment published.

Owns naming the location and answering what the run asks. Imports no user code (law 1): that happens in the location's own
environment, in a process of this terminal, which has no way to the database and publishes nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita.ui.cli import options as o
from partita.ui.cli.problems import UsageProblem, explained

if TYPE_CHECKING:
    from partita.core.config import Config, LocationConfig
    from partita.ui.cli.session import Session

_FILE = "::"


def register(app: typer.Typer) -> None:
    app.command("run")(run_once)
    app.command("test")(make_twice)


def run_once(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="FILE::ASSET (its key or its function), or a key.")],
    *,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    upstream: Annotated[
        bool, typer.Option("--upstream", help="Make here what it reads, too, instead of reading what is published.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Keep the files there; default: nothing is kept.")
    ] = None,
    location: Annotated[
        str | None, typer.Option("--location", help="Of the asset, where the target does not say.")
    ] = None,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    as_json: o.Json = False,
) -> None:
    """Make one asset in a process of this terminal: breakpoint() stops there. Publishes nothing."""
    from partita.ui.cli.session import configuration

    text = o.Asked(target, partitions, partition).request("run")["partitions"]
    params = o.params(param)
    config = configuration()
    with _published(config) as answers:
        where, name, module = _target(config, target, location, answers)
        arguments = [
            *("--asset", name),
            *(("--in-module", module) if module else ()),
            *(("--write", str(write.absolute())) if write is not None else ()),
            *_common(text, params, upstream=upstream, as_json=as_json),
        ]
        code = _run(config, where, arguments, answers)
    _end(code)


def make_twice(
    assets: Annotated[str, typer.Argument(metavar="SELECTION", help="A selection of assets of one location.")],
    *,
    twice: Annotated[bool, typer.Option("--twice", help="Make them twice, and compare what comes out.")] = False,
    partitions: o.Partitions = None,
    partition: o.Partition = None,
    upstream: Annotated[
        bool, typer.Option("--upstream", help="Make here what they read, too, instead of reading what is published.")
    ] = False,
    own_stores: Annotated[
        bool, typer.Option("--own-stores", help="Also assets with io=None, which write where they always do.")
    ] = False,
    location: Annotated[str | None, typer.Option("--location", help="Of the assets, where there are several.")] = None,
    param: o.Param = [],  # noqa: B006 - Typer's form of "none given"; never changed
    as_json: o.Json = False,
) -> None:
    """Whether a partition that is made again comes out the same. Publishes nothing; exit code 1 when something differs."""
    from partita.ui.cli.session import configuration

    if not twice:
        raise UsageProblem("test has one form so far", rule="it makes assets twice", fix="add --twice")
    text = o.Asked(assets, partitions, partition).request("run")["partitions"]
    params = o.params(param)
    config = configuration()
    local = [one for one in config.locations if one.modules]
    if location is None and len(local) != 1:
        names = ", ".join(one.name for one in local) or "none"
        raise UsageProblem(
            "of which location?", rule=f"those with `modules` here are {names}", fix="add --location NAME"
        )
    where = _with_modules(config.location(location)) if location is not None else local[0]
    arguments = [
        *("--select", assets),
        *(("--own-stores",) if own_stores else ()),
        *_common(text, params, upstream=upstream, as_json=as_json),
    ]
    with _published(config) as answers:
        code = _run(config, where, arguments, answers, "twice")
    _end(code)


def _common(partitions: str | None, params: Mapping[str, Any], *, upstream: bool, as_json: bool) -> list[str]:
    """The arguments that both commands hand on (`partita.sdk.apart`)."""
    return [
        *(("--partitions", partitions) if partitions is not None else ()),
        *(("--upstream",) if upstream else ()),
        *(("--params", json.dumps(params)) if params else ()),
        *(("--json",) if as_json else ()),
    ]


def _end(code: int) -> None:
    """End as the process did: a signal as a shell says it."""
    if code:
        raise typer.Exit(code if code > 0 else 128 - code)


# ---------------------------------------------------------------------- which asset


def _target(
    config: Config, target: str, location: str | None, answers: Answers
) -> tuple[LocationConfig, str, str | None]:
    """The location, the name of the asset, and the module that defines it where a file was named."""
    file, colons, name = target.rpartition(_FILE)
    if colons and file and name:
        where, module = _location_of_file(config, Path(file), location)
        return where, name, module
    local = [one for one in config.locations if one.modules]
    if location is not None:
        return _with_modules(config.location(location)), target, None
    if len(local) == 1:
        return local[0], target, None
    return _with_modules(config.location(answers.location_of(target))), target, None


def _with_modules(location: LocationConfig) -> LocationConfig:
    if not location.modules:
        raise UsageProblem(
            f"location {location.name!r} is served at {location.address}",
            rule="run imports the `modules` of a location on this machine",
            fix="run it where its code is",
        )
    return location


def _location_of_file(config: Config, file: Path, location: str | None) -> tuple[LocationConfig, str]:
    path = file.resolve()
    if not path.is_file():
        raise UsageProblem(f"there is no file {file}", rule="the target is FILE::ASSET", fix="correct the path")
    candidates = [config.location(location)] if location is not None else list(config.locations)
    for one in candidates:
        root = one.root.resolve()
        if one.modules and path.is_relative_to(root):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if any(_covers(listed, module) for listed in one.modules):
                return one, module
    raise UsageProblem(
        f"{file} belongs to no location",
        rule=f"{config.file.name} lists modules: {', '.join(name for one in candidates for name in one.modules) or 'none'}",
        fix="add it to the `modules` of a [[location]]",
    )


def _covers(listed: str, module: str) -> bool:
    """Whether importing `listed` is how `module` gets into the location: itself, a module of it, or what it imports."""
    package = listed.removesuffix(".*")
    return module == listed or module.partition(".")[0] == package.partition(".")[0]


# ---------------------------------------------------------------------- what is published


class Answers:
    """Answers of the active deployment, which is opened at the first question; none is made for one."""

    def __init__(self, config: Config, stack: ExitStack) -> None:
        self._config = config
        self._stack = stack
        self._session: Session | None = None

    def location_of(self, key: str) -> str:
        """The location that defines an asset, by the active definitions."""
        return self._opened().services.definitions.location_of(key)

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One question of the run. Raises what the command would be refused with."""
        definitions = self._opened().services.definitions
        if question["ask"] == "scheme":
            return {"partitions": definitions.scheme(question["key"])}
        if question["ask"] == "keys":
            return {"keys": definitions.dynamic_keys(question["scheme"])}
        return {"cells": definitions.published(question["key"], question["partitions"])}

    def _opened(self) -> Session:
        from partita.ui.cli.session import session

        if self._session is None:
            if self._config.database.url is None and not self._config.postgres.exists():
                raise UsageProblem(
                    "nothing is published: this project has no deployment yet",
                    rule="run reads what is published unless --upstream makes it here",
                    fix="add --upstream, or start `partita dev` and materialize what it reads",
                )
            self._session = self._stack.enter_context(session())
        return self._session


@contextmanager
def _published(config: Config) -> Iterator[Answers]:
    with ExitStack() as stack:
        yield Answers(config, stack)


# ---------------------------------------------------------------------- the process


def _run(
    config: Config, location: LocationConfig, arguments: Sequence[str], answers: Answers, module: str = "oneoff"
) -> int:
    """Runs it on this terminal to its end; its exit code, negative for a signal."""
    from partita.core.runtime.servers import server_env

    asked, asking = os.pipe()
    answered, answering = os.pipe()
    command = [
        str(location.python or sys.executable), "-P", "-m", f"partita.sdk.{module}",
        "--location", location.name, "--root", str(location.root),
        *(part for module in location.modules for part in ("--module", module)),
        "--ask-fd", str(asking), "--answer-fd", str(answered), *arguments,
    ]  # fmt: skip
    try:
        process = subprocess.Popen(command, pass_fds=[asking, answered], env=server_env(config, location))
    except OSError as error:
        raise UsageProblem(
            f"location {location.name!r} cannot be run: {error}", rule="its `python` runs its code", fix="correct it"
        ) from error
    finally:
        os.close(asking)
        os.close(answered)
    # Ctrl-C is the run's, or its debugger's: this process only waits for it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        serving = threading.Thread(target=_serve, args=(asked, answering, answers), name="published", daemon=True)
        serving.start()
        code = process.wait()
        serving.join(1)  # ends with the run, unless something that the run left behind still holds its end
        return code
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(asked: int, answering: int, answers: Answers) -> None:
    with open(asked) as questions, open(answering, "w") as lines:
        for line in questions:
            try:
                told = answers.answer(json.loads(line))
            except Exception as error:
                told = {"error": dict(explained(error) or {"what": f"{error!r}", "rule": "", "fix": ""})}
            try:
                lines.write(json.dumps(told) + "\n")
                lines.flush()
            except BrokenPipeError:
                return
