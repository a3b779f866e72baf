"""Plans by a process that has imported nothing, on a Postgres with ten million published cells."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness

from planner_rows.measure import check, growth
from planner_rows.world import PICKED, World, served

_PROCESS = Path(__file__).with_name("cold_process.py")


@dataclass(frozen=True, slots=True)
class Ran:
    """Seconds from the start of a process to its plan, seconds of processor time, and its parts in milliseconds of both."""

    seconds: float
    cpu_s: float
    parts: dict[str, float]
    cpu_parts: dict[str, float]

    @property
    def prepared_s(self) -> float:
        """Without the interpreter's start and the imports."""
        return sum(ms for name, ms in self.parts.items() if name != "imports") / 1000


def plan_cold(bench: harness.Bench, *, quick: bool) -> None:
    """`missing or stale` over everything, and over 100 assets, from a cold process."""
    sizes, days, tries = ((1_000, 2_000, 4_000), 100, 1) if quick else ((1_000, 3_000, 10_000), 1_000, 5)
    _compile()
    full: list[Ran] = []
    some: list[Ran] = []
    for size in sizes:
        with served() as (folder, url):
            world = World(url, size, days)
            world.build()
            full.append(best(folder, "*", world.expected(), tries))
            picked = range(size // 2, size // 2 + PICKED)
            some.append(best(folder, "tag:picked", world.expected(picked), tries))
    cells = f"{sizes[-1]:,} assets x {days:,} days"
    _row(bench, "full", f"missing or stale, all of {cells}", sizes, full, 5)
    _row(bench, "100", f"missing or stale, 100 assets of {cells}", sizes, some, 0.5)


def best(folder: Path, selection: str, expected: int, tries: int) -> Ran:
    """The fastest of some processes; each must plan the expected cells."""
    return min((run(folder, selection, expected) for _ in range(tries)), key=lambda one: one.seconds)


def run(folder: Path, selection: str, expected: int) -> Ran:
    """One process, until it says what it planned."""
    hidden = ("PYTHONDONTWRITEBYTECODE", "PARTITA_DATABASE_URL", "PARTITA_HOME", "PARTITA_PROJECT")
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, str(_PROCESS), str(folder), selection, "missing", "stale"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - began
    answer: dict[str, Any] = json.loads(line)
    check(answer["cells"] == expected, f"{expected} cells for {selection}, not {answer['cells']}")
    check(answer["blocked"] == 0, "nothing is blocked")
    return Ran(seconds, answer["cpu_s"], answer["ms"], answer["cpu_ms"])


def _row(bench: harness.Bench, id: str, what: str, sizes: Sequence[int], ran: Sequence[Ran], limit_s: float) -> None:
    shown = " / ".join(f"{size:,}: {one.seconds:.2f}" for size, one in zip(sizes, ran, strict=True))
    parts, cpu_parts = (
        ", ".join(f"{name} {ms:.0f}" for name, ms in of.items()) for of in (ran[-1].parts, ran[-1].cpu_parts)
    )
    exponent = growth(sizes, [one.seconds for one in ran])
    bench.below(
        f"plan_cold_{id}",
        f"{what} ({shown} s; growth {exponent:.2f}; ms: {parts}; processor {ran[-1].cpu_s:.2f} s, ms: {cpu_parts})",
        ran[-1].seconds,
        "s",
        limit_s,
    )
    bench.plain(f"plan_cold_{id}_imported", "of that, after the imports", ran[-1].prepared_s, "s")


def _compile() -> None:
    """As an installation does: without bytecode a process compiles all that it imports."""
    for root in ("core", "assets"):
        compileall.compile_dir(harness.REPO / root, quiet=2)
    compileall.compile_path(quiet=2)
