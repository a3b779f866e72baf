"""`python -m partita.sdk.twice`: assets made twice in this process, and what came out compared. `partita test --twice` starts it.

A partition that is made again must come out the same (S-161): what differs was appended instead of replaced, or depends on the
clock or on chance. Owns the comparison and its words; both runs are stored in folders apart, and nothing is published.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TextIO

from partita.assets import AssetKey, PartitaError, select_assets
from partita.assets.graph import AssetGraph
from partita.sdk.apart import FAILED, Asking, above, command_parser, log, refuse_own_stores, run_command, stored_in
from partita.sdk.engine import identifier
from partita.sdk.inprocess import materialize_location
from partita.sdk.load import LoadedLocation, load_location
from partita.sdk.relation import Relation
from partita.sdk.results import MaterializeResult, TemporaryFolder
from partita.sdk.runtime_values import CellOutcome

_SHOWN = 5
_UNIQUE = "attempt:"
"""How the data version begins that is unique to an attempt: the asset did not say one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One cell made twice. `what` is how the second differs; "" when it is the same. `note` says what could not be compared."""

    asset: str
    partition: str
    rows: tuple[int | None, int | None]
    versions: tuple[str | None, str | None]
    what: str
    note: str = ""

    @property
    def same(self) -> bool:
        return not self.what


def compare(first: MaterializeResult, second: MaterializeResult) -> list[Comparison]:
    """Every cell of the two, in the order of the first."""
    again = {(one.asset, one.partition): one for one in second.outcomes}
    found = [_cell(one, again.pop((one.asset, one.partition), None), first, second) for one in first.outcomes]
    return found + [
        Comparison(
            one.asset, one.partition, (None, _rows(one)), (None, one.data_version), "only the second run made it"
        )
        for one in again.values()
    ]


def _cell(one: CellOutcome, two: CellOutcome | None, first: MaterializeResult, second: MaterializeResult) -> Comparison:
    made = Comparison(
        one.asset,
        one.partition,
        (_rows(one), None if two is None else _rows(two)),
        (one.data_version or None, None if two is None else two.data_version or None),
        "",
    )
    if two is None:
        return replace(made, what="only the first run made it")
    if one.kind is not two.kind:
        return replace(made, what=f"it was {one.kind.name.lower()}, then {two.kind.name.lower()}")
    if one.data_version.startswith(_UNIQUE):
        told = {name: (one.metadata.get(name), two.metadata.get(name)) for name in {**one.metadata, **two.metadata}}
        moved = [f"{name} {was!r}, then {now!r}" for name, (was, now) in sorted(told.items()) if was != now]
        note = "it stores its own data and says no data_version: only its metadata were compared"
        return replace(made, what="; ".join(moved), note=note)
    if one.data_version == two.data_version:
        return made
    try:
        pair = first.read(one.asset, one.partition), second.read(one.asset, one.partition)
    except PartitaError:  # no table: the digest of its content is all there is
        return replace(made, what="its content differs")
    return replace(made, what=_difference(*pair))


def _difference(first: Relation, second: Relation) -> str:
    """How the rows of the second differ from those of the first."""
    if first.columns != second.columns:
        return f"its columns were {_columns(first)}, then {_columns(second)}"
    gone, more = _only(first, second), _only(second, first)
    if not gone and more:
        return f"all rows of the first and {more:,} more: it appends instead of replacing, or reads what it wrote"
    if not more and gone:
        return f"{gone:,} rows of the first are missing: it reads what it takes away"
    for name in first.columns:
        others = [identifier(one) for one in first.columns if one != name]
        if others and not _only(*(one.sql(f"select {', '.join(others)} from self") for one in (first, second))):  # noqa: S608
            pick = f"select min({identifier(name)}) from self"  # noqa: S608 - quoted
            was, now = (one.sql(pick).scalar() for one in (first, second))
            return f"only column {name} differs ({was}, then {now}): it comes from the clock, or from chance"
    return f"{more:,} of {second.count():,} rows differ"


def _only(one: Relation, other: Relation) -> int:
    """How many rows of one the other lacks, duplicates counted."""
    return int(one.sql("select count(*) from (from self except all from other)", other=other).scalar())


def _columns(one: Relation) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in one.columns.items())


def _rows(one: CellOutcome) -> int | None:
    counted = one.metadata.get("rows")
    return counted if isinstance(counted, int) else None


# ---------------------------------------------------------------------- the process


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code is 0 when all came out the same, 1 when something differs or failed, 2 when it was refused."""
    return run_command(_options(argv), _run)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = command_parser("twice", "Make assets twice and compare.")
    parser.add_argument("--select", required=True, help="a selection of assets")
    parser.add_argument(
        "--own-stores", action="store_true", help="also assets that store their own data, where they do"
    )
    return parser.parse_args(argv)


