"""`python -m partita.sdk.oneoff`: one asset made once in this process, as `partita run` starts it, under any debugger.

Owns finding the asset, loading its location as a server would, and showing what came out. Everything is stored in a folder
apart, so that nothing of the deployment is touched; publishing is a run's matter. What is published already is asked for
over two descriptors: this process has no way to the database.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from partita.assets import AssetKey, UnknownAsset, suggest
from partita.sdk.apart import FAILED, Asking, above, command_parser, log, refuse_own_stores, run_command, stored_in
from partita.sdk.executable import StepHandle
from partita.sdk.inprocess import materialize_location
from partita.sdk.load import LoadedLocation, load_location
from partita.sdk.relation import Relation
from partita.sdk.results import MaterializeResult, TemporaryFolder
from partita.sdk.runtime_values import CellKind

_ROWS_SHOWN = 10
_CELLS_SHOWN = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run one asset; the exit code is 0, 1 when it failed, 2 when it was refused and nothing ran."""
    return run_command(_options(argv), _run)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = command_parser("oneoff", "Make one asset once, here.")
    parser.add_argument("--asset", required=True, help="its key, or the name of its function")
    parser.add_argument("--in-module", help="the module that defines it")
    parser.add_argument("--write", type=Path, help="keep the files in this folder")
    return parser.parse_args(argv)


def _run(options: argparse.Namespace, said: TextIO) -> tuple[dict[str, Any], int]:
    location = load_location(options.location, options.root, options.module)
    handle = find_step(location, options.asset, options.in_module)
    steps = [handle.step.id, *(above(location, handle) if options.upstream else ())]
    if options.write is None:
        refuse_own_stores([location.steps[one] for one in steps], fix="add --write FOLDER when you want that")
    folder = TemporaryFolder.make() if options.write is None else None
    lake = options.write.absolute() if folder is None else folder.path
    apart = replace(location, steps={key: stored_in(lake, one) for key, one in location.steps.items()})
    keys = [made.key for made in handle.step.assets]
    result = materialize_location(
        apart,
        steps,
        partitions=None if options.partitions is None else dict.fromkeys(keys, options.partitions),
        params=dict.fromkeys(keys, options.params) if options.params else None,
        lake=lake,
        raise_on_error=False,
        published=Asking.over(options.ask_fd, options.answer_fd),
        on_log=log,
    )
    told = _told(result, keys, lake if folder is None else None)
    _say(result, keys, told, said)
    return told, FAILED if result.failures else 0


def find_step(location: LoadedLocation, name: str, module: str | None = None) -> StepHandle:
    """The step that makes the asset of this key, or whose function is called so. Raises UnknownAsset."""
    found = [
        handle
        for handle in location.steps.values()
        if module in (None, handle.step.function.__module__)
        and (name in _names(handle) or any(made.key == name for made in handle.step.assets))
    ]
    exact = [handle for handle in found if any(made.key == name for made in handle.step.assets)]
    chosen = exact or found
    if len(chosen) == 1:
        return chosen[0]
    broken = [f"{one.name}: {one.error}" for one in location.snapshot.modules if not one.ok]
    known = [other for handle in location.steps.values() for other in _names(handle)]
    where = f" in {module}" if module else f" in location {location.snapshot.location}"
    if chosen:
        raise UnknownAsset(
            f"{name!r}{where} means {', '.join(sorted(one.step.id for one in chosen))}",
            rule="one asset is run",
            fix="give its whole key",
        )
    raise UnknownAsset(
        f"no asset is called {name!r}{where}",
        rule="; ".join(["it is a key, or the name of a function with @asset", *broken]),
        fix=suggest(name, known) or "partita check lists what loads",
    )


def _names(handle: StepHandle) -> set[str]:
    keys = {made.key for made in handle.step.assets}
    return {handle.step.function.__name__, *keys, *(key.rpartition("/")[2] for key in keys)}


def _told(result: MaterializeResult, keys: Sequence[AssetKey], kept: Path | None) -> dict[str, Any]:
    return {
        "success": result.success,
        "cells": [
            {
                "asset": one.asset, "partition": one.partition, "outcome": one.kind.name.lower(),
                "data_version": one.data_version or None, "metadata": dict(one.metadata), "error": one.error or None,
                "location": one.location if kept is not None and one.location else None,
            }
            for one in result.outcomes
        ],
        "checks": [
            {
                "check": one.check, "asset": one.asset, "partition": one.partition, "passed": one.passed,
                "blocking": one.blocking, "detail": dict(one.detail),
            }
            for one in result.checks
        ],
        "failures": [
            {"step": step, "status": failed.status.name.lower(), "error": failed.error, "traceback": failed.traceback}
            for step, failed in result.failures
        ],
        "rows": {key: rows for key in keys if (rows := _rows(result, key)) is not None},
        "folder": str(kept) if kept is not None else None,
    }  # fmt: skip


def _rows(result: MaterializeResult, key: AssetKey) -> list[dict[str, Any]] | None:
    """The first rows, where the asset is stored here and is a table."""
    written = [one for one in result.outcomes if one.asset == key and one.kind is CellKind.WRITTEN and one.location]
    if not written:
        return None
    relation: Relation = result.read(key)
    return relation.sql(f"from self limit {_ROWS_SHOWN}").dicts()


def _say(result: MaterializeResult, keys: Sequence[AssetKey], told: Mapping[str, Any], said: TextIO) -> None:
    lines: list[str] = []
    for one in result.outcomes[:_CELLS_SHOWN]:
        name = f"{one.asset} {one.partition}".rstrip()
        counted = f", {one.metadata['rows']:,} rows" if "rows" in one.metadata else ""
        lines.append(f"{name}: {one.kind.name.lower()}{counted}" + (f": {one.error}" if one.error else ""))
    if len(result.outcomes) > _CELLS_SHOWN:
        lines.append(f"and {len(result.outcomes) - _CELLS_SHOWN} more partitions")
    for check in result.checks:
        verdict = "passed" if check.passed else "FAILED"
        lines.append(
            f"check {check.check} on {check.asset} {check.partition}: {verdict} {dict(check.detail) or ''}".rstrip()
        )
    for key in keys:
        rows = told["rows"].get(key)
        if rows:
            lines += [f"{key}, the first {len(rows)} rows:", *_table(rows)]
    for step, failed in result.failures:
        lines.append(f"{step} {failed.status.name.lower().replace('_', ' ')}: {failed.error}")
        lines += failed.traceback.splitlines()
    lines.append(
        f"Kept in {told['folder']}; published nowhere." if told["folder"] else "Nothing was kept (--write FOLDER)."
    )
    print("\n".join(lines), file=said, flush=True)


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names = list(rows[0])
    texts = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in texts) for column in range(len(names))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in texts
    ]


if __name__ == "__main__":
    sys.exit(main())
