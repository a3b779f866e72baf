"""A process that has imported nothing: opens the deployment of a project as every command does, plans, says what it found.

Run with the project's folder, a selection and a mode; prints one JSON object as soon as the plan is there.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise


def main(folder: str, selection: str, *mode: str) -> None:
    laps = [lap()]

    from pathlib import Path

    from partita.core import starting

    with starting.imports():  # as `partita.ui.cli.session` has it
        from partita.core.catalog.load import CatalogCache
        from partita.core.config import load_config
        from partita.core.planner import PlanRequest, plan
        from partita.core.runtime.deployment import Deployment

    laps.append(lap())
    with Deployment(load_config(Path(folder))) as deployment:
        laps.append(lap())
        catalog = CatalogCache(deployment.store.read).active()
        laps.append(lap())
        with deployment.store.read() as reader:
            found = plan(catalog, reader, PlanRequest(selection, reader.now(), mode=mode))
        laps.append(lap())
        parts = ("imports", "open", "definitions", "plan")
        answer = {
            "cells": found.cell_count,
            "assets": len(found.assets),
            "blocked": len(found.blocked),
            "counts": {reason.value: n for reason, n in found.counts().items()},
            "hash": found.hash,
            "cpu_s": laps[-1][1],
            "ms": dict(zip(parts, took(laps, 0), strict=True)),
            "cpu_ms": dict(zip(parts, took(laps, 1), strict=True)),
        }
        print(json.dumps(answer), flush=True)


def lap() -> tuple[float, float]:
    """Seconds by the clock, and of the processor since the process began."""
    return time.perf_counter(), time.process_time()


def took(laps: list[tuple[float, float]], by: int) -> list[float]:
    """The milliseconds from each lap to the next."""
    return [round(1000 * (after[by] - before[by]), 1) for before, after in pairwise(laps)]


main(*sys.argv[1:])
