"""A process that has imported nothing: opens the deployment of a project as every command does, plans, says what it found.

Run with the project's folder, a selection and a mode; prints one JSON object as soon as the plan is there.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise


def main(folder: str, selection: str, *mode: str) -> None:
    laps = [time.perf_counter()]

    from pathlib import Path

    from partita.core.catalog.load import CatalogCache
    from partita.core.config import load_config
    from partita.core.planner import PlanRequest, plan
    from partita.core.runtime.deployment import Deployment

    laps.append(time.perf_counter())
    with Deployment(load_config(Path(folder))) as deployment:
        laps.append(time.perf_counter())
        catalog = CatalogCache(deployment.store.read).active()
        laps.append(time.perf_counter())
        with deployment.store.read() as reader:
            found = plan(catalog, reader, PlanRequest(selection, reader.now(), mode=mode))
        laps.append(time.perf_counter())
        took = [round(1000 * (after - before), 1) for before, after in pairwise(laps)]
        answer = {
            "cells": found.cell_count,
            "assets": len(found.assets),
            "blocked": len(found.blocked),
            "counts": {reason.value: n for reason, n in found.counts().items()},
            "hash": found.hash,
            "cpu_s": time.process_time(),
            "ms": dict(zip(("imports", "open", "definitions", "plan"), took, strict=True)),
        }
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
