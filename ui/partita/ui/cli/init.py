"""`partita init`: a project that runs. Writes new files only, and none of them when one is in the way."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, utc_now
from partita.ui.cli.problems import UsageProblem
from partita.ui.cli.starter import files_of


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where; made when it is not there.")] = Path(),
    *,
    as_json: o.Json = False,
) -> None:
    """Start a project: a configuration, a module with two assets and a check, and its test."""
    output = Output(json=as_json)
    root = folder.absolute()
    files = files_of(root.resolve().name, utc_now().date(), taken=_importable)
    _refuse_what_is_there(root, files)
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (root / name).open("x") as file:  # never over somebody's file, also not over one of this moment
                file.write(text)
    except OSError as error:
        raise UsageProblem(
            f"{root} cannot hold a project: {error.strerror or error}",
            rule="init makes the folder and writes its files there",
            fix="name a folder that you may write to",
        ) from error
    if as_json:
        output.value({"folder": str(root), "files": list(files)})
        return
    output.say(f"{root}: {', '.join(files)}")
    step = "" if root == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    lines = (
        (f"{step}partita dev", "then open http://127.0.0.1:4040"),
        ("partita materialize '*' --partitions all", "in another terminal, in the same folder"),
        ("python -m pytest", "its test needs no deployment"),
    )
    width = max(len(command) for command, _ in lines)
    for command, note in lines:
        output.say(f"  {command:<{width}}   # {note}")


def _refuse_what_is_there(root: Path, files: dict[str, str]) -> None:
    if root.exists() and not root.is_dir():
        raise UsageProblem(
            f"{root} is a file", rule="a project is a folder", fix="name another folder: partita init DIR"
        )
    there = [name for name in files if (root / name).exists() or (root / name).is_symlink()]
    if there:
        raise UsageProblem(
            f"{root} already has {', '.join(there)}",
            rule="init changes no file that is there",
            fix="name another folder: partita init DIR",
        )


def _importable(module: str) -> bool:
    """Whether a library or the language has this name: the project's folder comes first on the path and would hide it."""
    if module in sys.stdlib_module_names or module in {"tests", "test", "conftest"}:
        return True
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return True
    return found is not None and found.origin is not None
