"""`make simulate SEEDS=n`: tells n stories, prints the seeds of those in which a law broke; exit code 1 when one did.

SEED=n tells one story and prints what happens in it. FIRST=n begins at another seed, STEPS=n makes stories longer, THEME=name
gives all of them one theme.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.story import Story
from tests.simulation.telling import tell_any
from tests.simulation.watching import Broken

_AT_ONCE = 20


def main() -> int:
    steps = int(os.environ.get("STEPS") or 0) or None
    seed = os.environ.get("SEED")
    if seed:
        return _replay(int(seed), steps)
    first, seeds = int(os.environ.get("FIRST") or 0), int(os.environ.get("SEEDS") or 200)
    met: Counter[str] = Counter()
    broken = 0
    for number, what, error in _tell_all(first, seeds, steps, os.environ.get("THEME") or None):
        met.update(what)
        if error is not None:
            broken += 1
            print(f"seed {number}: {error}\n    again, with what happens: make simulate SEED={number}", flush=True)
    print(f"{seeds} stories from seed {first}, {broken} broken")
    print("they met: " + ", ".join(f"{n:,} {what}" for what, n in sorted(met.items())))
    return 1 if broken else 0


def _replay(seed: int, steps: int | None) -> int:
    try:
        story = tell_any(seed, steps, theme=os.environ.get("THEME") or None, trace=True)
    except Broken as broken:
        traceback.print_exception(broken)
        return 1
    print(f"seed {seed}: every law holds; " + ", ".join(f"{n} {what}" for what, n in what_it_met(story).items()))
    return 0


def _tell_all(
    first: int, seeds: int, steps: int | None, theme: str | None
) -> Iterator[tuple[int, Counter[str], str | None]]:
    numbers = range(first, first + seeds)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        yield from pool.map(_tell, numbers, [steps] * seeds, [theme] * seeds, chunksize=_AT_ONCE)


def _tell(seed: int, steps: int | None, theme: str | None) -> tuple[int, Counter[str], str | None]:
    try:
        return seed, what_it_met(tell_any(seed, steps, theme=theme)), None
    except Broken as broken:
        return seed, Counter(), str(broken)


def what_it_met(story: Story) -> Counter[str]:
    """How much of what the stories are about was in this one."""
    tables = story.watch.before
    met = Counter(
        {
            "commits": story.watch.steps,
            "crashes": story.site.crashes,
            "statements refused by outages": story.site.refused,
            "wake-ups lost": story.network.lost,
            "wake-ups doubled": story.network.doubled,
            "outages": story.troubles.outages,
            "clock jumps": story.troubles.jumps,
            "stopped processes": story.troubles.sleeps,
            "late reports": story.troubles.zombies,
            "pauses": story.deeds.pauses,
            "cells kept for taking back": len(tables["kept_cell"]),
            "things taken back": sum(row["undo_of"] is not None for row in tables["audit"]),
            "alerts": len(tables["alert"]),
            "notices sent": sum(row["state"] == "sent" for row in tables["notice"]),
            "notices tried again": sum(row["tries"] > 1 for row in tables["notice"]),
            "evaluations": sum(row["token"] for row in tables["evaluator"]),
            "requests of evaluations": len(tables["asked"]),
            "waits that broke": sum(ends.count("broken_wait") for ends in story.watch.history.ends.values()),
            "waits beyond their deadline": sum(ends.count("late_wait") for ends in story.watch.history.ends.values()),
            "runs": len(tables["run"]),
            "attempts": len(tables["attempt"]),
            "attempts lost": sum(row["outcome"] == "lost" for row in tables["attempt"]),
            "joins": len(tables["cell_cause"]),
            "gates opened": sum(row["kind"] == "gate" and row["state"] == "success" for row in tables["task"]),
            "tasks put aside": story.watch.aside,
            "runs timed out": sum(row["timed_out_at"] is not None for row in tables["run"]),
            "reports taken in": len(tables["report"]),
            "keys found": len(tables["dynamic_key"]),
            "runs that automation asked for": sum(row["cause"]["kind"] == "eager" for row in tables["run"]),
            "runs of a job": sum(row["cause"]["kind"] == "job" for row in tables["run"]),
            "spans of lateness": len(tables["late_span"]),
            "days of history that went": sum(row["state"] == "done" for row in tables["archive_day"]),
            "deadlines missed": sum(row["missed_at"] is not None for row in tables["deadline"]),
        }
    )
    met.update(f"tasks {row['state']}" for row in tables["task"])
    return met


if __name__ == "__main__":
    sys.exit(main())
