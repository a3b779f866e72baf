"""What the benches share: a deployment of real processes over a scratch project, measuring it, and the one output format.

A bench uses the shipped commands in their default configuration, fsync on. It unsets PYTHONDONTWRITEBYTECODE and compiles first,
because without bytecode every process pays for compiling what it imports.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from partita.core.embedded import EmbeddedPostgres
from partita.core.runtime.deployed import Deployed

REPO = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a bench: `ok` says whether it meets its target."""

    id: str
    what: str
    value: float
    unit: str
    target: str
    ok: bool


@dataclass(slots=True)
class Bench:
    """Collects rows and prints them: a table, or one JSON object with --json."""

    name: str
    workload: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def below(self, id: str, what: str, value: float, unit: str, limit: float) -> None:
        self.rows.append(Row(id, what, round(value, 3), unit, f"< {limit:g}", value < limit))

    def at_least(self, id: str, what: str, value: float, unit: str, limit: float) -> None:
        self.rows.append(Row(id, what, round(value, 3), unit, f">= {limit:g}", value >= limit))

    def at_most(self, id: str, what: str, value: float, unit: str, limit: float) -> None:
        self.rows.append(Row(id, what, round(value, 3), unit, f"<= {limit:g}", value <= limit))

    def plain(self, id: str, what: str, value: float, unit: str) -> None:
        self.rows.append(Row(id, what, round(value, 3), unit, "", True))

    def print(self, *, as_json: bool) -> None:
        if as_json:
            print(
                json.dumps({"bench": self.name, "rows": [asdict(row) for row in self.rows], "workload": self.workload})
            )
            return
        print(f"{self.name}  {json.dumps(self.workload)}")
        for row in self.rows:
            mark = "ok" if row.ok else "MISSED"
            print(
                f"  {row.id:<16}{row.value:>12,.3f} {row.unit:<10} {row.target:<10} {mark if row.target else '':<7} {row.what}"
            )


def options(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="a form of under a minute")
    return parser.parse_args()


@contextmanager
def project(files: dict[str, str]) -> Iterator[Path]:
    """A scratch project folder with these files; compiled; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="partita-bench-"))
    folder.chmod(0o755)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for root in ("core", "assets", "grpc", "ui/partita", "sdk"):
        compileall.compile_dir(REPO / root, quiet=2)
    compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2, workers=2)
    compileall.compile_dir(folder, quiet=2)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def deployed(folder: Path, *commands: Sequence[str]) -> Iterator[Deployed]:
    """Starts the commands (`("dev",)` for example) and waits until all locations serve."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with Deployed(folder) as deployment:
        for command in commands:
            deployment.start(*command)
        deployment.wait_serving()
        yield deployment


def processes_of(deployment: Deployed) -> dict[str, list[psutil.Process]]:
    """All processes of the deployment: `postgres` apart from those of partita."""
    postmaster = psutil.Process(EmbeddedPostgres(deployment.config.postgres).pid)
    found = {"postgres": [postmaster, *postmaster.children(recursive=True)], "partita": []}
    servers = {process.pid for process in found["postgres"]}
    for started in deployment.processes.values():
        root = psutil.Process(started.pid)
        found["partita"] += [one for one in (root, *root.children(recursive=True)) if one.pid not in servers]
    return found


def cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    """User and system time of the processes and of their reaped children."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def pss_bytes(processes: Sequence[psutil.Process]) -> int:
    """Proportional set size: shared pages are counted once over all processes."""
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total


def hours_after_2000(hours: int) -> str:
    """The wall time that ends so many hours from the begin of the year 2000."""
    return (datetime(2000, 1, 1) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M")  # noqa: DTZ001 - a local wall time


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]
