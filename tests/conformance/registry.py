"""Which reader answers which operation: one each. None: the operation is read by a later issue."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.conformance import (
    read_cron,
    read_events,
    read_graph,
    read_mappings,
    read_planning,
    read_scheduling,
    read_time_partitions,
)
from tests.conformance.judging import Case, Reader

READERS: dict[str, dict[str, Reader | None]] = {
    "cron": dict.fromkeys(read_cron.OPERATIONS, Reader(read_cron.answer)),
    "time_partitions": dict.fromkeys(read_time_partitions.OPERATIONS, Reader(read_time_partitions.answer)),
    "mappings": dict.fromkeys(read_mappings.OPERATIONS, Reader(read_mappings.answer)),
    "planning": dict.fromkeys(read_planning.OPERATIONS, Reader(read_planning.answer)),
    "execution": {
        **dict.fromkeys(read_graph.OPERATIONS, Reader(read_graph.answer)),
        **dict.fromkeys(read_scheduling.OPERATIONS, Reader(read_scheduling.answer)),
        **dict.fromkeys(read_events.OPERATIONS, Reader(read_events.answer)),
    },
}


def case_files() -> list[Path]:
    """The files of cases, in the folder named by PARTITA_CASES or beside this module."""
    folder = Path(os.environ.get("PARTITA_CASES") or Path(__file__).parent / "cases")
    return sorted(folder.glob("*.jsonl"))


def cases_of(file: Path) -> list[Case]:
    """The cases of a file, in its order."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
