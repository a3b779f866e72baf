"""Attempts are forked from a process that has imported its storage libraries, and has opened nothing (DESIGN section 7)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import os, sys, pathlib
import partita.sdk.runtime as runtime
assert "duckdb" not in sys.modules
location = runtime.load_location("here", pathlib.Path(sys.argv[1]), sys.argv[2:])
print("duckdb" in sys.modules, len(os.listdir("/proc/self/task")))
"""


def loaded(root: Path, module: str) -> str:
    command = [sys.executable, "-c", CODE, str(root), module]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.strip()


def test_a_location_that_stores_rows_has_duckdb_imported_and_one_thread(tmp_path: Path) -> None:
    tmp_path.joinpath("rows.py").write_text(
        "from partita.sdk import asset, Relation\n@asset\ndef a() -> Relation: ...\n"
    )
    tmp_path.joinpath("none.py").write_text("from partita.sdk import asset\n@asset(io=None)\ndef a() -> None: ...\n")
    assert loaded(tmp_path, "rows") == "True 1"
    assert loaded(tmp_path, "none") == "False 1"
