"""A copy of the flights example that a test may change, and the changes that tests make to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from partita.core.runtime.deployed import Deployed

from .conftest import FLIGHTS

CONFIG = """
[[location]]
name = "flights"
modules = ["flights_location.raw", "flights_location.marts"]
[[location]]
name = "health"
modules = ["health_location"]
[code_server]
import_timeout_s = 20
[worker]
grace_s = 1
[dev]
reload = false
"""
RAW = "flights_location/raw.py"
MARTS = "flights_location/marts.py"


def copy_flights(folder: Path) -> None:
    folder.mkdir()
    for name in ("flights_location", "health_location"):
        shutil.copytree(FLIGHTS / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(FLIGHTS / "source.py", folder / "source.py")


def edit(deployment: Deployed, name: str, change: Callable[[str], str]) -> None:
    file = deployment.folder / name
    before = file.read_text()
    after = change(before)
    assert after != before
    file.write_text(after)


def reload(deployment: Deployed, *, loads: bool = True) -> None:
    deployment.run("locations", "reload", "flights", "--yes", ok=(0,) if loads else (1,))


def reformatted(text: str) -> str:
    """The same code in another dress: a reworded docstring, a comment, the signature over several lines."""
    one_line = "def delays(flights: Relation, weather: Relation, airlines: Relation) -> Relation:"
    lines = (
        one_line.replace("(", "(\n    ")
        .replace("weather", "# of one local day\n    weather")
        .replace(") ->", ",\n) ->")
    )
    assert one_line in text
    return text.replace('"""Every flight of a day', '"""Each and every flight of a day').replace(one_line, lines)


def with_gusts(text: str) -> str:
    """One more column of the weather in `delays`."""
    return text.replace("w.temp, w.wind_speed", "w.temp, w.wind_gust, w.wind_speed")


def broken_by(line: str) -> Callable[[str], str]:
    return lambda text: f"{text}\n{line}\n"