def _run(options: argparse.Namespace, said: TextIO) -> tuple[dict[str, Any], int]:
    location = load_location(options.location, options.root, options.module)
    keys = _selected(location, options.select)
    makers = {made.key: step for step, handle in location.steps.items() for made in handle.step.assets}
    chosen = list(dict.fromkeys(makers[key] for key in keys))
    steps = list(
        dict.fromkeys(
            [*chosen, *(up for one in chosen for up in above(location, location.steps[one]) if options.upstream)]
        )
    )
    if not options.own_stores:
        refuse_own_stores([location.steps[one] for one in steps], fix="leave it out, or add --own-stores when it may")
    partitioned = [
        made.key for one in chosen for made in location.steps[one].step.assets if made.partitions is not None
    ]
    folder = TemporaryFolder.make()
    published = Asking.over(options.ask_fd, options.answer_fd)
    both = [
        materialize_location(
            replace(location, steps={key: stored_in(folder.path / turn, one) for key, one in location.steps.items()}),
            steps,
            partitions=dict.fromkeys(partitioned, options.partitions) if options.partitions is not None else None,
            params=dict.fromkeys(keys, options.params) if options.params else None,
            lake=folder.path / turn,
            published=published,
            on_log=log,
        )
        for turn in ("first", "second")
    ]
    made = {key for one in chosen for key in (asset.key for asset in location.steps[one].step.assets)}
    found = [one for one in compare(*both) if one.asset in made]
    _say(found, said)
    different = [one for one in found if not one.same]
    return {"same": not different, "cells": [asdict(one) for one in found]}, FAILED if different else 0


def _selected(location: LoadedLocation, text: str) -> list[AssetKey]:
    snapshot = location.snapshot
    graph = AssetGraph((snapshot.location, spec) for spec in snapshot.assets)
    own = [key for key in select_assets(graph, text) if graph.assets[key].kind == "asset"]
    if not own:
        raise PartitaError(f"{text!r} selects no asset that location {snapshot.location} makes", fix="`partita check`")
    return own


def _say(found: Sequence[Comparison], said: TextIO) -> None:
    different = [one for one in found if not one.same]
    lines = []
    for one in [*different, *[one for one in found if one.same and one.note]]:
        counted = _counted(one.rows)
        lines.append(f"{one.asset} {one.partition}".rstrip() + f": {one.what or 'the same'}{counted}")
        lines += [f"  {one.note}"] if one.note else []
    for asset in dict.fromkeys(one.asset for one in found if one.same and not one.note):
        own = [one.partition for one in found if one.asset == asset and one.same]
        lines.append(
            f"{asset}: the same twice ({', '.join(own[:_SHOWN]).strip() or 'all'}{' …' if len(own) > _SHOWN else ''})"
        )
    verdict = f"{len(different)} of {len(found)} cells came out otherwise" if different else "All came out the same."
    print("\n".join([*lines, verdict]), file=said, flush=True)


def _counted(rows: tuple[int | None, int | None]) -> str:
    was, now = rows
    return f" ({was:,} rows, then {now:,} rows)" if was is not None and now is not None else ""


if __name__ == "__main__":
    sys.exit(main())
