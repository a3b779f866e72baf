"""Right user code passes mypy --strict, wrong user code does not (STYLE 11). Runs mypy once, in a subprocess."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("mypy")  # in one worker of pytest-xdist: another would run mypy once more

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
PATHS = ":".join(str(ROOT / one) for one in ("core", "assets", "grpc", "ui", "sdk"))
# Two mypy processes that write one cache crash each other, so each worker of pytest-xdist has its own.
CACHE = ROOT / ".mypy_cache" / f"typing-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
_LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")
_MARK = re.compile(r"# wrong: (?P<codes>[a-z, -]+)$")


@cache
def mypy() -> dict[str, dict[int, set[str]]]:
    """Error codes by line by file."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--explicit-package-bases", "--namespace-packages",
         "--no-error-summary", "--hide-error-context", "--no-pretty", "--follow-imports=silent",
         f"--cache-dir={CACHE}", "right.py", "wrong.py"],
        cwd=CASES, env={"MYPYPATH": PATHS, "PATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for text in done.stdout.splitlines():
        if match := _LINE.match(text):
            found[match["file"]][int(match["line"])].add(match["code"])
    return found


def marks() -> dict[int, set[str]]:
    lines = (CASES / "wrong.py").read_text().splitlines()
    found = {number: _MARK.search(line) for number, line in enumerate(lines, 1)}
    return {number: set(match["codes"].split(", ")) for number, match in found.items() if match}


def test_right_code_passes() -> None:
    assert mypy()["right.py"] == {}


@pytest.mark.parametrize(("line", "codes"), marks().items())
def test_wrong_code_is_reported(line: int, codes: set[str]) -> None:
    assert mypy()["wrong.py"][line] >= codes


def test_nothing_else_is_reported() -> None:
    assert {line for line, codes in mypy()["wrong.py"].items() if codes} == set(marks())


def test_the_example_passes() -> None:
    example = ROOT / "examples" / "flights"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--explicit-package-bases", "--namespace-packages",
         "--follow-imports=silent", f"--cache-dir={CACHE}",
         "source.py", "flights_location", "health_location"],
        cwd=example, env={"MYPYPATH": PATHS, "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
